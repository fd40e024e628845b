"""The next best check: the one whose answer is expected to change the ranking most for its cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log2

from diagnose.knowledge.base import KnownCause
from diagnose.knowledge.schema import Check, Risk
from diagnose.ranking.model import NextCheck, Unseen

SENSITIVITY = 0.7
"""Assumed chance that evidence shows when its cause is present (judgement; only the order of checks depends on it)."""

RISK_SECONDS: Mapping[Risk, float] = {
    Risk.NONE: 0,
    Risk.RESTART_JOB: 600,
    Risk.DRAIN: 1800,
    Risk.RESET: 1800,
    Risk.REBOOT: 3600,
    Risk.HARDWARE: 14400,
}
"""What a risk counts as in the cost of a check, in seconds of an operator's night (judgement)."""

WORTHWHILE_BITS = 0.01
"""A check that is expected to tell less about a cause is not proposed for it (judgement)."""

BASE_SECONDS = 30.0
"""Cost of doing anything at all: typing, waiting, sending the result (judgement)."""


def entropy(probability: float) -> float:
    """Bits of doubt left about a yes-or-no question."""
    if probability in (0.0, 1.0):
        return 0.0
    return -probability * log2(probability) - (1 - probability) * log2(1 - probability)


def expected_gain(probability: float, likelihood_ratio: float) -> float:
    """Bits that looking for a piece of evidence is expected to remove from the doubt about its cause."""
    ratio = likelihood_ratio if likelihood_ratio > 1 else 1 / likelihood_ratio
    seen_with, seen_without = SENSITIVITY, SENSITIVITY / ratio
    if likelihood_ratio < 1:
        seen_with, seen_without = seen_without, seen_with
    seen = probability * seen_with + (1 - probability) * seen_without
    after_seen = probability * seen_with / seen
    after_unseen = probability * (1 - seen_with) / (1 - seen)
    return entropy(probability) - seen * entropy(after_seen) - (1 - seen) * entropy(after_unseen)


def next_checks(candidates: Iterable[tuple[KnownCause, float, Sequence[Unseen]]], limit: int) -> list[NextCheck]:
    """Checks for causes with their probabilities and their unseen evidence, the most worthwhile first."""
    gains: dict[str, dict[str, float]] = {}
    checks: dict[str, Check] = {}
    for known, probability, unseen in candidates:
        for check in known.checks:
            ratios = [item.evidence.weight for item in unseen if set(item.kinds) <= set(check.provides)]
            gain = max((expected_gain(probability, ratio) for ratio in ratios), default=0.0)
            if gain >= WORTHWHILE_BITS:
                checks[check.id] = check
                gains.setdefault(check.id, {})[known.cause.id] = gain
    ranked = sorted(checks.values(), key=lambda check: (-sum(gains[check.id].values()) / _cost(check), check.id))
    return [_next_check(check, gains[check.id]) for check in ranked[:limit]]


def _cost(check: Check) -> float:
    return BASE_SECONDS + check.cost_seconds + RISK_SECONDS[check.risk]


def _next_check(check: Check, gains: Mapping[str, float]) -> NextCheck:
    causes = sorted(gains, key=lambda cause: -gains[cause])
    return NextCheck(
        id=check.id,
        text=check.text,
        command=check.command,
        separates=tuple(causes),
        gain_bits=sum(gains.values()),
        cost_seconds=check.cost_seconds,
        risk=check.risk.value,
        privilege=check.privilege.value,
    )
