from __future__ import annotations

from typing import Any

from diagnose.analysis.sharing import features
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.gpu import GpuMig, GpuProcess
from diagnose.facts.network import NetworkInterface
from diagnose.facts.placement import LeafSwitch
from diagnose.facts.process import ProcessPlacement
from diagnose.facts.sharing import Isolation, PoolIntrusion, ResourceSharing, SchedulingNode, Workload
from diagnose.facts.topology import GpuAffinity, GpuNicPath, GpuPath

SOURCES = (Source(path="x", line=1),)


def of(kind: type[Fact], subject: Subject | None = None, **values: Any) -> Fact:
    return kind(subject=subject or Subject(), sources=SOURCES, **values)


def job(name: str, role: str, node: str, **more: Any) -> Fact:
    return of(Workload, name=name, role=role, system="slurm", job=name, node=node, running=True, **more)


def process(name: str, number: int, *gpus: int, host: str | None = None) -> list[Fact]:
    return [of(GpuProcess, Subject(host=host, gpu_index=gpu, process_id=number), name=name) for gpu in gpus]


def shared(facts: list[Fact]) -> list[tuple[str, str | None, bool, bool | None]]:
    found = [fact for fact in features(facts) if isinstance(fact, ResourceSharing)]
    return [(one.resource, one.item, one.certain, one.isolated) for one in found]


def test_two_processes_of_different_roles_on_one_gpu_share_it_and_its_memory() -> None:
    facts = [*process("VLLM::EngineCore", 10, 0), *process("/usr/bin/torchrun", 11, 0, 1)]
    assert shared(facts) == [("gpu", "GPU 0", True, None), ("gpu-memory-bandwidth", "GPU 0", True, None)]
    (first, _) = features(facts)
    assert first.subject.gpu_index == 0


def test_multi_instance_mode_keeps_them_apart() -> None:
    facts = [*process("VLLM::EngineCore", 10, 0), *process("torchrun", 11, 0)]
    mig = of(GpuMig, Subject(gpu_index=0), enabled=True)
    assert [one[3] for one in shared([*facts, mig])] == [True, True]
    assert [one[3] for one in shared([*facts, of(GpuMig, Subject(gpu_index=1), enabled=True)])] == [None, None]


def test_one_role_alone_shares_nothing() -> None:
    assert features([*process("VLLM::EngineCore", 10, 0), *process("VLLM::Worker_TP1", 11, 1)]) == []
    assert features([*process("python3", 10, 0), *process("python3", 11, 0)]) == []
    assert features([of(GpuMig, Subject(gpu_index=0), enabled=False)]) == []


def test_gpus_below_one_switch_share_its_link() -> None:
    paths = [
        of(GpuPath, Subject(gpu_index=0), peer="1", connection="PIX", label="PIX"),
        of(GpuNicPath, Subject(gpu_index=0, nic="mlx5_0"), connection="PXB"),
        of(GpuPath, Subject(gpu_index=0), peer="2", connection="SYS", label="SYS"),
    ]
    near = [*process("sglang::scheduler", 10, 0), *process("torchrun", 11, 1)]
    far = [*process("sglang::scheduler", 10, 0), *process("torchrun", 11, 2)]
    assert shared([*paths, *near]) == [("pcie-switch", "the switch of GPUs 0 1 and mlx5_0", True, None)]
    assert shared([*paths, *far]) == []


def test_processes_that_may_run_on_the_same_cpus_share_them() -> None:
    def placed(name: str, number: int, cpus: str) -> Fact:
        return of(ProcessPlacement, Subject(gpu_index=0, process_id=number), name=name, cpus=cpus, bound=True)

    together = [placed("vllm", 10, "0-7"), placed("torchrun", 11, "4-15")]
    assert ("cpu-cores", "CPUs 4-7", True, None) in shared(together)
    apart = features([placed("vllm", 10, "0-7"), placed("torchrun", 11, "8-15")])
    assert [fact.in_force for fact in apart if isinstance(fact, Isolation)] == [True]
    assert not any(fact.resource == "cpu-cores" for fact in apart if isinstance(fact, ResourceSharing))


