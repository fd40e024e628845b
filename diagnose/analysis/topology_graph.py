"""The machine as a graph: GPUs, NICs and bridges as nodes, links with what they carry as edges.

Edges come from the PCI tree where a source shows it, and from the driver's matrix of paths where only that is known;
then which devices share a switch is known, and what the switch's link to the processor carries is not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from diagnose.analysis.link_capacity import Capacity, between_sockets, nvlink, pcie, pcie_generation
from diagnose.facts import Fact
from diagnose.facts.gpu import GpuIdentity, GpuPcieLink
from diagnose.facts.host import CpuTopology
from diagnose.facts.pcie import PciDevice, PciLink
from diagnose.facts.topology import GpuAffinity, GpuNicPath, GpuPath

NEAR = ("PIX", "PXB")
"""Connections below one host bridge: the two share whatever lies between their switch and the processor."""


@dataclass(frozen=True, slots=True)
class Route:
    """How traffic between two devices goes."""

    connection: str
    """`NV`, `PIX`, `PXB`, `PHB`, `NODE` or `SYS`."""
    narrowest: Capacity | None
    """The link that limits it, where every kind of link on the way is known enough to tell."""


@dataclass(frozen=True, slots=True)
class SharedUplink:
    """A link that several devices must pass on their way to the processor."""

    gpus: tuple[str, ...]
    nics: tuple[str, ...]
    capacity: Capacity | None
    bridge: str | None
    """PCI address of the bridge that it hangs at, where the tree is known."""


@dataclass(slots=True)
class TopologyGraph:
    """Built of one host's facts by `topology_graph`."""

    gpus: list[str] = field(default_factory=list)
    """By index where known, in order."""
    nics: list[str] = field(default_factory=list)
    gpu_paths: dict[tuple[str, str], GpuPath] = field(default_factory=dict)
    nic_paths: dict[tuple[str, str], str] = field(default_factory=dict)
    """GPU and NIC to connection."""
    links: dict[str, Capacity] = field(default_factory=dict)
    """GPU, or PCI address of a bridge or NIC, to its own link."""
    upstream: dict[str, str] = field(default_factory=dict)
    """PCI address to that of the bridge above."""
    places: dict[str, str] = field(default_factory=dict)
    """GPU or NIC to its PCI address."""
    numa: dict[str, int] = field(default_factory=dict)
    """GPU or NIC to its NUMA node."""
    products: dict[str, str] = field(default_factory=dict)
    sockets: Capacity | None = None

    def gpu_route(self, first: str, second: str) -> Route | None:
        """Between two GPUs; None where no source tells how they are connected."""
        path = self.gpu_paths.get((first, second)) or self.gpu_paths.get((second, first))
        if path is None:
            return None
        if path.connection == "NV":
            return Route("NV", nvlink(self.products.get(first), path.nvlinks))
        return Route(path.connection, self._narrowest(first, second, path.connection))

    def nic_route(self, gpu: str, nic: str) -> Route | None:
        """Between a GPU and a NIC."""
        connection = self.nic_paths.get((gpu, nic))
        return Route(connection, self._narrowest(gpu, nic, connection)) if connection else None

    def _narrowest(self, first: str, second: str, connection: str) -> Capacity | None:
        """Of both devices' own links, the bridges' links up to where they meet, and the sockets' where they cross."""
        ends = [self.links.get(first), self.links.get(second) or self.links.get(self.places.get(second, ""))]
        if connection == "SYS":
            ends.append(self.sockets)
        if any(end is None for end in ends):
            return None
        above_first, above_second = self._bridges_above(first), self._bridges_above(second)
        # The bridge at which both meet is passed within, not over its own link to what is above.
        apart = [
            bridge for bridge in (*above_first, *above_second) if (bridge in above_first) != (bridge in above_second)
        ]
        on_the_way = [*ends, *(self.links.get(bridge) for bridge in apart)]
        return min((link for link in on_the_way if link is not None), key=lambda link: link.bytes_per_second)

    def _bridges_above(self, device: str) -> list[str]:
        found: list[str] = []
        at = self.upstream.get(self.places.get(device, ""))
        while at is not None and at not in found:
            found.append(at)
            at = self.upstream.get(at)
        return found

    def own_rate(self, gpu: str, uplink: SharedUplink) -> float | None:
        """Bytes per second that a GPU alone could send up to a shared link: the narrowest of what lies before it."""
        links = [self.links.get(gpu)]
        for bridge in self._bridges_above(gpu):
            if bridge == uplink.bridge:
                break
            if bridge in self.links:
                links.append(self.links[bridge])
        return None if links[0] is None else min(link.bytes_per_second for link in links if link is not None)

    def shared_uplinks(self) -> list[SharedUplink]:
        """Links that at least two devices share, one of them a GPU: the narrowest for each set of devices."""
        found = list(self._shared_in_tree()) or list(self._shared_in_matrix())
        return sorted(found, key=lambda uplink: self.gpus.index(uplink.gpus[0]))

    def _shared_in_tree(self) -> Iterator[SharedUplink]:
        below: dict[str, set[str]] = defaultdict(set)
        for device in (*self.gpus, *self.nics):
            for bridge in self._bridges_above(device):
                below[bridge].add(device)
        groups: dict[frozenset[str], list[str]] = defaultdict(list)
        for bridge, devices in below.items():
            if len({self._card(device) for device in devices}) > 1 and devices & set(self.gpus):
                groups[frozenset(devices)].append(bridge)
        for group, bridges in groups.items():
            known = [bridge for bridge in bridges if bridge in self.links]
            bridge = min(known or bridges, key=lambda name: self._rate(name))
            yield SharedUplink(*self._sorted(group), self.links.get(bridge), bridge)

    def _rate(self, bridge: str) -> float:
        link = self.links.get(bridge)
        return link.bytes_per_second if link is not None else 0.0

    def _card(self, device: str) -> str:
        """Functions of one card count once."""
        return self.places.get(device, device).partition(".")[0] if device in self.nics else device

    def _shared_in_matrix(self) -> Iterator[SharedUplink]:
        groups: list[set[str]] = []
        pairs = [pair for pair, path in self.gpu_paths.items() if path.connection in NEAR]
        pairs += [pair for pair, connection in self.nic_paths.items() if connection in NEAR]
        for first, second in pairs:
            joined = {first, second}
            apart = []
            for group in groups:
                if group & joined:
                    joined |= group
                else:
                    apart.append(group)
            groups = [*apart, joined]
        for group in groups:
            yield SharedUplink(*self._sorted(frozenset(group)), None, None)

    def _sorted(self, devices: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (
            tuple(gpu for gpu in self.gpus if gpu in devices),
            tuple(nic for nic in self.nics if nic in devices),
        )


def topology_graph(facts: Sequence[Fact]) -> TopologyGraph:
    """The graph that the facts of one host show; empty where they show none."""
    graph = TopologyGraph()
    gpus: dict[str, None] = {}
    nics: dict[str, None] = {}
    for fact in facts:
        gpu, nic = fact.subject.gpu, fact.subject.nic
        if isinstance(fact, GpuPath) and gpu is not None:
            graph.gpu_paths[gpu, fact.peer] = fact
            gpus |= {gpu: None, fact.peer: None}
        elif isinstance(fact, GpuNicPath) and gpu is not None and nic is not None:
            graph.nic_paths[gpu, nic] = fact.connection
            gpus[gpu], nics[nic] = None, None
        elif isinstance(fact, PciDevice | PciLink):
            _place(graph, fact, gpus)
        elif isinstance(fact, GpuAffinity) and gpu is not None and fact.numa_node is not None:
            graph.numa[gpu] = fact.numa_node
        elif isinstance(fact, GpuIdentity) and gpu is not None and fact.product_name is not None:
            graph.products[gpu] = fact.product_name
        elif isinstance(fact, CpuTopology):
            graph.sockets = between_sockets(fact.model_name) or graph.sockets
    _name_nics(graph, facts, nics)
    _numa_by_place(graph, facts)
    _driver_links(graph, facts)
    graph.gpus = sorted(gpus, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0, name))
    graph.nics = sorted(nics)
    return graph


