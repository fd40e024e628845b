"""Which candidates a latency goes along with, and which of those others explain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from diagnose.analysis.latency.candidates import CONSEQUENCES, FOLLOWS_FROM, FROM_OUTSIDE, Candidate
from diagnose.analysis.latency.permutation import (
    Scores,
    block_windows,
    chance_deviation,
    high_pass_windows,
    high_passed,
    lagged,
    savage,
    standardised,
    test,
    without,
)
from diagnose.analysis.latency.quantiles import Quantile
from diagnose.analysis.latency.tails import Tails, ranges, tail_ratio, tails
from diagnose.analysis.latency.target import Target

LEVEL = 0.01
"""Chance, over all candidates of a latency together, that unrelated ones are called associated."""
_PERMUTATIONS, _FEWER = 999, 499
_MANY_WINDOWS = 20_000
_MOST_COMPARED = 24
_LAGS = (0, 1, 2, 4, -1)
_AS_GOOD = 0.98
_REMAINING = 0.4
"""Share of a correlation that must remain beside another driver, or else that driver explains it."""
_CLEARLY_MORE = 1.5
_GAUSSIAN = 3.0
"""Standard deviations that count as more than noise in what remains."""

ASSOCIATED, EXPLAINED, NOT_SHOWN, TOO_FEW = "associated", "explained-by-other", "not-shown", "too-few"


@dataclass(frozen=True, slots=True)
class Association:
    """What is found of one candidate."""

    candidate: Candidate
    verdict: str
    reason: str | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    correlation: float | None = None
    lag: int = 0
    tails: Tails | None = None
    ratio: Quantile | None = None
    driver_low: float | None = None
    driver_high: float | None = None
    explained_by: Candidate | None = None
    remaining: float | None = None
    remaining_p_value: float | None = None
    rank: int | None = None


def associations(target: Target, candidates: Sequence[Candidate]) -> list[Association]:
    """One for each group of candidates: its best member."""
    varying = [item for item in candidates if item.varies]
    still = _first_of_group([item for item in candidates if not item.varies], {item.group for item in varying})
    found = [Association(item, NOT_SHOWN, "it does not vary") for item in still]
    if not varying:
        return found
    length = high_pass_windows(target.grid.count, target.grid.width_seconds)
    goal = standardised(high_passed(savage(target.scores), length))
    block = block_windows(goal)
    if block is None:
        reason = "latency changes too slowly for the length of the data"
        return [*found, *(Association(item, TOO_FEW, reason) for item in _first_of_group(varying, set()))]
    scores = np.stack([standardised(high_passed(savage(item.values * item.sign), length)) for item in varying])
    generator = np.random.default_rng([target.grid.count, int(target.requests.sum())])
    times = _PERMUTATIONS if target.grid.count < _MANY_WINDOWS else _FEWER
    tested = test(goal, scores, _LAGS, block, times, generator)
    strengths = tested.correlations / tested.deviations
    # Lags are in the order of preference: a later one must be clearly better.
    best_lag = (strengths >= _AS_GOOD * strengths.max(axis=1, keepdims=True)).argmax(axis=1)
    strongest: dict[object, int] = {}
    for place, item in enumerate(varying):
        held = strongest.get(item.group)
        if held is None or strengths[place].max() > strengths[held].max():
            strongest[item.group] = place
    chosen = [
        Association(
            varying[place], NOT_SHOWN,
            p_value=float(tested.p_values[place]), p_adjusted=float(tested.p_adjusted[place]),
            correlation=float(tested.correlations[place, best_lag[place]]), lag=_LAGS[best_lag[place]],
        )
        for place in strongest.values()
    ]  # fmt: skip
    measured = dict(zip(strongest.values(), _with_tails(target, chosen, generator), strict=True))
    aligned = {
        place: lagged(scores[place], association.lag)
        for place, association in measured.items()
        if association.verdict == ASSOCIATED
    }
    compared = sorted(aligned, key=lambda place: -(measured[place].correlation or 0.0))[:_MOST_COMPARED]
    measured |= _explained(goal, {place: aligned[place] for place in compared}, measured)
    return [*found, *measured.values()]


def _first_of_group(items: Sequence[Candidate], taken: set[object]) -> list[Candidate]:
    groups: dict[object, Candidate] = {}
    for item in items:
        if item.group not in taken:
            groups.setdefault(item.group, item)
    return list(groups.values())


def _with_tails(target: Target, chosen: Sequence[Association], generator: np.random.Generator) -> Iterator[Association]:
    """Conditional tails, and the verdicts that they and the test give."""
    values = [_moved(found.candidate.values, found.lag) * found.candidate.sign for found in chosen]
    pairs = [ranges(item) for item in values]
    for found, seen, (low, high), both in zip(chosen, values, pairs, tails(target, pairs), strict=True):
        if both is None:
            yield replace(found, verdict=TOO_FEW, reason="too few requests while it is high or while it is low")
            continue
        told = replace(
            found, tails=both,
            driver_low=float(np.median(seen[low])) * found.candidate.sign,
            driver_high=float(np.median(seen[high])) * found.candidate.sign,
        )  # fmt: skip
        if found.p_adjusted is None or found.p_adjusted > LEVEL:
            yield told
            continue
        ratio = tail_ratio(target, low, high, generator)
        longer = ratio is not None and ratio.low > 1.0
        reason = None if longer else "the tail is no longer while it is high"
        yield replace(told, ratio=ratio, verdict=ASSOCIATED if longer else NOT_SHOWN, reason=reason)


def _moved(values: Scores, lag: int) -> Scores:
    if lag == 0:
        return values
    moved = np.roll(values, lag)
    moved[slice(None, lag) if lag > 0 else slice(lag, None)] = np.nan
    return moved


def _explained(
    goal: Scores, aligned: Mapping[int, Scores], measured: Mapping[int, Association]
) -> dict[int, Association]:
    """Verdicts of the associated ones, once each is set against every other and then against all that stand."""
    places = list(aligned)
    left = {
        (one, other): _remaining(goal, aligned[one], aligned[other][np.newaxis])
        for one in places
        for other in places
        if one != other
    }
    judged: dict[int, Association] = {place: measured[place] for place in places}
    explaining: dict[int, int] = {}
    for one in places:
        able = [
            other
            for other in places
            if other != one and explaining.get(other) != one and _explains(one, other, left, judged)
        ]
        if able:
            explaining[one] = max(able, key=lambda other: judged[other].correlation or 0.0)
    roots = [place for place in places if place not in explaining]
    for one in reversed(list(roots)):
        others = [place for place in roots if place != one and _may_explain(judged[place], judged[one])]
        if not others:
            continue
        remains = _remaining(goal, aligned[one], np.stack([aligned[place] for place in others]))
        if _gone(remains, judged[one]) and len(others) > 1:
            explaining[one] = max(others, key=lambda other: judged[other].correlation or 0.0)
            roots.remove(one)
    for one in places:
        others = [explaining[one]] if one in explaining else [place for place in roots if place != one]
        judged[one] = _judge(goal, one, others, explaining, aligned, judged)
    ranked = sorted(roots, key=lambda place: -(judged[place].correlation or 0.0))
    return judged | {place: replace(judged[place], rank=at) for at, place in enumerate(ranked, 1)}


def _judge(
    goal: Scores,
    one: int,
    others: Sequence[int],
    explaining: Mapping[int, int],
    aligned: Mapping[int, Scores],
    judged: Mapping[int, Association],
) -> Association:
    found = judged[one]
    if not others:
        return replace(found, remaining=found.correlation, remaining_p_value=found.p_value)
    remains = _remaining(goal, aligned[one], np.stack([aligned[place] for place in others]))
    found = replace(
        found, remaining=remains.correlation, remaining_p_value=_upper_tail(remains.correlation / remains.deviation)
    )
    if one in explaining:
        return replace(found, verdict=EXPLAINED, explained_by=judged[explaining[one]].candidate)
    if _gone(remains, found):
        names = ", ".join(
            f"{judged[place].candidate.metric} of {judged[place].candidate.subject.path()}" for place in others[:3]
        )
        return replace(found, reason=f"cannot be told apart from {names}")
    return found


@dataclass(frozen=True, slots=True)
class _Remains:
    """A correlation beside others, and what chance makes of it."""

    correlation: float
    deviation: float

    @property
    def is_noise(self) -> bool:
        return self.correlation < _GAUSSIAN * self.deviation


def _remaining(goal: Scores, one: Scores, others: Scores) -> _Remains:
    left, own = standardised(without(goal, others)), standardised(without(one, others))
    return _Remains(float(left @ own), chance_deviation(left, own))


def _gone(remains: _Remains, found: Association) -> bool:
    return remains.is_noise or remains.correlation < _REMAINING * (found.correlation or 0.0)


def _may_explain(other: Association, one: Association) -> bool:
    if one.candidate.driver in FOLLOWS_FROM.get(other.candidate.driver, ()):
        return False
    return other.candidate.driver not in CONSEQUENCES or one.candidate.driver in CONSEQUENCES


def _explains(
    one: int, other: int, left: Mapping[tuple[int, int], _Remains], judged: Mapping[int, Association]
) -> bool:
    """Whether little of one remains beside the other, and clearly more of the other beside the one."""
    if not _may_explain(judged[other], judged[one]) or not _gone(left[one, other], judged[one]):
        return False
    if judged[other].candidate.driver in FROM_OUTSIDE and judged[one].candidate.driver not in FROM_OUTSIDE:
        return True
    if judged[one].candidate.driver in CONSEQUENCES and judged[other].candidate.driver not in CONSEQUENCES:
        return not left[other, one].is_noise
    beside = left[other, one]
    return not beside.is_noise and beside.correlation > _CLEARLY_MORE * left[one, other].correlation


def _upper_tail(deviations: float) -> float:
    from statistics import NormalDist

    return max(1.0 - NormalDist().cdf(deviations), 1e-12)
