"""Who shares what: resources that an inference and a training workload both use, from placement and topology."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from diagnose.analysis.isolation import isolations, pool_taints
from diagnose.analysis.topology_graph import TopologyGraph, topology_graph
from diagnose.analysis.workloads import (
    Homes,
    Placed,
    listed_workloads,
    placed_workloads,
    short,
    subject_of,
)
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.cpu_lists import format_cpu_list
from diagnose.facts.nccl import NcclNetwork
from diagnose.facts.network import NetworkInterface, RdmaPort
from diagnose.facts.placement import LeafSwitch
from diagnose.facts.sharing import Isolation, PoolIntrusion, ResourceSharing, SchedulingNode
from diagnose.facts.workload_roles import INFERENCE, TRAINING

MOST_PAIRS = 8
"""Pairs of workloads of one host that are looked at: more would say the same again."""
MOST_HOSTS = 64
"""Hosts that are told of when no other input is about one of them."""


def features(facts: Sequence[Fact]) -> list[Fact]:
    """Sharing, isolation and intrusions of all hosts."""
    workloads = placed_workloads(facts)
    guards = isolations(facts, workloads)
    if not workloads:
        # What keeps workloads apart says something only where workloads are known.
        return []
    by_host: dict[str | None, list[Fact]] = defaultdict(list)
    for fact in facts:
        by_host[fact.subject.host].append(fact)
    known = set(Homes.of(facts).hosts.values())
    hosts = dict.fromkeys(one.host for one in workloads)
    wanted = [host for host in hosts if host is None or host in known or not known][:MOST_HOSTS]
    found: list[Fact] = [guard for guard in guards if guard.subject.host in wanted]
    listed: dict[str | None, list[Placed]] = defaultdict(list)
    for one in listed_workloads(facts):
        listed[one.host].append(one)
    for host in wanted:
        own = [guard for guard in guards if guard.subject.host == host]
        pairs = _pairs(workloads, host)
        found += _shared(by_host[host], pairs, own)
        found += _intrusions(facts, listed[host])
    found += _leaf_uplinks(facts, workloads, wanted)
    return found


def _pairs(workloads: Sequence[Placed], host: str | None) -> list[tuple[Placed, Placed]]:
    """Inference and training that ran on a host at the same time."""
    serving = [one for one in workloads if one.host == host and one.role == INFERENCE]
    training = [one for one in workloads if one.host == host and one.role == TRAINING]
    pairs = [(first, second) for first in serving for second in training if first.ran_with(second)]
    return pairs[:MOST_PAIRS]


def _shared(
    facts: Sequence[Fact], pairs: Sequence[tuple[Placed, Placed]], guards: Sequence[Isolation]
) -> Iterator[ResourceSharing]:
    if not pairs:
        return
    graph = topology_graph(facts)
    subjects = {fact.subject.gpu: fact.subject for fact in facts if fact.subject.gpu is not None}
    for serving, training in pairs:
        yield from _gpus(serving, training, guards, subjects)
        yield from _switches(serving, training, graph, subjects)
        yield from _cores(serving, training, guards)
        yield from _numa_nodes(serving, training, graph)
    yield from _nics(facts, pairs)


def _sharing(
    serving: Placed,
    training: Placed,
    resource: str,
    certain: bool,
    item: str | None = None,
    guard: Isolation | None = None,
    subject: Subject | None = None,
    sources: tuple[Source, ...] = (),
) -> ResourceSharing:
    return ResourceSharing(
        subject=subject or subject_of(serving),
        sources=tuple(dict.fromkeys((*serving.sources[:1], *training.sources[:1], *sources))),
        resource=resource,
        item=item,
        inference=serving.name,
        training=training.name,
        inference_gpus=" ".join(sorted(serving.gpus)) or None,
        training_gpus=" ".join(sorted(training.gpus)) or None,
        certain=certain,
        isolated=None if guard is None else guard.in_force,
        isolation=None if guard is None else guard.detail,
        overlap_seconds=serving.overlap_seconds(training),
    )


def _guard(guards: Sequence[Isolation], protects: str) -> Isolation | None:
    """The mechanism that is in force, else one that is not, else None."""
    fitting = [guard for guard in guards if guard.protects == protects]
    return next((guard for guard in fitting if guard.in_force), fitting[0] if fitting else None)


def _gpus(
    serving: Placed, training: Placed, guards: Sequence[Isolation], subjects: Mapping[str, Subject]
) -> Iterator[ResourceSharing]:
    for gpu in sorted(serving.gpus & training.gpus):
        about = _of_gpu(subjects.get(gpu, Subject()), serving.host)
        own = [guard for guard in guards if guard.subject.gpu in (None, gpu)]
        # Shares of MPS limit multiprocessors; the memory's bandwidth is anybody's.
        memory = _guard([guard for guard in own if guard.mechanism == "mig"], "gpu")
        yield _sharing(serving, training, "gpu", True, f"GPU {gpu}", _guard(own, "gpu"), about)
        yield _sharing(serving, training, "gpu-memory-bandwidth", True, f"GPU {gpu}", memory, about)


def _of_gpu(subject: Subject, host: str | None) -> Subject:
    """The GPU of a subject, without what else it names."""
    return Subject(host=host, gpu_index=subject.gpu_index, gpu_uuid=subject.gpu_uuid, gpu_bus_id=subject.gpu_bus_id)


def _switches(
    serving: Placed, training: Placed, graph: TopologyGraph, subjects: Mapping[str, Subject]
) -> Iterator[ResourceSharing]:
    for uplink in graph.shared_uplinks():
        mine, others = sorted(serving.gpus & set(uplink.gpus)), sorted(training.gpus & set(uplink.gpus))
        if not mine or not others or mine == others:
            continue
        words = f"GPUs {' '.join(uplink.gpus)}" + (f" and {' '.join(uplink.nics)}" if uplink.nics else "")
        item = f"bridge {uplink.bridge} of {words}" if uplink.bridge else f"the switch of {words}"
        about = _of_gpu(subjects.get(mine[0], Subject()), serving.host)
        yield _sharing(serving, training, "pcie-switch", True, item, subject=about)


def _cores(serving: Placed, training: Placed, guards: Sequence[Isolation]) -> Iterator[ResourceSharing]:
    common = serving.cpus & training.cpus
    quota = _guard([guard for guard in guards if guard.mechanism == "cpu-quota"], "cpu-cores")
    if common:
        yield _sharing(serving, training, "cpu-cores", True, f"CPUs {format_cpu_list(common)}", quota)
    elif not (serving.cpus and training.cpus) and serving.system == training.system == "kubernetes":
        floating = {serving.qos, training.qos} & {"Burstable", "BestEffort"}
        if floating:
            yield _sharing(serving, training, "cpu-cores", serving.qos in floating, "the CPUs that no pod has alone")


def _numa_nodes(serving: Placed, training: Placed, graph: TopologyGraph) -> Iterator[ResourceSharing]:
    mine, others = ({graph.numa[gpu] for gpu in one.gpus if gpu in graph.numa} for one in (serving, training))
    if len(set(graph.numa.values())) > 1:
        for node in sorted(mine & others):
            yield _sharing(serving, training, "numa-node", True, f"NUMA node {node}")


def _nics(facts: Sequence[Fact], pairs: Sequence[tuple[Placed, Placed]]) -> Iterator[ResourceSharing]:
    """Certain where the host has one port to the network; otherwise only that the node's ports are common."""
    spread = [(serving, training) for serving, training in pairs if training.nodes > 1]
    ports = _ports(facts)
    chosen = {name for fact in facts if isinstance(fact, NcclNetwork) for name in (fact.devices or "").split()}
    for serving, training in spread:
        if len(ports) == 1:
            ((name, source),) = ports.items()
            about = Subject(host=serving.host, nic=name)
            yield _sharing(serving, training, "nic", True, name, subject=about, sources=(source,))
        else:
            names = " ".join(sorted(chosen or ports)) or None
            yield _sharing(serving, training, "nic", False, names)


