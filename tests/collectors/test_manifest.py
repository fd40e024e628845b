from __future__ import annotations

import json
from pathlib import Path

import pytest

from collectors.manifest import Manifest
from collectors.scan import scan_file
from diagnose.report.build import simulations
from tests.collectors.helpers import block, damaged

CONTENT = {
    "schema": "diagnose.bundle/1",
    "host": "gpu-07",
    "symptoms": ["job-hang"],
    "recorders": [
        {"name": "host", "status": "done", "seconds": 1.25, "detail": None, "lacked": [], "files": ["host/tree.txt"]},
        {"name": "pci", "status": "done", "seconds": 1, "detail": None, "lacked": ["ACS needs root"], "files": []},
        {"name": "nvml-gpu-3", "status": "timed-out", "seconds": 6.0, "detail": "It did not end within 6 s"},
    ],
}
TEXT = json.dumps(CONTENT, indent=1)


def test_each_recorder_is_a_fact_about_the_host() -> None:
    facts = Manifest.parse(block(TEXT)).facts
    assert {fact.subject.host for fact in facts} == {"gpu-07"}
    assert facts[0].values() == {"name": "host", "status": "done", "seconds": 1.25}
    assert facts[2].values()["detail"] == "It did not end within 6 s"
    assert facts[3].values() == {"symptom": "job-hang"}


@pytest.mark.parametrize(("value", "name"), [("thermal", "thermal"), (None, None), ({"a": 1}, None), ("", None)])
def test_a_simulated_machine_is_called_so(value: object, name: str | None) -> None:
    facts = Manifest.parse(block(json.dumps({**CONTENT, "simulated": value}, indent=1))).facts
    assert simulations(facts) == ([name] if name else [])


def test_what_failed_and_what_lacked_privileges_makes_the_reading_partial() -> None:
    assert Manifest.parse(block(TEXT)).problems == [
        "The recorder pci lacked privileges: ACS needs root",
        "The recorder nvml-gpu-3 did not end in time: It did not end within 6 s",
    ]


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("{\n ", "{", 1)], ids=["schema-below", "schema-first"])
def test_it_is_recognised_with_the_schema_in_either_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text, encoding="utf-8")
    result = scan_file(path, "manifest.json")
    assert [(report.kind, report.facts) for report in result.reports] == [("manifest", 4)]


def test_a_recording_of_another_schema_is_no_clean_bill() -> None:
    parsed = Manifest.parse(block(TEXT.replace("bundle/1", "bundle/2")))
    assert parsed.facts == []
    assert parsed.problems == ["A recording of schema diagnose.bundle/2, of which this version knows nothing"]


def test_a_manifest_that_is_cut_off_is_a_problem_and_no_exception() -> None:
    assert Manifest.parse(block(TEXT[:80])).problems == ["The manifest is cut off or damaged"]
    for text in damaged(TEXT):
        Manifest.parse(block(text))


@pytest.mark.parametrize("recorders", [None, 3, "x", [1, {"name": 4}], [{"name": "a", "status": "done", "lacked": 3}]])
def test_fields_of_other_types_are_passed_over(recorders: object) -> None:
    Manifest.parse(block(json.dumps({**CONTENT, "recorders": recorders}, indent=1)))


def test_a_recording_that_was_killed_before_any_recorder_was_noted_is_cut_off() -> None:
    begun = {**CONTENT, "recorders": [], "ended_at": None}
    assert Manifest.parse(block(json.dumps(begun, indent=1))).problems == ["The recording was cut off at its beginning"]
    ended = {**begun, "ended_at": "2026-11-30T12:00:00+00:00"}
    assert Manifest.parse(block(json.dumps(ended, indent=1))).problems == []
