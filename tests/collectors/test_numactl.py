from __future__ import annotations

from typing import Any

from collectors.numactl import Numactl
from tests.collectors.helpers import block, damaged, opened

HARDWARE = """\
available: 3 nodes (0-2)
node 0 cpus: 0 1 2 3 8 9 10 11
node 0 size: 257640 MB
node 0 free: 1000 MB
node 1 cpus: 4 5 6 7 12 13 14 15
node 1 size: 258041 MB
node 1 free: 200000 MB
node 2 cpus:
node 2 size: 97280 MB
node 2 free: 97000 MB
node distances:
node   0   1   2
  0:  10  21  80
  1:  21  10  80
  2:  80  80  10
"""
SHOW = """\
policy: default
preferred node: current
physcpubind: 0 1 2 3
cpubind: 0 1
nodebind: 0 1
membind: 0 1
"""


def facts(text: str, kind: str) -> list[Any]:
    return [fact for fact in Numactl.parse(block(text)).facts if fact.kind == kind]


def test_nodes_have_cpus_and_memory() -> None:
    first, _, memory_only = facts(HARDWARE, "numa-node")
    assert first.values() == {
        "cpus": "0-3,8-11",
        "cpu_count": 8,
        "memory_total_bytes": 257640 << 20,
        "memory_free_bytes": 1000 << 20,
    }
    assert (memory_only.subject.numa_node, memory_only.cpu_count, memory_only.cpus) == (2, 0, None)


def test_distances_are_by_pair() -> None:
    distances = {(fact.subject.numa_node, fact.to_node): fact.distance for fact in facts(HARDWARE, "numa-distance")}
    assert distances == {(i, j): 10 if i == j else 80 if 2 in (i, j) else 21 for i in range(3) for j in range(3)}


def test_columns_with_gaps_keep_their_node_numbers() -> None:
    text = "node distances:\nnode   0   8\n  0:  10  40\n  8:  40  10\n"
    assert {fact.to_node for fact in facts(text, "numa-distance")} == {0, 8}


def test_a_missing_size_is_not_zero() -> None:
    (node,) = facts("node 0 cpus: 0 1\n", "numa-node")
    assert node.memory_total_bytes is None


def test_the_policy_of_a_process_is_recognised_and_says_nothing_of_the_machine() -> None:
    assert opened(Numactl, SHOW) == ["policy: default"]
    assert Numactl.parse(block(SHOW)).facts == []


def test_fragments_resemble() -> None:
    assert Numactl.resembles(HARDWARE.splitlines()[4:]) >= 0.5
    assert Numactl.resembles(["loss: 1.0", "step: 2"]) == 0.0


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(HARDWARE + SHOW):
        Numactl.parse(block(text))