def _ports(facts: Sequence[Fact]) -> dict[str, Source]:
    """Ports with a link; an RDMA device and the interface on it are one."""
    found: dict[str, Source] = {}
    rdma: set[str] = set()
    for fact in facts:
        nic = fact.subject.nic
        if nic is None:
            continue
        if isinstance(fact, NetworkInterface):
            up = fact.link_detected is True or fact.operational_state == "up"
            if up and fact.link_type != "loopback" and nic != "lo" and fact.rdma_device not in found:
                found.setdefault(nic, fact.sources[0])
                rdma |= {fact.rdma_device} if fact.rdma_device else set()
        elif isinstance(fact, RdmaPort) and fact.state == "active" and fact.network_interface not in found:
            found.setdefault(nic, fact.sources[0])
    return {name: source for name, source in found.items() if name not in rdma}


def _intrusions(facts: Sequence[Fact], workloads: Sequence[Placed]) -> Iterator[PoolIntrusion]:
    homes = Homes.of(facts)
    nodes = {homes.host_of(fact.node, fact.subject.host): fact for fact in facts if isinstance(fact, SchedulingNode)}
    for training in (one for one in workloads if one.role == TRAINING and one.node is not None):
        node = nodes.get(training.host)
        together = [one for one in workloads if one.role == INFERENCE and one.ran_with(training)]
        role = node.pool_role if node is not None else None
        if not together and role != INFERENCE:
            continue
        guards = pool_taints(node) if node is not None and node.system == "kubernetes" else []
        knows_taints = node is not None and node.taints is not None
        yield PoolIntrusion(
            subject=Subject(host=training.host),
            sources=(*training.sources, *(node.sources if node is not None else ())),
            node=training.node or "",
            pool=node.pool if node is not None else together[0].pool if together else None,
            pool_role=role,
            training=training.name,
            training_pool=training.pool,
            inference=together[0].name if together else None,
            guarded=bool(guards) if knows_taints else None,
            guard=guards[0] if guards else None,
            others_guarded=_others_guarded(facts, node) if node is not None and knows_taints else None,
            system=training.system,
            running=training.running,
        )


