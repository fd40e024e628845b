"""`dcgmi diag -j`: the layouts up to DCGM 3 (`DCGM GPU Diagnostic`) and from DCGM 4 on (`DCGM Diagnostic`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.dcgm_results import OUTCOMES, Run, Test, run_facts
from collectors.json_text import items, load_object, mapping, whole
from collectors.nvidia_smi_values import version

_ROOT = re.compile(r'"DCGM (?:GPU )?Diagnostic"\s*:')


class DcgmiDiagJson(BlockCollector):
    """Results as JSON."""

    kind: ClassVar[str] = "dcgmi-diag-json"
    literals: ClassVar[tuple[bytes, ...]] = (b'"DCGM GPU Diagnostic"', b'"DCGM Diagnostic"')
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bdcgmi\s+diag\b.*\s(?:-\w*j|--json)")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The whole on one line; laid out over lines it is known by `resembles`."""
        return text.lstrip().startswith("{") and _ROOT.search(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """The root, and what stands in it."""
        text = "\n".join(lines)
        return 0.9 if "{" in text and _ROOT.search(text) and '"test_categories"' in text else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Results of every test."""
        content = load_object(block)
        if isinstance(content, Parsed):
            return content
        root = mapping(content.get("DCGM Diagnostic") or content.get("DCGM GPU Diagnostic"))
        metadata = {**mapping(content.get("metadata")), **mapping(root.get("metadata"))}
        metadata.update({key: value for key, value in root.items() if isinstance(value, str)})
        run = Run("dcgmi-diag")
        run.version = _text(metadata, "version", "DCGM Version", "Version")
        run.driver_version = version(_text(metadata, "Driver Version Detected", "driver_version") or "")
        for category in items(root.get("test_categories"), dict):
            for entry in items(category.get("tests"), dict):
                run.tests.append(_test(entry, block.lines[0].number))
        return Parsed([*run_facts(run, block)])


def _text(metadata: dict[str, Any], *names: str) -> str | None:
    return next((value for name in names if isinstance(value := metadata.get(name), str)), None)


def _test(entry: dict[str, Any], line: int) -> Test:
    test = Test(str(entry.get("name", "")), line)
    summary = mapping(entry.get("test_summary"))
    test.overall = OUTCOMES.get(str(summary.get("status", "")).lower())
    for result in items(entry.get("results"), dict):
        outcome = OUTCOMES.get(str(result.get("status", "")).lower())
        gpus = list(_gpus(result))
        for gpu in gpus:
            if outcome is not None:
                test.by_gpu[gpu] = outcome
        if not gpus and outcome is not None:
            test.overall = test.overall or outcome
        for text in [*_messages(result.get("warnings")), *_messages(result.get("info"))]:
            test.note(text, gpus[0] if len(gpus) == 1 else None)
    for text in _messages(summary.get("warnings")):
        test.note(text)
    return test


def _gpus(result: dict[str, Any]) -> Iterator[int]:
    if result.get("entity_group") in ("GPU", None):
        single = whole(result.get("entity_id", result.get("gpu_id")))
        if single is not None and 0 <= single < 1000:
            yield single
    for number in re.findall(r"\d{1,3}", str(result.get("gpu_ids", ""))):
        yield int(number)


def _messages(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value if isinstance(value, list) else ():
        text = item.get("warning", item.get("message")) if isinstance(item, dict) else item
        if isinstance(text, str):
            yield text