def test_numa_nodes_are_shared_only_where_there_are_several() -> None:
    both = [*process("vllm", 10, 0), *process("torchrun", 11, 1)]
    affinity = [of(GpuAffinity, Subject(gpu_index=gpu), numa_node=0) for gpu in (0, 1)]
    paths = [of(GpuPath, Subject(gpu_index=0), peer=str(gpu), connection="SYS", label="SYS") for gpu in (1, 2)]
    other = of(GpuAffinity, Subject(gpu_index=2), numa_node=1)
    assert shared([*both, *paths, *affinity]) == []
    assert shared([*both, *paths, *affinity, other]) == [("numa-node", "NUMA node 0", True, None)]


def test_jobs_on_one_node_share_its_only_port_when_training_spans_nodes() -> None:
    jobs = [job("chat", "inference", "n1"), job("llm", "training", "n1", nodes=4)]
    port = of(NetworkInterface, Subject(host="n1.example", nic="eth0"), link_detected=True)
    second = of(NetworkInterface, Subject(host="n1.example", nic="eth1"), link_detected=True)
    assert shared([*jobs, port]) == [("nic", "eth0", True, None)]
    assert shared([*jobs, port, second]) == [("nic", "eth0 eth1", False, None)]
    assert shared([jobs[0], job("llm", "training", "n1", nodes=1), port]) == []
    found = features([*jobs, port])
    assert {fact.subject.host for fact in found} == {"n1.example"}


def test_other_nodes_of_the_listing_are_not_taken_for_the_machine_at_hand() -> None:
    jobs = [job("chat", "inference", "n2"), job("llm", "training", "n2", nodes=4)]
    here = of(NetworkInterface, Subject(host="n1", nic="eth0"), link_detected=True)
    assert features([*jobs, here]) == []


def test_jobs_that_did_not_run_at_the_same_time_share_nothing() -> None:
    def times(start: float, end: float) -> dict[str, Any]:
        return {"start_unix_seconds": start, "end_unix_seconds": end, "clock": "local", "nodes": 2}

    def both(start: float) -> list[Fact]:
        return [
            job("chat", "inference", "n1", **times(0, 100)),
            job("llm", "training", "n1", **times(start, start + 50)),
        ]

    (one,) = (fact for fact in features(both(80)) if isinstance(fact, ResourceSharing))
    assert one.overlap_seconds == 20
    assert features(both(200)) == []


def test_training_on_a_node_of_the_serving_pool_intrudes() -> None:
    def node(name: str, taints: str) -> Fact:
        return of(SchedulingNode, node=name, system="kubernetes", pool="online", pool_role="inference", taints=taints)

    pod = of(
        Workload, name="sft-0", role="training", system="kubernetes", job="a/sft-0", node="n1", pool="a", running=True
    )
    (guard, intrusion) = features([pod, node("n1", ""), node("n2", "pool=online:NoSchedule")])
    assert isinstance(guard, Isolation)
    assert (guard.mechanism, guard.in_force, guard.subject.host) == ("taint", False, "n1")
    assert isinstance(intrusion, PoolIntrusion)
    assert (intrusion.guarded, intrusion.others_guarded, intrusion.pool_role) == (False, 1, "inference")
    training_node = of(SchedulingNode, node="n1", system="kubernetes", pool="batch", pool_role="training", taints="")
    assert not any(isinstance(fact, PoolIntrusion) for fact in features([pod, training_node]))


def test_what_processes_tell_does_not_hide_what_the_scheduler_did() -> None:
    facts = [*process("vllm", 10, 0), *process("torchrun", 11, 0), job("chat", "inference", "n1")]
    found = features([*facts, job("llm", "training", "n1", pool="batch")])
    (intrusion,) = (fact for fact in found if isinstance(fact, PoolIntrusion))
    assert (intrusion.training, intrusion.inference, intrusion.training_pool) == ("llm", "chat", "batch")
    assert {fact.training for fact in found if isinstance(fact, ResourceSharing)} == {"torchrun"}


def test_a_leaf_switch_is_shared_by_nodes_when_training_leaves_it() -> None:
    leaf = of(LeafSwitch, name="leaf1", nodes=2, node_names="n1 n2")
    serving = job("chat", "inference", "n1")
    across = [job("llm", "training", name, nodes=2) for name in ("n2", "n3")]
    within = [job("llm", "training", name, nodes=2) for name in ("n2", "n4")]
    assert shared([leaf, serving, *across]) == [("uplink-switch", "leaf1", True, None)]
    inside = of(LeafSwitch, name="leaf1", nodes=3, node_names="n1 n2 n4")
    assert shared([inside, serving, *within]) == []
