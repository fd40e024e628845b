"""Rates of number formats against 16 bits, and the operator at which two runs part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from diagnose.facts import Fact
from diagnose.facts.precision import (
    OperatorComparison,
    OperatorDivergence,
    PrecisionThroughput,
    PrecisionThroughputRatio,
)

_SIXTEEN_BITS = ("bf16", "fp16")
_LARGE = 2048
"""Smallest dimension of a matrix product from which arithmetic, not memory, limits a GPU with tensor cores."""


def features(facts: Sequence[Fact]) -> list[Fact]:
    """Ratios of rates, and where operators part."""
    return [*_ratios(facts), *_operators(facts)]


def _ratios(facts: Sequence[Fact]) -> list[Fact]:
    shapes: dict[tuple[str, str], dict[str, PrecisionThroughput]] = defaultdict(dict)
    for fact in facts:
        if isinstance(fact, PrecisionThroughput):
            shapes[fact.unit, fact.shape].setdefault(fact.precision, fact)
    largest: dict[tuple[str, str], tuple[int, PrecisionThroughput, PrecisionThroughput]] = {}
    for (unit, _), formats in shapes.items():
        high = next((formats[name] for name in _SIXTEEN_BITS if name in formats), None)
        if high is None:
            continue
        for name, low in formats.items():
            size = low.largest_dimension or 0
            if name not in (*_SIXTEEN_BITS, "fp32") and size >= largest.get((unit, name), (-1,))[0]:
                largest[unit, name] = (size, high, low)
    return [
        PrecisionThroughputRatio(
            sources=(*high.sources, *low.sources),
            low_format=name,
            high_format=high.precision,
            ratio=low.rate / high.rate,
            unit=unit,
            compute_bound=size >= _LARGE if size else None,
        )
        for (unit, name), (size, high, low) in largest.items()
    ]


def _operators(facts: Sequence[Fact]) -> list[Fact]:
    rows = sorted((fact for fact in facts if isinstance(fact, OperatorComparison)), key=lambda row: row.order)
    if not rows:
        return []
    places: dict[str, dict[str, list[OperatorComparison]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        places[row.operator][row.place].append(row)
    both = {name: place for name, place in places.items() if place["input"] and place["output"]}
    drops = {name: drop for name, place in both.items() if (drop := _drop(place)) is not None}
    largest = max(drops.values(), default=0.0)
    # The first with half of the largest drop is where it began; later ones hand on what they got.
    operator = next((name for name, drop in drops.items() if drop > 0 and drop >= largest / 2), None)
    inputs = both[operator]["input"] if operator else []
    outputs = both[operator]["output"] if operator else []
    first = next((row.cosine for row in rows if row.place == "input" and row.cosine is not None), None)
    return [
        OperatorDivergence(
            sources=((outputs or rows)[0].sources),
            operators=len(both),
            rows=len(rows),
            passed=sum(row.passed is True for row in rows),
            failed=sum(row.passed is False for row in rows),
            first_input_cosine=first,
            worst_cosine=_least([row.cosine for row in rows]),
            operator=operator,
            input_cosine=_least([row.cosine for row in inputs]),
            output_cosine=_least([row.cosine for row in outputs]),
            input_one_thousandth_ratio=_least([row.one_thousandth_ratio for row in inputs]),
            output_one_thousandth_ratio=_least([row.one_thousandth_ratio for row in outputs]),
        )
    ]


def _drop(place: dict[str, list[OperatorComparison]]) -> float | None:
    given, made = (_least([row.cosine for row in place[name]]) for name in ("input", "output"))
    return given - made if given is not None and made is not None else None


def _least(values: Sequence[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)
