"""Each RDMA port beside its like on the same host: which is down, slow, or has another MTU than its peers."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from diagnose.facts import Fact
from diagnose.facts.network import RdmaDevice, RdmaPort, RdmaPortComparison


def features(facts: Sequence[Fact]) -> list[Fact]:
    """One comparison for each port that has at least one peer of its model and link layer."""
    models = {fact.subject.nic: fact.model for fact in facts if isinstance(fact, RdmaDevice) and fact.model}
    ports: dict[tuple[str, int | None], RdmaPort] = {}
    for fact in facts:
        if isinstance(fact, RdmaPort) and fact.subject.nic is not None:
            # Several tools may list a port; the one that tells most stands for it.
            key = (fact.subject.nic, fact.subject.port)
            if key not in ports or len(fact.values()) > len(ports[key].values()):
                ports[key] = fact
    found: list[Fact] = []
    for port in ports.values():
        peers = [
            other
            for other in ports.values()
            if other is not port
            and models.get(other.subject.nic) == models.get(port.subject.nic)
            and other.link_layer == port.link_layer
        ]
        if peers:
            found.append(_comparison(port, models.get(port.subject.nic), peers))
    return found


def _comparison(port: RdmaPort, model: str | None, peers: Sequence[RdmaPort]) -> RdmaPortComparison:
    active = [peer for peer in peers if peer.state == "active"]
    rates = [peer.rate_gigabits_per_second for peer in active if peer.rate_gigabits_per_second]
    usual = median(rates) if rates else None
    # A port that is down still prints a rate, which is none.
    rate = port.rate_gigabits_per_second if port.state == "active" else None
    return RdmaPortComparison(
        subject=port.subject,
        sources=port.sources,
        model=model,
        state=port.state,
        physical_state=port.physical_state,
        peers=len(peers),
        active_peers=len(active),
        rate_gigabits_per_second=rate,
        peers_rate_gigabits_per_second=usual,
        rate_to_peers_ratio=rate / usual if rate is not None and usual else None,
        active_mtu_bytes=port.active_mtu_bytes,
        peers_mtu_bytes=max((peer.active_mtu_bytes for peer in active if peer.active_mtu_bytes), default=None),
    )
