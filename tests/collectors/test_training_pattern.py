from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.base import Line
from collectors.scan import read_inputs
from collectors.training_pattern import PatternError, longest_literal, training_pattern
from diagnose.facts.training import TrainingRun

OWN = r"\[rank0\] step=(?P<step>\d+) fwd\+bwd took (?P<ms>[\d.]+)ms, batch (?P<global_batch>\d+)"


def log(path: Path) -> list[TrainingRun]:
    facts = read_inputs([str(path)], more_line_collectors=[training_pattern(OWN)]).facts
    return [fact for fact in facts if isinstance(fact, TrainingRun)]


def test_a_log_of_an_own_format_is_read_by_its_pattern(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    lines = [f"10:00 [rank0] step={step} fwd+bwd took {250 + step}.0ms, batch 64" for step in range(1, 6)]
    path.write_text("starting\n" + "\n".join(lines) + "\n")
    (run,) = log(path)
    assert (run.framework, run.steps, run.global_batch_size) == ("other", 5, 64)
    assert run.median_step_seconds == pytest.approx(0.253)
    assert [source.line for source in run.sources] == [2]


def test_other_formats_are_read_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(
        " iteration        5/     100 | consumed samples: 320 | elapsed time per iteration (ms): 900.0 | "
        "global batch size:    64 | lm loss: 2.0E+00 |\n"
    )
    assert [run.framework for run in log(path)] == ["megatron"]


@pytest.mark.parametrize(
    ("text", "samples", "seconds"),
    [("rate (?P<samples_per_second>\\S+)", 4.0, None), ("it/s (?P<steps_per_second>\\S+)", None, 0.25)],
)
def test_rates_are_understood_and_what_is_no_number_is_passed_over(
    tmp_path: Path, text: str, samples: float | None, seconds: float | None
) -> None:
    path = tmp_path / "train.log"
    word = text.split(" ")[0]
    path.write_text(f"{word} 4\n{word} n/a\n{word} 4.0\n")
    readings = read_inputs([str(path)], more_line_collectors=[training_pattern(text)])
    (run,) = (fact for fact in readings.facts if isinstance(fact, TrainingRun))
    assert run.steps == 2
    assert (run.median_samples_per_second, run.median_step_seconds) == (samples, seconds)


def run_of(text: str, lines: list[str]) -> TrainingRun | None:
    reader = training_pattern(text)("train.log")
    for number, line in enumerate(lines, start=1):
        reader.feed(Line(number, line), None)
    return next((fact for fact in reader.finish(len(lines), False).facts if isinstance(fact, TrainingRun)), None)


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [
        ("250", 250),
        ("250.5", 250.5),
        ("250,5", 250.5),
        ("1,250.5", 1250.5),
        ("1,250", 1250),
        ("1.250,5", 1250.5),
        ("2.5e2", 250),
        (".5", 0.5),
    ],
)
def test_numbers_are_read_as_programs_and_locales_write_them(written: str, milliseconds: float) -> None:
    found = run_of(r"took (?P<ms>\S+) ms", [f"took {written} ms"])
    assert found is not None
    assert found.median_step_seconds == pytest.approx(milliseconds / 1000)


@pytest.mark.parametrize("written", ["nan", "inf", "-5", "1e400", "1,2,3", "1.2.3", "0x10", "0", "1e-300", "9" * 400])
@pytest.mark.parametrize("text", [r"took (?P<ms>\S+) ms", r"took (?P<steps_per_second>\S+) ms"])
def test_what_no_step_can_take_makes_no_step(written: str, text: str) -> None:
    assert run_of(text, [f"took {written} ms"]) is None


def test_a_group_that_is_absent_is_not_zero() -> None:
    found = run_of(r"step(?: (?P<step>\d+))? took (?P<ms>\d+) ms", ["step took 5 ms", "step took 5 ms"])
    assert found is not None
    assert (found.steps, found.first_step) == (2, None)


@pytest.mark.parametrize("step", ["nan", "inf", "-3", "9" * 400])
def test_a_step_without_a_number_is_none(step: str) -> None:
    assert run_of(r"step (?P<step>\S+) took (?P<ms>\d+) ms", [f"step {step} took 5 ms"]) is None


def test_lines_of_any_script_are_found(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("ステップ 1 時間 0,25\nステップ 2 時間 0,75\n", encoding="utf-8")
    reader = training_pattern(r"ステップ (?P<step>\d+) 時間 (?P<seconds>\S+)")
    (found,) = (fact for fact in read_inputs([str(path)], more_line_collectors=[reader]).facts)
    assert isinstance(found, TrainingRun)
    assert found.median_step_seconds == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("step (?P<ms>", "no regular expression"),
        (r"step took (?P<milliseconds>\d+)", "milliseconds"),
        (r"step (?P<step>\d+)", "must name a group that holds a time or a rate"),
        (r"(?P<ms>\d+)ms|(?P<seconds>\d+)seconds", "fixed text"),
        (r"(?i)step took (?P<ms>\d+)", "(?i)"),
        (r"step took (?P<ms>\d{99999999999})", "repeats or nests more"),
        ("(" * 3000 + "step" + ")" * 3000 + r"(?P<ms>\d)", "repeats or nests more"),
        ("\udcffabc (?P<ms>\\d)", "can be printed"),
        ("abc\ndef (?P<ms>\\d)", "can be printed"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_the_cure(text: str, cure: str) -> None:
    with pytest.raises(PatternError, match=re.escape(cure)):
        training_pattern(text)


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        (OWN, " fwd+bwd took "),
        (r"abc?def", "def"),
        (r"ab+cd", "ab"),
        (r"x{2}yz", "yz"),
        (r"a(bcdef)gh", "gh"),
        (r"[]abc]de", "de"),
        (r"[^\]x]de", "de"),
        (r"\x41bcd", "bcd"),
        (r"\.\.\. took", "... took"),
    ],
)
def test_the_literal_is_text_that_every_match_holds(text: str, literal: str) -> None:
    assert longest_literal(text) == literal


@given(st.data(), st.sampled_from([OWN, r"ab+cd*e{1,2}f?gh(ij|kl)+\d\.x[mn]op", r"^it\s+\d+: \w{2,3}loss=(\d+)$"]))
def test_every_match_holds_the_literal(data: st.DataObject, text: str) -> None:
    assert longest_literal(text) in data.draw(st.from_regex(text))
