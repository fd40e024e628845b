"""Sizes at which a job on this machine outgrows a fast part of it: a node, an NVLink island, a NUMA node."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from diagnose.analysis.scaling_models import Boundary
from diagnose.facts import Fact
from diagnose.facts.host import GpuInventory
from diagnose.facts.topology import GpuAffinity, GpuPath


def known_boundaries(facts: Sequence[Fact]) -> list[Boundary]:
    """Sizes of parts that are all of one size, the largest part first; jobs are taken to fill them one by one."""
    listed = max((fact.listed for fact in facts if isinstance(fact, GpuInventory)), default=0)
    found = {Boundary(listed, "node"), *_parts(_islands(facts), "nvlink-island"), *_parts(_nodes(facts), "numa-node")}
    sizes: dict[int, Boundary] = {}
    order = {"node": 0, "nvlink-island": 1, "numa-node": 2}
    for boundary in sorted(found, key=lambda item: (-item.gpus, order[item.kind])):
        if boundary.gpus > 1:
            sizes.setdefault(boundary.gpus, boundary)
    return list(sizes.values())


def _parts(sizes: Sequence[int], kind: str) -> list[Boundary]:
    return [Boundary(sizes[0], kind)] if len(sizes) > 1 and len(set(sizes)) == 1 else []


def _nodes(facts: Sequence[Fact]) -> list[int]:
    near: dict[str, int] = {}
    for fact in facts:
        if isinstance(fact, GpuAffinity) and fact.numa_node is not None and fact.subject.gpu is not None:
            near[fact.subject.gpu] = fact.numa_node
    return list(Counter(near.values()).values())


def _islands(facts: Sequence[Fact]) -> list[int]:
    """Sizes of groups that NVLink joins; GPUs without any are groups of one."""
    joined: dict[str, set[str]] = defaultdict(set)
    for fact in facts:
        if isinstance(fact, GpuPath) and fact.subject.gpu is not None:
            first, second = joined[fact.subject.gpu], joined[fact.peer]
            first.add(fact.subject.gpu)
            second.add(fact.peer)
            if fact.connection == "NV":
                group = first | second
                for member in group:
                    joined[member] = group
    return [len(group) for group in {id(group): group for group in joined.values()}.values()]
