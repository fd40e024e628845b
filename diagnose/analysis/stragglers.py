"""Who is late: workers of one run compared, by statistics that noise and a few bad steps do not move."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from diagnose.analysis.outlier import outlier_p_value
from diagnose.facts import Fact, Subject
from diagnose.facts.training import ParallelEfficiency, RankSpread, RankTimes

_LATE = 1.1
"""A worker is late in a step that takes it a tenth longer than the median worker."""
_FEW_STEPS = 5
_STANDS_OUT = 0.05
_PERSISTENT_SHARE = 0.6
_PERIODIC_SPREAD = 0.2


@dataclass(frozen=True, slots=True)
class Lateness:
    """When workers are late in a matrix of steps and workers."""

    pattern: str
    worker: int
    share_of_steps: float
    """Share of steps in which that worker is the slowest."""
    late_steps: float
    period: float | None
    p_value: float
    """Chance that one of equal workers is the slowest so often, counted for all of them."""


_Tables = Mapping[str | None, Mapping[str, Sequence[RankTimes]]]
"""File to phase to workers."""


def features(facts: Sequence[Fact]) -> list[Fact]:
    """For one host's workers: a spread for each table and phase, and POP metrics where both times are told."""
    return _features(_tables(facts))


def features_between_hosts(facts: Sequence[Fact]) -> list[Fact]:
    """The same over all hosts of a job, for tables that name several."""
    several = {
        path: phases
        for path, phases in _tables(facts).items()
        if len({worker.subject.host for workers in phases.values() for worker in workers}) > 1
    }
    return _features(several)


def _tables(facts: Sequence[Fact]) -> _Tables:
    tables: dict[str | None, dict[str, list[RankTimes]]] = defaultdict(lambda: defaultdict(list))
    for fact in facts:
        if isinstance(fact, RankTimes) and fact.stage is None:
            tables[fact.sources[0].path][fact.measure].append(fact)
    return tables


def _features(tables: _Tables) -> list[Fact]:
    found: list[Fact] = []
    for phases in tables.values():
        found += [spread for workers in phases.values() if (spread := _spread(workers)) is not None]
        if (efficiency := _parallel_efficiency(phases)) is not None:
            found.append(efficiency)
    return found


def lateness(seconds: NDArray[np.float64]) -> Lateness:
    """How the workers (columns) fall behind over the steps (rows)."""
    steps, workers = seconds.shape
    relative = seconds / np.maximum(np.median(seconds, axis=1, keepdims=True), 1e-300)
    slowest = relative.argmax(axis=1)
    counts = np.bincount(slowest, minlength=workers)
    worker = int(counts.argmax())
    late = np.flatnonzero(relative.max(axis=1) >= _LATE)
    p_value = min(1.0, workers * _binomial_tail(int(counts[worker]), steps, 1 / workers))
    share = float(counts[worker] / steps)
    period = None
    gaps = np.diff(late)
    # Several workers that are slow together, such as the ranks of one host, take turns at being the slowest.
    usual = np.median(relative, axis=0)
    usually_slow = usual[slowest[late]] >= 1 + (_LATE - 1) / 2
    same_ones = len(late) > 0 and float(usually_slow.mean()) >= _PERSISTENT_SHARE
    if share >= _PERSISTENT_SHARE or same_ones:
        pattern = "persistent"
    elif len(gaps) >= 3 and float(np.median(gaps)) > 1 and float(np.std(gaps)) <= _PERIODIC_SPREAD * float(gaps.mean()):
        pattern, period = "periodic", float(np.median(gaps))
    else:
        pattern = "wandering" if len(late) >= max(2, 0.05 * steps) else "steady"
    return Lateness(pattern, worker, share, len(late) / steps, period, p_value)


