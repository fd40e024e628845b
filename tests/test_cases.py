"""The diagnosis of labelled cases from the field, read in place."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.accuracy import CaseResult, calibration_table, case_table, run_cases
from diagnose.engine.session import SessionRunner
from diagnose.knowledge.loader import load_knowledge


@pytest.fixture(scope="module")
def results(corpus: Path) -> list[CaseResult]:
    return run_cases(SessionRunner(load_knowledge()), corpus)


def test_a_right_cause_comes_first_in_every_case(results: list[CaseResult]) -> None:
    print(case_table(results), "\n\n", calibration_table(results), sep="")
    missed = [item.name for item in results if not item.healthy and not item.hit(1)]
    assert missed == []


def test_healthy_machines_raise_no_alarm(results: list[CaseResult]) -> None:
    assert [item.name for item in results if item.false_alarm] == []


def test_the_right_cause_of_a_case_reaches_one_half(results: list[CaseResult]) -> None:
    unsure = {
        item.name: item.ranked[0] for item in results if not item.healthy and item.hit(1) and item.ranked[0][1] < 0.5
    }
    assert unsure == {}
