"""What keeps workloads apart on a host, and whether it is in force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diagnose.analysis.workloads import Homes, Placed
from diagnose.facts import Fact, Subject
from diagnose.facts.gpu import GpuIdentity, GpuMig, GpuProcess
from diagnose.facts.load import ControlGroup
from diagnose.facts.process import ProcessEnvironment
from diagnose.facts.sharing import Isolation, SchedulingNode
from diagnose.facts.workload_roles import INFERENCE, TRAINING, role_of

_EFFECTS = (":NoSchedule", ":NoExecute")
_SYSTEM_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "nvidia.com/gpu")
MPS_SHARE = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"


def isolations(facts: Sequence[Fact], workloads: Sequence[Placed]) -> list[Isolation]:
    """Every mechanism that facts tell of."""
    found = [*_of_gpus(facts), *_of_processors(facts, workloads), *_of_nodes(facts, workloads)]
    return list({(one.subject, one.mechanism, one.protects): one for one in found}.values())


def pool_taints(node: SchedulingNode) -> list[str]:
    """Taints that keep pods of another pool out."""
    return [
        taint
        for taint in (node.taints or "").split()
        if taint.endswith(_EFFECTS) and not taint.startswith(_SYSTEM_TAINTS)
    ]


def _of_gpus(facts: Sequence[Fact]) -> Iterator[Isolation]:
    servers = {
        fact.subject.host
        for fact in facts
        if isinstance(fact, GpuProcess) and ("mps-server" in (fact.name or "") or (fact.type or "").startswith("M"))
    }
    for fact in facts:
        if isinstance(fact, GpuMig) and fact.enabled is not None:
            words = "MIG is on" if fact.enabled else "MIG is off"
            yield _isolation(fact, fact.subject, "mig", fact.enabled, "gpu", words)
        elif isinstance(fact, GpuIdentity) and (fact.compute_mode or "").lower().startswith("exclusive"):
            words = f"compute mode {fact.compute_mode}: one process at a time"
            yield _isolation(fact, fact.subject, "compute-mode", True, "gpu", words)
        elif isinstance(fact, ProcessEnvironment) and fact.name == MPS_SHARE and fact.number is not None:
            limits = fact.number < 100
            in_force = (fact.subject.host in servers) if limits else False
            words = f"process {fact.subject.process_id} has {MPS_SHARE}={fact.number}"
            words += "" if in_force or not limits else ", and no MPS server is seen"
            yield _isolation(fact, Subject(host=fact.subject.host), "mps-limit", in_force, "gpu", words)


def _of_processors(facts: Sequence[Fact], workloads: Sequence[Placed]) -> Iterator[Isolation]:
    groups = {one.control_group: one for one in workloads if one.control_group is not None and one.role == TRAINING}
    for fact in facts:
        if isinstance(fact, ControlGroup) and fact.quota_cpus is not None and fact.path in groups:
            words = f"{groups[fact.path].name} may use {fact.quota_cpus:g} CPUs' worth of time"
            yield _isolation(fact, Subject(host=fact.subject.host), "cpu-quota", True, "cpu-cores", words)
    for serving in (one for one in workloads if one.role == INFERENCE and one.cpus):
        for training in (one for one in workloads if one.role == TRAINING and one.cpus and one.host == serving.host):
            apart = not serving.cpus & training.cpus
            if apart or serving.bound is False or training.bound is False:
                words = f"{serving.name} and {training.name} may run on " + (
                    "different CPUs" if apart else f"{len(serving.cpus & training.cpus)} CPUs in common"
                )
                yield Isolation(
                    subject=Subject(host=serving.host),
                    sources=(*serving.sources[:1], *training.sources[:1]),
                    mechanism="cpuset",
                    in_force=apart,
                    protects="cpu-cores",
                    detail=words,
                )


def _of_nodes(facts: Sequence[Fact], workloads: Sequence[Placed]) -> Iterator[Isolation]:
    homes = Homes.of(facts)
    for one in workloads:
        if one.role == INFERENCE and one.exclusive is not None and one.node is not None:
            words = f"{one.name} has {'the node to itself' if one.exclusive else 'no exclusive use of the node'}"
            yield Isolation(
                subject=Subject(host=one.host),
                sources=one.sources,
                mechanism="exclusive-node",
                in_force=one.exclusive,
                protects="node",
                detail=words,
            )
    for fact in facts:
        if isinstance(fact, SchedulingNode):
            yield from _of_node(fact, Subject(host=homes.host_of(fact.node, fact.subject.host)))


def _of_node(node: SchedulingNode, subject: Subject) -> Iterator[Isolation]:
    if node.taints is not None:
        taints = pool_taints(node)
        words = f"taint {taints[0]}" if taints else "no taint keeps pods of other pools out"
        yield _isolation(node, subject, "taint", bool(taints), "node", words)
    if node.system == "slurm" and node.pool:
        roles = {role_of({"partition": partition}).role for partition in node.pool.split()}
        if INFERENCE in roles:
            apart = roles == {INFERENCE}
            words = f"the node is in the partitions {node.pool}" if not apart else f"only partition {node.pool} has it"
            yield _isolation(node, subject, "partition", apart, "node", words)
    if node.cpu_manager_policy is not None:
        static = node.cpu_manager_policy in ("static", "true")
        yield _isolation(
            node, subject, "cpu-manager", static, "cpu-cores", f"CPU manager policy {node.cpu_manager_policy}"
        )


def _isolation(fact: Fact, subject: Subject, mechanism: str, in_force: bool, protects: str, detail: str) -> Isolation:
    return Isolation(
        subject=subject,
        sources=fact.sources,
        mechanism=mechanism,
        in_force=in_force,
        protects=protects,
        detail=detail,
    )
