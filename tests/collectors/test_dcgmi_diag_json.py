from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from collectors.dcgmi_diag_json import DcgmiDiagJson
from tests.collectors.helpers import block, damaged, opened

OLD: dict[str, Any] = {
    "DCGM GPU Diagnostic": {
        "version": "3.3.5",
        "Driver Version Detected": "550.54.15",
        "test_categories": [
            {
                "category": "Hardware",
                "tests": [
                    {
                        "name": "Targeted Power",
                        "results": [
                            {"gpu_ids": "0", "status": "Pass"},
                            {
                                "gpu_ids": "1",
                                "status": "Fail",
                                "warnings": ["GPU 1: Detected 4.2 seconds of thermal violations"],
                            },
                        ],
                    }
                ],
            }
        ],
    }
}
NEW: dict[str, Any] = {
    "DCGM Diagnostic": {
        "metadata": {"version": "4.2.0", "Driver Version Detected": "570.124.06"},
        "test_categories": [
            {
                "category": "Integration",
                "tests": [
                    {
                        "name": "pcie",
                        "results": [
                            {"entity_group": "GPU", "entity_group_id": 1, "entity_id": 0, "status": "Pass"},
                            {
                                "entity_group": "GPU",
                                "entity_group_id": 1,
                                "entity_id": 3,
                                "status": "Fail",
                                "warnings": [
                                    {
                                        "warning": "Bandwidth of GPU 3 in direction Host to GPU of 9.80 did not exceed "
                                        "minimum required bandwidth of 20.00.",
                                        "error_id": 19,
                                        "error_severity": 1,
                                    }
                                ],
                            },
                        ],
                        "test_summary": {"status": "Fail"},
                    }
                ],
            }
        ],
    }
}


def results(content: dict[str, Any], **layout: Any) -> dict[tuple[str, int | None], Any]:
    facts = DcgmiDiagJson.parse(block(json.dumps(content, **layout))).facts
    return {(fact.values()["test"], fact.subject.gpu_index): fact for fact in facts if fact.kind == "diagnostic-result"}


def test_warnings_of_version_3_are_texts() -> None:
    fact = results(OLD)["targeted power", 1]
    assert (fact.outcome, fact.code, fact.value) == ("fail", "thermal-violation", 4.2)


def test_warnings_of_version_4_are_objects() -> None:
    fact = results(NEW, indent=2)["pcie", 3]
    assert (fact.outcome, fact.code, fact.value, fact.limit) == ("fail", "low-bandwidth", 9.8, 20.0)


def test_versions_are_read_from_both_layouts() -> None:
    for content, version in ((OLD, "550.54.15"), (NEW, "570.124.06")):
        facts = DcgmiDiagJson.parse(block(json.dumps(content))).facts
        assert [fact.values()["version"] for fact in facts if fact.kind == "driver"] == [version]


def test_one_line_opens_and_many_lines_are_recognised() -> None:
    assert opened(DcgmiDiagJson, json.dumps(OLD)) == [json.dumps(OLD)]
    assert DcgmiDiagJson.resembles(json.dumps(NEW, indent=1).splitlines()) > 0.5
    assert DcgmiDiagJson.resembles(['{"test_categories": []}']) == 0


def test_a_cut_file_is_a_problem_and_not_an_error() -> None:
    parsed = DcgmiDiagJson.parse(block(json.dumps(OLD)[:200]))
    assert parsed.facts == []
    assert "damaged or incomplete" in parsed.problems[0]


def test_damaged_json_does_not_raise() -> None:
    for text in damaged(json.dumps(OLD) + "\n" + json.dumps(NEW)):
        DcgmiDiagJson.parse(block(text))


def test_the_corpus_file_passes_every_test(corpus: Path) -> None:
    text = (corpus / "files" / "dcgmi" / "gcm-non_fatal_error_code_output.json").read_text()
    assert {fact.outcome for fact in results(json.loads(text)).values()} == {"pass"}
