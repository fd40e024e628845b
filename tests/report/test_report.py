"""The report as data and as text."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collectors.inputs import InputReport, Status
from diagnose.engine.session import SessionRunner
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.gpu import GpuLoad, GpuPcieLink
from diagnose.knowledge.loader import load_knowledge
from diagnose.ranking.diagnosis import diagnose
from diagnose.report.as_json import write_json
from diagnose.report.build import build_report, input_reports
from diagnose.report.explain import write_explanation, write_knowledge
from diagnose.report.model import Report
from diagnose.report.text import write_text

RuleBase = Callable[..., Path]
INPUTS = [
    InputReport(path="q.txt", kind="nvidia-smi-q", status=Status.PARSED, facts=2, first_line=1),
    InputReport(path="odd.txt", kind="text", status=Status.UNRECOGNISED, facts=0, detail="no known format"),
]


GPU = Subject(host="node01", gpu_index=3, gpu_bus_id="0000:9b:00.0")


def facts(width: int, gpu: Subject = GPU) -> list[Fact]:
    return [
        GpuPcieLink(subject=gpu, sources=(Source(path="q.txt", line=214),), width_current=width, width_max=16),
        GpuLoad(subject=gpu, sources=(Source(path="q.txt", line=230),), gpu_utilization_ratio=0.9),
    ]


def report(
    folder: Path, width: int = 8, inputs: list[InputReport] = INPUTS, gpus: Sequence[Subject] = (GPU,)
) -> Report:
    knowledge = load_knowledge(folder)
    found = [fact for gpu in gpus for fact in facts(width, gpu)]
    diagnosis = diagnose(SessionRunner(knowledge), found, ["slow"])
    return build_report(diagnosis, knowledge, input_reports(inputs), datetime(2026, 11, 30, 12, tzinfo=UTC))


def as_text(value: Report, top: int | None = None) -> str:
    stream = io.StringIO()
    write_text(value, stream, top)
    return stream.getvalue()


def as_data(value: Report, top: int | None = None) -> Any:
    stream = io.StringIO()
    write_json(value, stream, top)
    return json.loads(stream.getvalue())


def test_the_json_report_has_the_fields_of_its_contract(rule_base: RuleBase) -> None:
    data = as_data(report(rule_base()))
    assert data["schema"] == "diagnose.report/1"
    assert data["generated_at"] == "2026-11-30T12:00:00Z"
    assert data["hosts"] == ["node01"]
    assert data["inputs"][0] == {
        "path": "q.txt", "kind": "nvidia-smi-q", "status": "parsed", "facts": 2, "measurements": 0,
        "detail": None, "line": 1,
    }  # fmt: skip
    assert data["symptoms"] == [{"id": "slow", "title": "It is slow", "detected": False, "asserted": True, "signs": []}]
    (cause,) = data["causes"]
    assert cause["id"] == "narrow-link"
    assert cause["subjects"] == ["node01/gpu/3"]
    assert cause["severity"] == "warning"
    assert cause["root_of"] == []
    assert 0.9 < cause["probability"] < 1
    assert cause["evidence"][0]["sources"] == [
        {"path": "q.txt", "line": 214, "command": None},
        {"path": "q.txt", "line": 230, "command": None},
    ]
    assert cause["evidence"][0]["direction"] == "for"
    assert cause["evidence"][0]["text"] == "GPU 3 has x8"
    assert cause["fixes"][0]["steps"] == [
        {"do": "Reseat it", "command": "lspci -s 0000:9b:00.0", "setting": None, "expect": None}
    ]
    assert cause["references"] == ["vendor manual"]


def test_equal_inputs_give_equal_reports(rule_base: RuleBase) -> None:
    folder = rule_base()
    assert as_data(report(folder)) == as_data(report(folder))


def test_top_limits_the_causes_of_the_json_report(rule_base: RuleBase) -> None:
    folder = rule_base()
    text = (folder / "slow" / "narrow-link.yaml").read_text()
    (folder / "slow" / "other-link.yaml").write_text(text.replace("id: narrow-link", "id: other-link"))
    assert [len(as_data(report(folder), top)["causes"]) for top in (1, 2, None)] == [1, 2, 2]


def test_the_first_line_of_the_text_answers(rule_base: RuleBase) -> None:
    first = as_text(report(rule_base())).splitlines()[0]
    assert first == "Most likely: The link is narrow on node01/gpu/3 (>99%)."


def test_a_healthy_machine_is_called_so_in_the_first_line(rule_base: RuleBase) -> None:
    text = as_text(report(rule_base(), width=16))
    assert text.startswith("Nothing found: nothing in these inputs speaks for a known cause.")


def test_inputs_without_any_known_format_are_no_clean_bill(rule_base: RuleBase) -> None:
    text = as_text(report(rule_base(), width=16, inputs=INPUTS[1:]))
    assert text.startswith("Nothing was recognised, so nothing can be said.")


def test_the_text_shows_evidence_with_its_place_the_fix_and_what_was_not_read(rule_base: RuleBase) -> None:
    text = as_text(report(rule_base()))
    assert "+ GPU 3 has x8\n      q.txt:214,230" in text
    assert "$ lspci -s 0000:9b:00.0" in text
    assert "Verify: The width is back" in text
    assert "In no known format: odd.txt" in text


def test_a_simulated_machine_is_called_so_beneath_the_answer(rule_base: RuleBase) -> None:
    value = report(rule_base())
    assert as_data(value)["simulated"] == []
    simulated = value.model_copy(update={"simulated": ("thermal",)})
    assert as_text(simulated).splitlines()[1] == "Simulated: thermal. This is no real machine."
    assert as_data(simulated)["simulated"] == ["thermal"]
    assert "Simulated" not in as_text(value)


def test_a_host_that_no_input_names_is_left_out_of_the_text(rule_base: RuleBase) -> None:
    text = as_text(report(rule_base(), gpus=[Subject(gpu_index=3)]))
    assert text.splitlines()[0] == "Most likely: The link is narrow on gpu/3 (>99%)."
    assert "unnamed" not in text


def test_what_the_inputs_do_not_tell_is_a_word_that_a_shell_takes_for_one(rule_base: RuleBase) -> None:
    assert "$ lspci -s GPU_BUS_ID\n" in as_text(report(rule_base(), gpus=[Subject(gpu_index=3)]))


def test_commands_for_one_of_several_subjects_say_so(rule_base: RuleBase) -> None:
    gpus = [Subject(host="node01", gpu_index=n, gpu_bus_id=f"0000:{n}b:00.0") for n in range(1, 4)]
    several = report(rule_base(), gpus=gpus)
    assert "Written for node01/gpu/1; do the same for the 2 others" in as_text(several)
    assert as_data(several)["causes"][0]["fixes"][0]["filled_for"] == "node01/gpu/1"
    assert "Written for" not in as_text(report(rule_base()))


def test_a_setting_is_no_command_for_a_shell(rule_base: RuleBase) -> None:
    value = report(rule_base(('        command: "lspci -s {gpu_bus_id}"', '        setting: "gpus = [{gpu_index}]"')))
    assert "         gpus = [3]\n" in as_text(value)
    assert "$" not in as_text(value)


def test_no_colours_outside_a_terminal(rule_base: RuleBase) -> None:
    assert "\x1b" not in as_text(report(rule_base()))


def test_an_explanation_adds_up(rule_base: RuleBase) -> None:
    stream = io.StringIO()
    write_explanation(report(rule_base()).causes[0], stream)
    text = stream.getvalue()
    numbers = [float(number) for number in re.findall(r"^ +([+-]\d+\.\d\d)  ", text, re.MULTILINE)]
    assert numbers[-1] == pytest.approx(sum(numbers[:-1]), abs=0.02)
    assert "vendor manual, section on link width" in " ".join(text.split())
    assert "judgement: one machine in twenty" in text


def test_what_the_rules_know_of_a_cause_can_be_read(rule_base: RuleBase) -> None:
    stream = io.StringIO()
    write_knowledge(load_knowledge(rule_base()).causes["narrow-link"], stream)
    text = stream.getvalue()
    for part in ("The link is narrow", "width (x100, group width)", "look: Look at the link", "Fix: Reseat the card"):
        assert part in text
