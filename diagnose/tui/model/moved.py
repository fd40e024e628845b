"""What an answer moved: probabilities before and after."""

from __future__ import annotations

from typing import NamedTuple

from diagnose.report.model import Report, ReportCause

NOTICED = 0.005
"""A smaller change does not show in rounded percentages."""


class Move(NamedTuple):
    """A cause whose probability changed; None stands for `not found`."""

    cause: ReportCause
    before: float | None
    after: float | None


def moves(before: Report | None, after: Report | None) -> list[Move]:
    """The causes that moved, the farthest first."""
    if before is None or after is None:
        return []
    old = {cause.id: cause for cause in before.causes}
    new = {cause.id: cause for cause in after.causes}
    found = [
        Move(
            new.get(name) or old[name],
            old[name].probability if name in old else None,
            new[name].probability if name in new else None,
        )
        for name in {**new, **old}
    ]
    changed = [move for move in found if abs((move.after or 0.0) - (move.before or 0.0)) >= NOTICED]
    return sorted(changed, key=lambda move: (-abs((move.after or 0.0) - (move.before or 0.0)), move.cause.id))
