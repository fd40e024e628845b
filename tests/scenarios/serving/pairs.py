"""Pairs of causes that one run can have at once, drawn by a seed."""

from __future__ import annotations

from random import Random

from tests.scenarios.serving.faults import FAULTS
from tests.scenarios.serving.scenario import ServingScenario, scenario


def can_coexist(first: str, second: str) -> bool:
    """Whether each decides on other parts of the world than the other."""
    return first != second and not FAULTS[first].uses & FAULTS[second].uses


def drawn_pairs(count: int, seed: int = 0) -> list[ServingScenario]:
    """So many runs with two causes each."""
    rng = Random(seed)
    names = list(FAULTS)
    found: list[ServingScenario] = []
    while len(found) < count:
        first, second = rng.sample(names, 2)
        if can_coexist(first, second):
            found.append(scenario((first, second), rng.randrange(10**6)))
    return found
