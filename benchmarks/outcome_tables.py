"""Tables about generated scenarios of any sort: causes alone, pairs, and what is healthy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Protocol

from diagnose.knowledge.schema import Severity


class Caused(Protocol):
    """A scenario: what was injected."""

    @property
    def causes(self) -> tuple[str, ...]:
        """Ids of causes; none when healthy."""


class Diagnosed(Protocol):
    """What the diagnosis made of one."""

    @property
    def scenario(self) -> Caused:
        """Which."""

    @property
    def ranked(self) -> tuple[tuple[str, float, Severity], ...]:
        """Cause, probability and severity, most probable first."""

    @property
    def accused(self) -> tuple[str, ...]:
        """Causes of severity warning or above at 0.5 or more that are not true."""

    @property
    def worst_place(self) -> int | None:
        """Rank of the last of the injected causes; None where one is absent."""

    def place(self, cause: str) -> int | None:
        """Rank of a cause, from 1."""

    def probability(self, cause: str) -> float:
        """Of a cause; 0 where it is not put forward."""


def single_table(outcomes: Iterable[Diagnosed]) -> str:
    """One line for each cause, then the sums."""
    by_cause: dict[str, list[Diagnosed]] = defaultdict(list)
    for item in outcomes:
        by_cause[item.scenario.causes[0]].append(item)
    lines = [f"{'cause':<34} {'n':>3} {'first':>6} {'in 3':>5} {'median p':>9} {'accused':>8}"]
    sums = [0, 0, 0, 0]
    for cause, items in by_cause.items():
        places = [item.place(cause) for item in items]
        row = [len(items), places.count(1), sum(place is not None and place <= 3 for place in places)]
        accused = sum(bool(item.accused) for item in items)
        middle = median(item.probability(cause) for item in items)
        lines.append(f"{cause:<34} {row[0]:>3} {row[1]:>6} {row[2]:>5} {middle:>9.2f} {accused:>8}")
        sums = [total + part for total, part in zip(sums, [*row, accused], strict=True)]
    lines.append(f"{'all':<34} {sums[0]:>3} {sums[1]:>6} {sums[2]:>5} {'':>9} {sums[3]:>8}")
    return "\n".join(lines)


def pair_lines(outcomes: Sequence[Diagnosed]) -> str:
    """How many pairs are found whole, in part, and not at all."""
    whole = [item.worst_place for item in outcomes]
    one = [min((item.place(cause) or 99) for cause in item.scenario.causes) for item in outcomes]
    return "\n".join(
        [
            f"pairs of causes:                 {len(outcomes)}",
            f"both within the first three:     {sum(place is not None and place <= 3 for place in whole)}",
            f"both within the first four:      {sum(place is not None and place <= 4 for place in whole)}",
            f"one of them first:               {one.count(1)}",
            f"something else accused:          {sum(bool(item.accused) for item in outcomes)}",
        ]
    )


def healthy_lines(outcomes: Sequence[Diagnosed], what: str = "healthy machines and jobs") -> str:
    """How many that are sound are left in peace."""
    return "\n".join(
        [
            f"{f'{what}:':<32} {len(outcomes)}",
            f"accused:                         {sum(bool(item.accused) for item in outcomes)}",
            f"with an empty list:              {sum(not item.ranked for item in outcomes)}",
        ]
    )
