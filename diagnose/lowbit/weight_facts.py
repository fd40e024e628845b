"""Results of single weights, gathered into facts about modules over the layers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from diagnose.facts import Source
from diagnose.facts import lowbit as facts
from diagnose.lowbit.comparison import finite, middle
from diagnose.lowbit.hypotheses import Hypothesis
from diagnose.lowbit.names import module_class, named, pattern_of
from diagnose.lowbit.pairing import Pair
from diagnose.lowbit.weights import WeightResult


@dataclass(frozen=True)
class Compared:
    """One pair of weights."""

    pair: Pair
    result: WeightResult


def weight_checks(compared: Sequence[Compared], sources: tuple[Source, ...]) -> Iterator[facts.WeightCheck]:
    """One fact for each scheme, format and granularity."""
    groups: dict[tuple[str, str, str], list[WeightResult]] = defaultdict(list)
    for item in compared:
        groups[item.result.scheme, item.result.format, item.result.granularity].append(item.result)
    for (scheme, name, granularity), results in groups.items():
        unexplained = [result for result in results if not result.at_floor and result.found is None]
        finer = next((result.finer for result in results if result.finer), None)
        worst = min(unexplained, key=lambda result: -inf if result.sqnr_db is None else result.sqnr_db, default=None)
        yield facts.WeightCheck(
            sources=sources,
            scheme=scheme,
            format=name,
            granularity=None if granularity == "none" else granularity,
            tensors=len(results),
            at_floor=sum(result.at_floor and result.found is None for result in results),
            explained=sum(result.found is not None for result in results),
            unexplained=len(unexplained),
            median_sqnr_db=finite(middle([result.sqnr_db for result in results])),
            median_expected_sqnr_db=middle([result.expected_sqnr_db for result in results]),
            finer_granularity=finer,
            finer_gain_db=middle([result.finer_gain_db for result in results if result.finer]) if finer else None,
            worst_unexplained=worst.name if worst else None,
        )


def weight_readings(compared: Sequence[Compared], sources: tuple[Source, ...]) -> Iterator[facts.WeightReading]:
    """One fact for each reading and module that it explains, over all layers."""
    total: dict[str, int] = defaultdict(int)
    layers: dict[str, set[int | None]] = defaultdict(set)
    groups: dict[tuple[str, ...], list[tuple[WeightResult, Hypothesis, int | None]]] = defaultdict(list)
    for item in compared:
        told, result = named(item.pair.low), item.result
        module = module_class(told.module)
        total[result.scheme] += 1
        layers[module].add(told.layer)
        if result.found is not None:
            says = result.found.says if result.found.id not in _EACH_ITS_OWN else result.found.id
            groups[result.scheme, result.format, result.found.id, says, module].append(
                (result, result.found, told.layer)
            )
    for (scheme, name, _, _, module), found in groups.items():
        results = [result for result, _, _ in found]
        hypothesis = found[0][1]
        before = middle([_bounded(result.sqnr_db) for result in results])
        after = middle([_bounded(result.found_sqnr_db) for result in results])
        expected = middle([result.expected_sqnr_db for result in results])
        yield facts.WeightReading(
            sources=sources,
            pattern=pattern_of([layer for _, _, layer in found], module, len(layers[module])),
            scheme=scheme,
            format=name,
            family=hypothesis.family,
            hypothesis=hypothesis.id,
            reading=hypothesis.says,
            tensors=len(results),
            tensors_total=total[scheme],
            sqnr_before_db=before or 0.0,
            sqnr_after_db=after or 0.0,
            gain_db=(after or 0.0) - (before or 0.0),
            expected_sqnr_db=expected or 0.0,
            at_floor=all(
                result.found_sqnr_db is None
                or result.found_sqnr_db >= (result.expected_sqnr_db or 0.0) - result.margin_db
                for result in results
            ),
        )


_EACH_ITS_OWN = frozenset({"scales-of-other-layer", "weights-of-other-layer", "scale-factor"})
"""Readings whose sentence differs from weight to weight; the first one's stands for all."""
_LOWEST_DB, _HIGHEST_DB = -60.0, 200.0


def _bounded(value: float | None) -> float:
    """An SQNR with numbers in place of no error and of no likeness at all."""
    return _HIGHEST_DB if value is None else max(value, _LOWEST_DB)
