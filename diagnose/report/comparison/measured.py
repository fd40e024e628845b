"""What was measured on both sides: latency of requests, and results of bandwidth and serving tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Literal, TypedDict

from diagnose.analysis.quantile_change import QuantileChange, quantile_change
from diagnose.facts import Fact
from diagnose.facts.series import Measurement, Requests
from diagnose.report.comparison.model import MeasuredChange
from diagnose.report.comparison.pairs import partners

if TYPE_CHECKING:
    from diagnose.analysis.quantile_change import Floats

Unit = Literal["seconds", "bytes/s", "ratio", "1/s"]
Verdict = Literal["better", "worse", "not-shown"]

LATENCIES: Mapping[str, str] = {
    "ttft": "ttft_seconds",
    "itl": "itl_seconds",
    "e2e": "end_to_end_seconds",
    "queue": "queue_seconds",
}
_LEVELS = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_LEAST = 0.01
"""A change must be larger than this, with its whole interval: a million requests show a thousandth, which nobody feels.
"""

_OTHER_LOAD = 0.1
"""Difference of rate or lengths from which on the two sides are not like and like."""

RESULTS: Mapping[str, Mapping[str, tuple[Unit, bool]]] = {
    "nccl-test": {"largest_busbw_bytes_per_second": ("bytes/s", True), "smallest_latency_seconds": ("seconds", False)},
    "gpu-bandwidth": {"bytes_per_second": ("bytes/s", True)},
    "peer-bandwidth": {"bytes_per_second": ("bytes/s", True)},
    "network-bandwidth": {"largest_bytes_per_second": ("bytes/s", True)},
    "network-latency": {"typical_seconds": ("seconds", False), "percentile_99_seconds": ("seconds", False)},
    "benchmark-result": {
        **{
            f"{part}_{level}_seconds": ("seconds", False)
            for part in ("ttft", "itl", "tpot", "e2e")
            for level in ("p50", "p90", "p99")
        },
        "requests_per_second": ("1/s", True),
        "output_tokens_per_second": ("1/s", True),
    },
    "training-run": {"median_step_seconds": ("seconds", False)},
}
"""Kind to the fields that are results, each with its unit and whether more is better."""

# Student's quantiles for 97.5 %, by degrees of freedom: any table of statistics.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
_STUDENT_MANY = 1.96


def compare_latencies(before: Sequence[Measurement], after: Sequence[Measurement]) -> Iterator[MeasuredChange]:
    """Quantiles of requests. Several tables of a side are one: they are of one server, or of its replicas."""
    tables = [[item for item in side if isinstance(item, Requests) and len(item)] for side in (before, after)]
    if not all(tables):
        return
    shared = [
        (name, column)
        for name, column in LATENCIES.items()
        if all(any(column in table.columns for table in side) for side in tables)
    ]
    tests = max(1, len(shared) * len(_LEVELS))
    for name, column in shared:
        old, new = (_in_order(side, column) for side in tables)
        for word, level in _LEVELS.items():
            change = quantile_change(old, new, level, tests)
            if change is not None:
                yield _latency(f"{name} {word}", change, len(old), len(new))


def load_differences(before: Sequence[Measurement], after: Sequence[Measurement]) -> list[str]:
    """How the requests of the two sides differ, in words: then a change of latency may be the load's."""
    import numpy as np

    loads: list[dict[str, float]] = []
    for side in (before, after):
        tables = [item for item in side if isinstance(item, Requests) and len(item)]
        load: dict[str, float] = {}
        for name in ("input_tokens", "output_tokens"):
            columns = [table.columns[name] for table in tables if name in table.columns]
            if columns:
                load[f"mean {name.replace('_', ' ')}"] = float(np.nanmean(np.concatenate(columns)))
        spans = [np.ptp(table.columns["start_seconds"]) for table in tables if "start_seconds" in table.columns]
        if spans and max(spans) > 0:
            load["requests per second"] = sum(map(len, tables)) / float(max(spans))
        loads.append(load)
    return [
        f"{name} {loads[0][name]:.4g} before and {loads[1][name]:.4g} after"
        for name in loads[0].keys() & loads[1].keys()
        if abs(loads[1][name] - loads[0][name]) > _OTHER_LOAD * max(loads[0][name], loads[1][name])
    ]


def failures(series: Sequence[Measurement]) -> tuple[int, int]:
    """How many requests failed, and of how many it is known."""
    import numpy as np

    columns = [
        item.columns["succeeded"] for item in series if isinstance(item, Requests) and "succeeded" in item.columns
    ]
    known = [column[np.isfinite(column)] for column in columns]
    return sum(int((column <= 0).sum()) for column in known), sum(map(len, known))


