from __future__ import annotations

from itertools import combinations

from diagnose.analysis.boundaries import known_boundaries
from diagnose.analysis.scaling_models import Boundary
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.host import GpuInventory
from diagnose.facts.topology import GpuAffinity, GpuPath

SOURCES = (Source(path="topo.txt", line=1),)


def path(first: int, second: int, connection: str) -> GpuPath:
    subject = Subject(gpu_index=first)
    return GpuPath(subject=subject, sources=SOURCES, peer=str(second), connection=connection, label=connection)


def machine(gpus: int, island: int, node: int) -> list[Fact]:
    facts: list[Fact] = [GpuInventory(sources=SOURCES, listed=gpus, tool="nvidia-smi")]
    for first, second in combinations(range(gpus), 2):
        facts.append(path(first, second, "NV" if first // island == second // island else "SYS"))
    for gpu in range(gpus):
        facts.append(GpuAffinity(subject=Subject(gpu_index=gpu), sources=SOURCES, numa_node=gpu // node))
    return facts


def test_parts_of_equal_size_are_boundaries() -> None:
    found = known_boundaries(machine(8, island=2, node=4))
    assert found == [Boundary(8, "node"), Boundary(4, "numa-node"), Boundary(2, "nvlink-island")]


def test_one_island_is_no_boundary_within_the_node() -> None:
    assert known_boundaries(machine(8, island=8, node=8)) == [Boundary(8, "node")]


def test_parts_of_different_size_are_no_boundary() -> None:
    assert known_boundaries(machine(6, island=1, node=4)) == [Boundary(6, "node")]


def test_nothing_known_gives_none() -> None:
    assert known_boundaries([]) == []
