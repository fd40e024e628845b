"""Real files from the field pass through the scan: no collector raises, and `pytest -s` shows what became of each."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from collectors.inputs import Status
from collectors.scan import read_inputs


def test_every_file_of_the_corpus_is_accounted_for(corpus: Path) -> None:
    readings = read_inputs([str(corpus / "files"), str(corpus / "cases")])
    kinds: dict[str, list[str]] = defaultdict(list)
    for report in readings.inputs:
        status = "" if report.status is Status.PARSED else f" {report.status}"
        kinds[report.path].append(f"{report.kind}{status} ({report.facts})")
        failed = report.status is Status.PARTIAL and ", reading " in (report.detail or "")
        assert not failed, f"{report.path}: a collector raised: {report.detail}"
    for path, found in sorted(kinds.items()):
        print(f"{Path(path).relative_to(corpus)}: {', '.join(found)}")
    files = {str(path) for path in corpus.glob("*/**/*") if path.is_file()}
    assert {path.partition("!")[0] for path in kinds} == files
    assert sum(report.facts for report in readings.inputs) == len(readings.facts)
