"""Stages of one benchmark by their load: from which load on answers no longer keep up with what is asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from diagnose.facts import Fact, Source
from diagnose.facts.serving import BenchmarkResult, BenchmarkSaturation

_KEPT_UP = 0.9
"""Share of the requested rate that must be answered; a run's beginning and end cost less than a tenth."""
_MOST_SOURCES = 8


def features(facts: Sequence[Fact]) -> list[Fact]:
    """One fact for each tool and model with at least two loads."""
    groups: dict[tuple[str, str | None], list[BenchmarkResult]] = defaultdict(list)
    for fact in facts:
        if isinstance(fact, BenchmarkResult) and fact.requested_rate_per_second and fact.requests_per_second:
            groups[fact.tool, fact.model].append(fact)
    return [_compared(results) for results in groups.values() if len({_rate(result) for result in results}) > 1]


def _rate(result: BenchmarkResult) -> float:
    return result.requested_rate_per_second or 0.0


def _compared(results: Sequence[BenchmarkResult]) -> BenchmarkSaturation:
    ordered = sorted(results, key=_rate)
    lowest, highest = ordered[0], ordered[-1]
    short = [result for result in ordered if (result.requests_per_second or 0.0) < _KEPT_UP * _rate(result)]
    sources: dict[Source, None] = {source: None for result in ordered for source in result.sources}
    return BenchmarkSaturation(
        subject=lowest.subject,
        sources=tuple(sources)[:_MOST_SOURCES],
        tool=lowest.tool,
        stages=len(ordered),
        lowest_rate_per_second=_rate(lowest),
        highest_rate_per_second=_rate(highest),
        served_rate_max_per_second=max(result.requests_per_second or 0.0 for result in ordered),
        saturated=bool(short),
        saturated_from_rate_per_second=_rate(short[0]) if short else None,
        ttft_p50_lowest_seconds=lowest.ttft_p50_seconds,
        ttft_p50_highest_seconds=highest.ttft_p50_seconds,
        ttft_p50_ratio=_ratio(highest.ttft_p50_seconds, lowest.ttft_p50_seconds),
        tpot_p50_ratio=_ratio(highest.tpot_p50_seconds, lowest.tpot_p50_seconds),
        client_delay_p50_highest_seconds=highest.client_delay_p50_seconds,
    )


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None
