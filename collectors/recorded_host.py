"""The host's recorded tree: memory nodes, and by way of the other modules settings, load and control groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from collectors.recorded_groups import control_groups, stalls
from collectors.recorded_load import load
from collectors.recorded_settings import settings
from collectors.recorded_tree import RecordedTree, RecordedTreeCollector, whole
from diagnose.facts import Fact, Subject
from diagnose.facts.cpu_lists import parse_cpu_list
from diagnose.facts.host import FilesystemUsage, NumaDistance, NumaNode

_NODES = "sys/devices/system/node"
_NODE = re.compile(r"^node(\d{1,5})$")
_AMOUNT = re.compile(r"\b(MemTotal|MemFree):\s+(\d{1,15}) kB")


class RecordedHost(RecordedTreeCollector):
    """What the host recorder writes."""

    kind: ClassVar[str] = "recorded-host"
    about: ClassVar[str] = "host"

    @classmethod
    def facts(cls, tree: RecordedTree, host: Subject) -> Iterator[Fact]:
        """Nodes first."""
        yield from _nodes(tree, host)
        yield from shared_memory(tree, host, "dev/shm")
        yield from settings(tree, host)
        yield from load(tree, host)
        for resource in ("cpu", "memory", "io"):
            yield from stalls(tree, host, f"proc/pressure/{resource}", resource)
        yield from control_groups(tree, host)


def shared_memory(tree: RecordedTree, subject: Subject, path: str) -> Iterator[Fact]:
    """Size of /dev/shm, of the host or as a process sees it."""
    entry = tree.last(f"{path} (space)")
    sizes = {}
    for line in entry.lines if entry is not None else ():
        name, _, value = line.partition(" ")
        if (number := whole(value)) is not None:
            sizes[name] = number
    size, free = sizes.get("size_bytes"), sizes.get("free_bytes")
    if size:
        yield FilesystemUsage(
            subject=subject,
            sources=tree.source(f"{path} (space)"),
            mount="/dev/shm",
            size_bytes=size,
            used_bytes=size - free if free is not None else None,
            available_bytes=sizes.get("available_bytes"),
        )


def _nodes(tree: RecordedTree, host: Subject) -> Iterator[Fact]:
    numbers = sorted(int(match[1]) for name in tree.names(_NODES) if (match := _NODE.match(name)))
    distances: list[Fact] = []
    for number in numbers:
        path = f"{_NODES}/node{number}"
        subject = host.model_copy(update={"numa_node": number})
        memory = {match[1]: int(match[2]) << 10 for match in _AMOUNT.finditer(tree.text(f"{path}/meminfo") or "")}
        entry = tree.last(f"{path}/cpulist")
        cpus = tree.text(f"{path}/cpulist")
        yield NumaNode(
            subject=subject,
            sources=tree.source(f"{path}/cpulist", f"{path}/meminfo"),
            cpus=cpus,
            cpu_count=len(parse_cpu_list(cpus)) if entry is not None else None,
            memory_total_bytes=memory.get("MemTotal"),
            memory_free_bytes=memory.get("MemFree"),
        )
        for other, word in zip(numbers, (tree.text(f"{path}/distance") or "").split(), strict=False):
            if (distance := whole(word)) is not None:
                distances.append(
                    NumaDistance(
                        subject=subject, sources=tree.source(f"{path}/distance"), to_node=other, distance=distance
                    )
                )
    yield from distances
