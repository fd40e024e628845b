from __future__ import annotations

from typing import Any

from collectors.merge import merge
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.gpu import GpuLoad
from diagnose.facts.host import NumaDistance, NumaNode
from diagnose.facts.pcie import PciAcs


def fact(model: type[Fact], path: str = "a.txt", host: str | None = "node01", **fields: Any) -> Fact:
    subject = {name: fields.pop(name) for name in ("numa_node", "bus_id", "gpu_index") if name in fields}
    return model.model_validate({"subject": Subject(host=host, **subject), "sources": (Source(path=path),), **fields})


def test_a_node_that_two_sources_list_is_one_node_with_both_sources() -> None:
    (node,) = merge(
        [
            fact(NumaNode, numa_node=0, cpus="0,1", cpu_count=2),
            fact(NumaNode, "b.txt", numa_node=0, cpus="0-1", cpu_count=2, memory_total_bytes=8),
        ]
    )
    assert node.values() == {"cpus": "0,1", "cpu_count": 2, "memory_total_bytes": 8}
    assert [source.path for source in node.sources] == ["a.txt", "b.txt"]


def test_sources_that_disagree_stay_apart() -> None:
    before = fact(PciAcs, bus_id="0000:01:00.0", request_redirect=True)
    after = fact(PciAcs, bus_id="0000:01:00.0", request_redirect=False)
    assert merge([before, after, after]) == [before, after]


def test_distances_to_different_nodes_stay_apart() -> None:
    facts = [fact(NumaDistance, numa_node=0, to_node=to, distance=10) for to in (0, 1)]
    assert merge(facts) == facts


def test_hosts_without_a_name_may_be_different_machines() -> None:
    facts = [fact(NumaNode, path, host=None, numa_node=0, cpu_count=2) for path in ("a.txt", "b.txt")]
    assert merge(facts) == facts


def test_observations_that_change_with_time_stay_apart() -> None:
    facts = [fact(GpuLoad, path, gpu_index=0, gpu_utilization_ratio=0.5) for path in ("a.txt", "b.txt")]
    assert merge(facts) == facts
