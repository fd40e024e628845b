"""What the topology graph adds to the facts it is made of: shared links, and measured pairs against their links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diagnose.analysis.topology_graph import SharedUplink, TopologyGraph, topology_graph
from diagnose.facts import Fact, Source
from diagnose.facts.pcie import PciDevice
from diagnose.facts.topology import GpuNicPath, GpuPath, GpuUplink, PairBandwidthReached, PeerBandwidth


def features(facts: Sequence[Fact]) -> list[Fact]:
    """Facts of one host."""
    graph = topology_graph(facts)
    return [*_uplinks(graph, facts), *_pairs(graph, facts)]


def _uplinks(graph: TopologyGraph, facts: Sequence[Fact]) -> Iterator[Fact]:
    """Each GPU's narrowest shared link: the one of which it has the smallest part."""
    sources: dict[str, list[Fact]] = {}
    for fact in facts:
        if fact.subject.gpu is not None and isinstance(fact, GpuPath | GpuNicPath | PciDevice):
            sources.setdefault(fact.subject.gpu, []).append(fact)
            if isinstance(fact, GpuPath):
                sources.setdefault(fact.peer, []).append(fact)
    shared = graph.shared_uplinks()
    for gpu in graph.gpus:
        mine = [uplink for uplink in shared if gpu in uplink.gpus]
        if not mine or gpu not in sources:
            continue
        uplink = max(mine, key=lambda item: (_oversubscription(graph, item) or 0.0, len(item.gpus)))
        own = next((fact for fact in sources[gpu] if fact.subject.gpu == gpu), None)
        subject = (
            own.subject if own else sources[gpu][0].subject.model_copy(update={"gpu_index": int(gpu), "nic": None})
        )
        yield GpuUplink(
            subject=subject.model_copy(update={"nic": None}),
            sources=_first_sources(sources[gpu]),
            gpus=len(uplink.gpus),
            gpu_names=" ".join(uplink.gpus),
            nics=len(uplink.nics),
            nic_names=" ".join(uplink.nics) or None,
            link=uplink.capacity.name if uplink.capacity else None,
            bridge_bus_id=uplink.bridge,
            bytes_per_second=uplink.capacity.bytes_per_second if uplink.capacity else None,
            oversubscription_ratio=_oversubscription(graph, uplink),
        )


def _oversubscription(graph: TopologyGraph, uplink: SharedUplink) -> float | None:
    rates = [graph.own_rate(gpu, uplink) for gpu in uplink.gpus]
    known = [rate for rate in rates if rate is not None]
    if uplink.capacity is None or len(known) < len(rates):
        return None
    return sum(known) / uplink.capacity.bytes_per_second


def _first_sources(facts: Sequence[Fact]) -> tuple[Source, ...]:
    return tuple(dict.fromkeys(fact.sources[0] for fact in facts))[:4]


def _pairs(graph: TopologyGraph, facts: Sequence[Fact]) -> Iterator[Fact]:
    for fact in facts:
        gpu = fact.subject.gpu
        if not isinstance(fact, PeerBandwidth) or fact.between_hosts or gpu is None:
            continue
        route = graph.gpu_route(gpu, fact.peer)
        if route is None or route.narrowest is None:
            continue
        measured = fact.bytes_per_second / (2 if fact.bidirectional else 1)
        yield PairBandwidthReached(
            subject=fact.subject,
            sources=fact.sources,
            peer=fact.peer,
            connection=route.connection,
            narrowest=route.narrowest.name,
            link_bytes_per_second=route.narrowest.bytes_per_second,
            achievable_ratio=route.narrowest.achievable_ratio,
            bytes_per_second=measured,
            reached_ratio=measured / route.narrowest.bytes_per_second,
            p2p_enabled=fact.p2p_enabled,
            concurrent=fact.concurrent,
        )
