"""How far two PCI devices are from each other in a tree, in the words of `nvidia-smi topo`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from collectors.base import Block
from diagnose.facts import Fact, Subject
from diagnose.facts.topology import GpuAffinity, GpuNicPath


@dataclass(frozen=True, slots=True)
class Place:
    """Where a device hangs: the bridges above it from the root down, its host bridge, its NUMA node."""

    bridges: tuple[str, ...]
    host_bridge: str
    numa_node: int | None


@dataclass(frozen=True, slots=True)
class Placed:
    """A device, how facts name it, and where it hangs."""

    subject: Subject
    place: Place
    line: int


def connection(first: Place, second: Place, bridges_of_switch: int) -> str | None:
    """`PIX`, `PXB`, `PHB`, `NODE` or `SYS`; None where the NUMA nodes are not known.

    `bridges_of_switch` is 1 where the tree shows a switch as one bridge and 2 where it shows the ports at both sides.
    """
    shared = 0
    for left, right in zip(first.bridges, second.bridges, strict=False):
        if left != right:
            break
        shared += 1
    if shared > 0:
        between = len(first.bridges) + len(second.bridges) - 2 * shared
        return "PIX" if between <= 2 * (bridges_of_switch - 1) else "PXB"
    if first.numa_node is None or second.numa_node is None:
        return None
    if first.numa_node != second.numa_node:
        return "SYS"
    return "PHB" if first.host_bridge == second.host_bridge else "NODE"


def gpu_nic_facts(
    gpus: Sequence[Placed], nics: Sequence[Placed], block: Block, bridges_of_switch: int
) -> Iterator[Fact]:
    """The path of every GPU to every NIC, and the NUMA node of every GPU."""
    for gpu in gpus:
        if gpu.place.numa_node is not None:
            yield GpuAffinity(subject=gpu.subject, sources=(block.source(gpu.line),), numa_node=gpu.place.numa_node)
        for nic in nics:
            found = connection(gpu.place, nic.place, bridges_of_switch)
            if found is not None and nic.subject.nic is not None:
                yield GpuNicPath(
                    subject=gpu.subject.model_copy(update={"nic": nic.subject.nic}),
                    sources=(block.source(gpu.line),),
                    connection=found,
                )
