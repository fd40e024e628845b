from __future__ import annotations

import io

import pytest

from diagnose.analysis.communication import Budget
from diagnose.analysis.scaling import Scaling, analyse, curve_fact
from diagnose.analysis.scaling_models import Boundary
from diagnose.facts import Source, Subject
from diagnose.report.scaling import Exchange, scaling_report, write_scaling


def text(scaling: Scaling, exchange: Exchange | None = None) -> str:
    fact = curve_fact(scaling, "throughput", "work", Subject(), (Source(command="test"),))
    stream = io.StringIO()
    write_scaling(scaling, scaling_report(scaling, fact, exchange), stream)
    return " ".join(stream.getvalue().split())


def test_the_first_sentence_answers() -> None:
    shown = text(analyse({1: [412.0], 2: [801.0], 4: [1380.0], 8: [2090.0]}, "strong"))
    assert shown.startswith(
        "throughput: from 1 to 8 GPUs (the same work for any number) each keeps 63% of its throughput "
        "(95% interval 56% to 71%). Undecided: several explanations fit about as well."
    )
    assert "throughput is highest at about 14 GPUs (9 or more)" in shown


def test_a_step_is_named_with_its_boundary() -> None:
    points = {size: [size / (1 + 0.5 * (size > 8))] for size in (1, 2, 4, 8, 16, 32)}
    shown = text(analyse(points, "weak", [Boundary(8, "node")]))
    assert "A step: work costs 1.50 times as much beyond 8 GPUs, a node." in shown


def test_two_points_give_an_efficiency_and_ask_for_more() -> None:
    shown = text(analyse({1: [100.0], 8: [600.0]}))
    assert "each keeps 75%" in shown
    assert "measure three or more" in shown


@pytest.mark.parametrize(
    ("budget", "sentence"),
    [
        (Budget(1.0, 0.3), "0.8 s stay exposed, 73% of the step. A batch 5 times as large for each GPU would hide it"),
        (Budget(0.1, 0.3), "The exchange fits behind it."),
    ],
)
def test_communication_is_set_against_computation(budget: Budget, sentence: str) -> None:
    assert sentence in text(analyse({1: [100.0], 8: [600.0]}), Exchange(3.5e9, budget))


def test_many_repeats_are_summed_up() -> None:
    assert "1, 2, 3, 4 and 2 more" in text(analyse({1: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2: [4.0]}))