def _binomial_tail(successes: int, trials: int, chance: float) -> float:
    """Chance of at least so many successes."""
    logs = (
        [
            math.lgamma(trials + 1)
            - math.lgamma(k + 1)
            - math.lgamma(trials - k + 1)
            + k * math.log(chance)
            + (trials - k) * math.log1p(-chance)
            for k in range(successes, trials + 1)
        ]
        if 0 < chance < 1
        else [0.0]
    )
    return min(1.0, sum(map(math.exp, logs)))


def _spread(workers: Sequence[RankTimes]) -> RankSpread | None:
    if len(workers) < 3:
        return None
    medians = [worker.median_seconds for worker in workers]
    if min(medians) <= 0:
        return None
    steps = min(len(worker.series) for worker in workers)
    times = np.array([worker.series[:steps] for worker in workers]).T
    seen = lateness(times) if steps >= _FEW_STEPS else None
    at, direction, p_value = _outlier(workers[0].role, medians, seen)
    outlying = workers[at] if direction != "none" else None
    rest = median([value for other, value in enumerate(medians) if other != at])
    return RankSpread(
        subject=outlying.subject if outlying else Subject(host=_one_host(workers)),
        sources=outlying.sources if outlying else workers[0].sources,
        measure=workers[0].measure,
        role=workers[0].role,
        workers=len(workers),
        steps=steps,
        load_balance_ratio=sum(medians) / len(medians) / max(medians),
        direction=direction,
        worker=outlying.worker if outlying else None,
        ratio=medians[at] / rest if outlying else None,
        p_value=p_value if outlying else None,
        pattern=seen.pattern if seen else "single",
        share_of_steps_ratio=seen.share_of_steps if seen else None,
        period_steps=seen.period if seen else None,
        late_steps_ratio=seen.late_steps if seen else None,
    )


def _outlier(role: str, medians: Sequence[float], seen: Lateness | None) -> tuple[int, str, float]:
    """Who stands out, which way, and the chance of it: own work that takes longer, or waiting that takes shorter.

    Who comes last to a collective waits least in it, so that a phase which holds the waits is shorter for him.
    """
    slowest = max(range(len(medians)), key=lambda at: medians[at])
    fastest = min(range(len(medians)), key=lambda at: medians[at])
    high, low = outlier_p_value(medians, "high"), outlier_p_value(medians, "low")
    if role == "communication":
        return (fastest, "shorter", low) if low <= _STANDS_OUT else (fastest, "none", low)
    if seen is not None and seen.pattern == "persistent" and seen.worker == slowest:
        high = min(high, seen.p_value)
    if high <= _STANDS_OUT and (role != "synchronous" or high <= low):
        return slowest, "slower", high
    if role == "synchronous" and low <= _STANDS_OUT:
        return fastest, "shorter", low
    return slowest, "none", high


def _parallel_efficiency(phases: Mapping[str, Sequence[RankTimes]]) -> ParallelEfficiency | None:
    """Load balance and communication efficiency as POP defines them (pop-coe.eu, metrics)."""
    useful = next((workers for workers in phases.values() if workers[0].role == "own-work"), None)
    elapsed = next((workers for workers in phases.values() if workers[0].role == "whole-step"), None)
    if useful is None or elapsed is None or len(useful) < 2:
        return None
    times = [worker.median_seconds for worker in useful]
    whole = max(worker.median_seconds for worker in elapsed)
    if max(times) <= 0 or max(times) > whole:
        return None
    talking = next((workers for workers in phases.values() if workers[0].role == "communication"), None)
    balance = sum(times) / len(times) / max(times)
    communication = max(times) / whole
    return ParallelEfficiency(
        subject=Subject(host=_one_host(useful)),
        sources=useful[0].sources,
        workers=len(useful),
        load_balance_ratio=balance,
        communication_efficiency_ratio=communication,
        parallel_efficiency_ratio=balance * communication,
        communication_share_ratio=median([worker.median_seconds for worker in talking]) / whole if talking else None,
    )


def _one_host(workers: Sequence[RankTimes]) -> str | None:
    hosts = {worker.subject.host for worker in workers}
    return hosts.pop() if len(hosts) == 1 else None
