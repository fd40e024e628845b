"""Pairs of inputs of a reference run and of the run under suspicion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar


class OfARun(Protocol):
    """A fact that tells which run it is of."""

    @property
    def role(self) -> str | None:
        """`reference`, `low-bit`, or None."""


R = TypeVar("R", bound=OfARun)


def pairs(facts: Sequence[R]) -> tuple[list[tuple[R, R]], bool]:
    """Pairs of reference and other, and whether it is known which is which.

    Where no role is told, exactly two facts make a pair in the order in which they were read; otherwise none are made.
    """
    reference = [fact for fact in facts if fact.role == "reference"]
    others = [fact for fact in facts if fact.role != "reference"]
    if reference and others:
        return [(reference[0], other) for other in others], True
    if len(facts) == 2 and len(reference) != 1:
        return [(facts[0], facts[1])], False
    return [], False
