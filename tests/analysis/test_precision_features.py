from __future__ import annotations

from typing import Any

import pytest

from diagnose.analysis.precision_features import features
from diagnose.facts import Source
from diagnose.facts.precision import (
    OperatorComparison,
    OperatorDivergence,
    PrecisionThroughput,
    PrecisionThroughputRatio,
)

SOURCES = (Source(path="x"),)


def rate(precision: str, value: float, size: int, unit: str = "tflops") -> PrecisionThroughput:
    return PrecisionThroughput(
        sources=SOURCES, precision=precision, rate=value, unit=unit, shape=f"m {size}", largest_dimension=size
    )


def row(operator: str, place: str, cosine: float, order: int, **more: Any) -> OperatorComparison:
    return OperatorComparison(
        sources=SOURCES,
        tool="msprobe",
        operator=operator,
        place=place,
        order=order,
        cosine=cosine,
        same_shape=True,
        **more,
    )


def test_ratio_is_that_of_the_largest_shape() -> None:
    found = features([rate("bf16", 600, 8192), rate("fp8", 1140, 8192), rate("bf16", 50, 128), rate("fp8", 51, 128)])
    (ratio,) = found
    assert isinstance(ratio, PrecisionThroughputRatio)
    assert ratio.ratio == pytest.approx(1.9)
    assert (ratio.low_format, ratio.compute_bound) == ("fp8", True)


def test_other_shapes_and_units_are_not_compared() -> None:
    assert features([rate("bf16", 600, 8192), rate("fp8", 1140, 4096)]) == []
    assert features([rate("bf16", 600, 8192), rate("fp8", 1140, 8192, unit="tokens/s")]) == []


def divergence(*rows: OperatorComparison) -> OperatorDivergence:
    (found,) = features(rows)
    assert isinstance(found, OperatorDivergence)
    return found


def test_first_operator_with_the_drop_is_named_and_not_those_that_inherit_it() -> None:
    found = divergence(
        row("a", "input", 1.0, 0), row("a", "output", 1.0, 1), row("b", "input", 1.0, 2),
        row("b", "output", 0.4, 3, one_thousandth_ratio=0.1), row("c", "input", 0.4, 4), row("c", "output", 0.35, 5),
    )  # fmt: skip
    assert (found.operator, found.input_cosine, found.output_cosine) == ("b", 1.0, 0.4)
    assert (found.operators, found.first_input_cosine, found.worst_cosine) == (3, 1.0, 0.35)
    assert found.output_one_thousandth_ratio == 0.1


def test_agreeing_operators_name_none() -> None:
    found = divergence(row("a", "input", 1.0, 0, passed=True), row("a", "output", 1.0, 1, passed=True))
    assert found.operator is None
    assert (found.passed, found.failed) == (2, 0)
