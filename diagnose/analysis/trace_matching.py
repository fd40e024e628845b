"""The same collectives in the traces of several ranks, found without their clocks: by group, sort and turn.

A collective ends on all its ranks at about the same time. Where it is shortest the rank came last, and that duration is
the time of the exchange itself; what it takes longer elsewhere was spent waiting.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diagnose.analysis.trace_device import TracedDevice
from diagnose.analysis.trace_intervals import Floats

_NOT_SYNCHRONOUS = "send-receive"
"""Two ranks of many meet in it, at different times of their own."""


@dataclass(frozen=True, slots=True)
class Matched:
    """Collectives of one sort in one group: a row for each rank that has them, a column for each turn."""

    members: NDArray[np.intp]
    """Index of each row's rank among the devices."""
    start: Floats
    duration: Floats

    @property
    def exchange(self) -> Floats:
        """Duration by turn on the rank that came last."""
        shortest: Floats = self.duration.min(axis=0)
        return shortest

    @property
    def wait(self) -> Floats:
        """Seconds that each rank waited, of the shape of the durations."""
        return self.duration - self.exchange


def match(devices: Sequence[TracedDevice]) -> list[Matched]:
    """Collectives that all of their ranks have equally often; those whose numbers differ cannot be told apart."""
    by_key: dict[tuple[str, str], dict[int, tuple[Floats, Floats]]] = defaultdict(dict)
    for number, device in enumerate(devices):
        for key, columns in _sequences(device).items():
            by_key[key][number] = columns
    found = []
    for (group, _), ranks in by_key.items():
        lengths = {len(start) for start, _ in ranks.values()}
        complete = len(ranks) >= 2 if group else len(ranks) == len(devices)
        if complete and len(lengths) == 1:
            members = sorted(ranks)
            found.append(
                Matched(
                    np.array(members),
                    np.array([ranks[number][0] for number in members]),
                    np.array([ranks[number][1] for number in members]),
                )
            )
    return found


def _sequences(device: TracedDevice) -> Mapping[tuple[str, str], tuple[Floats, Floats]]:
    """Starts and durations in order, by group and sort of collective; the group is empty where it is not told."""
    table, work, names = device.trace.collectives, device.trace.gpu, device.trace.names
    here = np.flatnonzero(np.isin(table.at, device.at))
    here = here[np.argsort(work.start_seconds[table.at[here]], kind="stable")]
    found = {}
    for group, kind in {*zip(table.group[here].tolist(), table.kind[here].tolist(), strict=True)}:
        if names[kind] == _NOT_SYNCHRONOUS:
            continue
        at = table.at[here[(table.group[here] == group) & (table.kind[here] == kind)]]
        found[names[group] if group >= 0 else "", names[kind]] = work.start_seconds[at], work.duration_seconds[at]
    return found
