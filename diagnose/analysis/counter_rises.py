"""What rose between two readings of one port's counters, where a person took them and no clock says when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import pairwise

from diagnose.facts import Fact
from diagnose.facts.network import NetworkCounters, NetworkRise, RdmaCounters, RdmaRise

_RISES: tuple[tuple[type[Fact], type[Fact]], ...] = ((RdmaCounters, RdmaRise), (NetworkCounters, NetworkRise))
_TRAFFIC = ("transmit_bytes", "receive_bytes", "transmit_packets", "receive_packets")
"""Counters that rise in any use, and so tell which reading is the later one."""


def features(facts: Sequence[Fact]) -> list[Fact]:
    """One fact for each port that was read twice or more: the last reading less the first.

    The readings must be of one tool, since tools count in different places, and no counter may have fallen: one that
    did was cleared in between. Where the host is not named, `eth0` of two files may be of two hosts, and so may
    readings of one file that fall from one to the next: they must stand in one file, in the order in which they rise.
    """
    found: list[Fact] = []
    for counters, rise in _RISES:
        readings: dict[Hashable, list[Fact]] = defaultdict(list)
        for fact in facts:
            if isinstance(fact, counters) and fact.subject.nic is not None:
                file = None if fact.subject.host is not None else fact.sources[0].path
                readings[fact.subject.nic, fact.subject.port, file, frozenset(fact.values())].append(fact)
        found += [risen for same in readings.values() if (risen := _rise(same, rise)) is not None]
    return found


def _rise(readings: Sequence[Fact], kind: type[Fact]) -> Fact | None:
    names = [name for name in kind.own_fields() if name in readings[0].values()]
    traffic = [name for name in _TRAFFIC if name in names]
    if len(readings) < 2 or not traffic:
        return None
    ordered = sorted(readings, key=lambda fact: [getattr(fact, name) for name in traffic])
    if readings[0].subject.host is None:
        ordered = sorted(readings, key=lambda fact: fact.sources[0].line or 0)
    if any(getattr(later, name) < getattr(earlier, name) for earlier, later in pairwise(ordered) for name in names):
        return None
    first, last = ordered[0], ordered[-1]
    rises = {name: getattr(last, name) - getattr(first, name) for name in names}
    if not any(rises[name] for name in traffic):
        return None
    return kind(subject=last.subject, sources=(*first.sources, *last.sources), **rises)
