"""Which leaf switches a job's nodes are spread over, and what the leaves' uplinks carry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from diagnose.facts import Fact, Source
from diagnose.facts.placement import FabricUplinks, JobNodes, JobPlacement, LeafSwitch


def features(facts: Sequence[Fact]) -> list[Fact]:
    """A placement for each job all of whose nodes hang at known leaves, and the fabric's worst leaf."""
    leaves = [fact for fact in facts if isinstance(fact, LeafSwitch)]
    if not leaves:
        return []
    jobs = [fact for fact in facts if isinstance(fact, JobNodes)]
    return [*(placement for job in jobs if (placement := _placement(job, leaves))), *_uplinks(leaves)]


def _placement(job: JobNodes, leaves: Sequence[LeafSwitch]) -> JobPlacement | None:
    hangs_at = _leaf_of_nodes(leaves)
    names = job.node_names.split()
    if not all(name in hangs_at for name in names):
        return None
    used = Counter(hangs_at[name] for name in names)
    room = sorted(Counter(hangs_at.values()).values(), reverse=True)
    best = _fill(len(names), room)
    mine = set(names)
    ratios = [
        leaf.oversubscription_ratio
        for leaf in leaves
        if leaf.oversubscription_ratio is not None and mine & set(leaf.node_names.split())
    ]
    return JobPlacement(
        subject=job.subject,
        sources=(*job.sources, *_first_sources(leaves)),
        nodes=len(names),
        leaves=len(used),
        leaves_needed=len(best),
        across_ratio=_across(used.values()),
        across_needed_ratio=_across(best),
        oversubscription_ratio=max(ratios, default=None),
    )


def _leaf_of_nodes(leaves: Sequence[LeafSwitch]) -> Mapping[str, int]:
    """Node to the number of its leaf. Leaves that share a node are one: nodes hang at a leaf for each rail then."""
    groups: list[set[str]] = []
    for leaf in leaves:
        nodes = set(leaf.node_names.split())
        apart = []
        for group in groups:
            if group & nodes:
                nodes |= group
            else:
                apart.append(group)
        groups = [*apart, nodes]
    return {name: number for number, group in enumerate(groups) for name in group}


def _fill(nodes: int, room: Sequence[int]) -> list[int]:
    """Nodes on each leaf when the largest leaves are filled first."""
    placed = []
    for size in room:
        if nodes > 0:
            placed.append(min(size, nodes))
            nodes -= placed[-1]
    return placed


def _across(counts: Iterable[int]) -> float:
    sizes = list(counts)
    total = sum(sizes)
    within = sum(size * (size - 1) for size in sizes)
    return 1 - within / (total * (total - 1)) if total > 1 else 0.0


def _uplinks(leaves: Sequence[LeafSwitch]) -> list[FabricUplinks]:
    known = [leaf for leaf in leaves if leaf.oversubscription_ratio is not None]
    if not known:
        return []
    worst = max(known, key=lambda leaf: leaf.oversubscription_ratio or 0.0)
    return [
        FabricUplinks(
            subject=worst.subject,
            sources=_first_sources(known),
            leaves=len(known),
            worst_ratio=worst.oversubscription_ratio or 0.0,
            worst_leaf=worst.name,
            worst_uplinks=worst.uplinks or 0,
            median_ratio=median([leaf.oversubscription_ratio or 0.0 for leaf in known]),
        )
    ]


def _first_sources(leaves: Sequence[LeafSwitch]) -> tuple[Source, ...]:
    return tuple(dict.fromkeys(leaf.sources[0] for leaf in leaves))[:3]