def _others_guarded(facts: Sequence[Fact], node: SchedulingNode) -> int | None:
    """Other nodes of the pool with a taint that this one lacks."""
    if node.pool is None or pool_taints(node):
        return None
    return sum(
        isinstance(fact, SchedulingNode) and fact.pool == node.pool and bool(pool_taints(fact)) for fact in facts
    )


def _leaf_uplinks(
    facts: Sequence[Fact], workloads: Sequence[Placed], wanted: Sequence[str | None]
) -> Iterator[ResourceSharing]:
    """Inference on a node whose leaf switch also carries a training job that leaves the leaf."""
    leaves = [fact for fact in facts if isinstance(fact, LeafSwitch)]
    training: dict[str, list[Placed]] = defaultdict(list)
    for one in workloads:
        if one.role == TRAINING and one.node is not None and one.nodes > 1:
            training[one.name].append(one)
    for leaf in leaves if training else ():
        members = {short(name) for name in leaf.node_names.split()}
        for serving in workloads:
            if serving.role != INFERENCE or serving.node is None or short(serving.node) not in members:
                continue
            for ranks in training.values():
                here = [rank for rank in ranks if short(rank.node or "") in members and rank.ran_with(serving)]
                leaves_it = any(short(rank.node or "") not in members for rank in ranks)
                if here and leaves_it and serving.host in wanted and all(rank.host != serving.host for rank in here):
                    yield _sharing(serving, here[0], "uplink-switch", True, leaf.name, sources=leaf.sources[:1])