def _in_order(tables: Sequence[Requests], column: str) -> Floats:
    import numpy as np

    found = []
    for table in tables:
        if column not in table.columns:
            continue
        values, starts = table.columns[column], table.columns.get("start_seconds")
        kept = np.isfinite(values)
        if (succeeded := table.columns.get("succeeded")) is not None:
            kept &= succeeded > 0
        order = np.argsort(starts[kept], kind="stable") if starts is not None else slice(None)
        found.append(values[kept][order])
    return np.concatenate(found)


def _latency(quantity: str, change: QuantileChange, before: int, after: int) -> MeasuredChange:
    return MeasuredChange(
        quantity=quantity,
        subject="requests",
        unit="seconds",
        higher_is_better=False,
        before=change.before,
        after=change.after,
        before_values=before,
        after_values=after,
        ratio=change.ratio,
        ratio_low=change.low,
        ratio_high=change.high,
        **_judged(change.low, change.high, False, "too few requests for an interval"),
    )


class _Judged(TypedDict):
    verdict: Verdict
    why: str


def _judged(low: float | None, high: float | None, higher_is_better: bool, without: str) -> _Judged:
    if low is None or high is None:
        return {"verdict": "not-shown", "why": without}
    if low > 1 + _LEAST or high < 1 - _LEAST:
        grew = low > 1
        words = f"{'more' if grew else 'less'} by at least {abs((low if grew else high) - 1):.1%}"
        return {"verdict": "better" if grew is higher_is_better else "worse", "why": words}
    return {"verdict": "not-shown", "why": "the interval holds no change, or next to none"}


def compare_results(
    before: Sequence[Fact], after: Sequence[Fact], host_names: Mapping[str, str]
) -> Iterator[MeasuredChange]:
    """Results of tests. Only repeated ones have an interval."""
    sides = [[fact for fact in side if fact.kind in RESULTS] for side in (before, after)]
    for pair in partners(sides[0], sides[1], host_names):
        if not pair.before or not pair.after:
            continue
        kind, subject, name = pair.key
        for setting in _settings(pair.before) & _settings(pair.after):
            old_facts, new_facts = (
                [fact for fact in side if _setting(fact) == setting] for side in (pair.before, pair.after)
            )
            for field, (unit, higher) in RESULTS[kind].items():
                old, new = (
                    [value for fact in side if (value := getattr(fact, field)) is not None and value > 0]
                    for side in (old_facts, new_facts)
                )
                if old and new:
                    words = " ".join(filter(None, (kind, name if isinstance(name, str) else None, field)))
                    yield _result(words, subject, unit, higher, old, new)


_SETTING_FIELDS = (
    *("ranks", "hosts", "largest_size_bytes", "size_bytes", "bidirectional", "concurrent", "copy_engine", "pinned"),
    *("p2p_enabled", "queue_pairs", "gpu_memory", "loopback", "load_model", "requested_rate_per_second"),
    *("max_concurrency", "stage", "global_batch_size", "world_size"),
)
"""Under which conditions a result was measured: those of others are no comparison."""


def _setting(fact: Fact) -> tuple[tuple[str, object], ...]:
    return tuple((name, getattr(fact, name)) for name in _SETTING_FIELDS if hasattr(fact, name))


def _settings(facts: Sequence[Fact]) -> set[tuple[tuple[str, object], ...]]:
    return {_setting(fact) for fact in facts}


def _result(
    quantity: str, subject: str, unit: Unit, higher: bool, old: Sequence[float], new: Sequence[float]
) -> MeasuredChange:
    ratio = fmean(new) / fmean(old)
    interval = _interval(old, new)
    without = "one value each" if len(old) == len(new) == 1 else "too few repetitions for an interval"
    return MeasuredChange(
        quantity=quantity,
        subject=subject,
        unit=unit,
        higher_is_better=higher,
        before=fmean(old),
        after=fmean(new),
        before_values=len(old),
        after_values=len(new),
        ratio=ratio,
        ratio_low=interval.low if interval else None,
        ratio_high=interval.high if interval else None,
        **_judged(interval.low if interval else None, interval.high if interval else None, higher, without),
    )


@dataclass(frozen=True, slots=True)
class _Interval:
    low: float
    high: float


def _interval(old: Sequence[float], new: Sequence[float]) -> _Interval | None:
    """Of the ratio of the means, by Welch's test on logarithms; None with fewer than two values on a side."""
    if len(old) < 2 or len(new) < 2:
        return None
    logs = [[math.log(value) for value in side] for side in (old, new)]
    parts = [stdev(side) ** 2 / len(side) for side in logs]
    variance = sum(parts)
    middle = fmean(logs[1]) - fmean(logs[0])
    if variance == 0:
        return _Interval(math.exp(middle), math.exp(middle))
    freedom = variance**2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, logs, strict=True))
    student = _STUDENT[min(len(_STUDENT), max(1, int(freedom))) - 1] if freedom < 30 else _STUDENT_MANY
    half = student * math.sqrt(variance)
    return _Interval(math.exp(middle - half), math.exp(middle + half))
