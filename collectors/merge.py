"""Joins facts about parts of a machine that several sources list: a memory node told twice is one memory node.

Only kinds that say what a part is are joined, and only on a host that is named. What was observed at different times
stays apart, as do sources that disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diagnose.facts import Fact, Subject
from diagnose.facts.host import NumaDistance, NumaNode
from diagnose.facts.pcie import PciAcs, PciDevice

_DECISIVE: Mapping[type[Fact], tuple[str, ...]] = {
    NumaNode: ("cpu_count",),
    NumaDistance: ("to_node", "distance"),
    PciDevice: ("is_gpu", "is_bridge", "is_nic", "responds", "driver"),
    PciAcs: tuple(PciAcs.own_fields()),
}
"""Kinds that are joined, and the fields in which their sources must agree as far as both know them."""


def merge(facts: Sequence[Fact]) -> list[Fact]:
    """The facts in their order; what is said again fills gaps of the first one and adds its sources."""
    merged: list[Fact] = []
    places: dict[tuple[type[Fact], Subject], list[int]] = {}
    for fact in facts:
        if type(fact) not in _DECISIVE or fact.subject.host is None:
            merged.append(fact)
            continue
        known = places.setdefault((type(fact), fact.subject), [])
        place = next((at for at in known if _agree(merged[at], fact)), None)
        if place is None:
            known.append(len(merged))
            merged.append(fact)
        else:
            merged[place] = _joined(merged[place], fact)
    return merged


def _agree(first: Fact, second: Fact) -> bool:
    pairs = [(getattr(first, name), getattr(second, name)) for name in _DECISIVE[type(first)]]
    return all(one is None or other is None or one == other for one, other in pairs)


def _joined(first: Fact, second: Fact) -> Fact:
    known = first.values()
    added = {name: value for name, value in second.values().items() if name not in known}
    missing = {name: reason for name, reason in first.missing.items() if name not in added}
    sources = tuple(dict.fromkeys((*first.sources, *second.sources)))
    return first.model_copy(update={**added, "missing": missing, "sources": sources})