def _place(graph: TopologyGraph, fact: PciDevice | PciLink, gpus: dict[str, None]) -> None:
    bus_id, gpu = fact.subject.bus_id, fact.subject.gpu
    if bus_id is None:
        return
    name = gpu or bus_id
    if isinstance(fact, PciLink):
        rate = fact.speed_max_gigatransfers_per_second
        link = pcie(pcie_generation(rate), fact.width or fact.width_max)
        if link is not None:
            graph.links[name] = link
        return
    if gpu is not None:
        gpus[gpu] = None
        graph.places[gpu] = bus_id
    if fact.upstream_bus_id is not None:
        graph.upstream[bus_id] = fact.upstream_bus_id


def _name_nics(graph: TopologyGraph, facts: Sequence[Fact], nics: dict[str, None]) -> None:
    """Adapters by the name that the matrix uses, else by any name that a source gives, else by PCI address."""
    names: dict[str, list[str]] = defaultdict(list)
    for fact in facts:
        bus_id, nic = fact.subject.bus_id, fact.subject.nic
        if bus_id is None or fact.subject.gpu is not None:
            # A path between a GPU and a NIC has the GPU's address.
            continue
        if nic is not None:
            names[bus_id].append(nic)
            graph.places[nic] = bus_id
        elif isinstance(fact, PciDevice) and fact.is_nic:
            names[bus_id] += []
    for bus_id, known in names.items():
        if not any(name in nics for name in known):
            name = known[0] if known else bus_id
            nics[name] = None
            graph.places[name] = bus_id


def _numa_by_place(graph: TopologyGraph, facts: Sequence[Fact]) -> None:
    nodes = {
        fact.subject.bus_id: fact.numa_node
        for fact in facts
        if isinstance(fact, PciDevice) and fact.numa_node is not None
    }
    for device, bus_id in graph.places.items():
        if bus_id in nodes:
            graph.numa.setdefault(device, nodes[bus_id])


def _driver_links(graph: TopologyGraph, facts: Sequence[Fact]) -> None:
    """The driver knows what GPU and slot support together; an idle link is slower for now, but not narrower."""
    for fact in facts:
        if isinstance(fact, GpuPcieLink) and fact.subject.gpu is not None:
            link = pcie(fact.generation_max, fact.width_current or fact.width_max)
            if link is not None:
                graph.links[fact.subject.gpu] = link
