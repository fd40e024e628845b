from __future__ import annotations

import pytest

from collectors.score_table import ScoreTable
from diagnose.facts.precision import EvaluationProgress, EvaluationResult
from tests.collectors.helpers import block, damaged, opened

PASSED = "kv_cache_dtype,passed,total\nfp8_e4m3,109,150\nbf16,112,150\n"
SCORES = "model,task,accuracy (%)\nMini-7B-FP8,mmlu,61.5\nMini-7B-bf16,mmlu,62.0%\nMini-7B,mmlu,62.1\n"
PHASES = "phase,accuracy_percent\nearly,92\nend,74\n"


def results(text: str) -> list[EvaluationResult]:
    return [fact for fact in ScoreTable.parse(block(text)).facts if isinstance(fact, EvaluationResult)]


def test_passed_of_total_is_a_share_with_its_error() -> None:
    low, high = results(PASSED)
    assert low.value == pytest.approx(109 / 150)
    assert low.stderr == pytest.approx(0.0364, abs=1e-4)
    assert (low.differs_in, low.role, high.role, low.items) == ("kv-cache", "low-bit", "reference", 150)


def test_percent_is_a_share_and_rows_without_a_format_are_left_out() -> None:
    found = results(SCORES)
    assert [(fact.task, fact.precision) for fact in found] == [("mmlu", "fp8"), ("mmlu", "bf16")]
    assert [fact.value for fact in found] == pytest.approx([0.615, 0.62])


def test_phases_of_one_run() -> None:
    (fact,) = ScoreTable.parse(block(PHASES)).facts
    assert isinstance(fact, EvaluationProgress)
    assert (fact.early_value, fact.late_value) == (0.92, 0.74)


def test_other_tables_are_left_alone() -> None:
    assert opened(ScoreTable, PASSED) == ["kv_cache_dtype,passed,total"]
    for header in ("gpu,score", "model,throughput", "epoch,accuracy", "dtype,tflops", "test,passed,total"):
        assert opened(ScoreTable, header + "\na,1,2\n") == []


def test_damage_is_survived() -> None:
    for text in damaged(PASSED + SCORES + PHASES):
        ScoreTable.parse(block(text))
