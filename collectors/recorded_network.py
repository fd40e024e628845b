"""The recorded tree of the network: interfaces, RDMA devices and ports, their counters and rates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from collectors.live.network import INTERFACES, RDMA
from collectors.rdma_fields import state_word
from collectors.rdma_sysfs import counter_values
from collectors.recorded_tcp import tcp
from collectors.recorded_tree import RecordedTree, RecordedTreeCollector, whole
from diagnose.facts import Fact, Subject, normalise_bus_id
from diagnose.facts.network import (
    NetworkCounters,
    NetworkInterface,
    NetworkRates,
    RdmaCounters,
    RdmaDevice,
    RdmaPort,
    RdmaRates,
)

_LINK_TYPES = {1: "ether", 32: "infiniband", 772: "loopback"}
"""Linux, include/uapi/linux/if_arp.h."""
_COUNTERS: Mapping[str, str] = {
    "rx_bytes": "receive_bytes",
    "tx_bytes": "transmit_bytes",
    "rx_packets": "receive_packets",
    "tx_packets": "transmit_packets",
    "rx_errors": "receive_errors",
    "tx_errors": "transmit_errors",
    "rx_dropped": "receive_dropped",
    "tx_dropped": "transmit_dropped",
    "rx_crc_errors": "receive_crc_errors",
}
"""Files of `statistics` to fields of network-counters."""
_RATED = ("receive_bytes", "transmit_bytes", "receive_errors", "receive_dropped", "transmit_dropped")
_RDMA_RATED = (
    "receive_bytes",
    "transmit_bytes",
    "symbol_errors",
    "receive_errors",
    "transmit_discards",
    "transmit_wait_ticks",
    "out_of_sequence",
    "packet_sequence_errors",
    "local_ack_timeouts",
    "out_of_buffer",
    "congestion_notifications_sent",
    "congestion_notifications_handled",
    "ecn_marked_packets",
)
_RDMA_COUNTED = ("link_recovers", "link_downed")
_RATE = re.compile(r"^(\d{1,5}(?:\.\d)?) Gb/sec(?: \((\d{1,2})X)?")


class RecordedNetwork(RecordedTreeCollector):
    """What the network recorder writes."""

    kind: ClassVar[str] = "recorded-network"
    about: ClassVar[str] = "network"

    @classmethod
    def facts(cls, tree: RecordedTree, host: Subject) -> Iterator[Fact]:
        """Interfaces, RDMA devices, then the host's protocols."""
        for name in tree.names(INTERFACES):
            yield from _interface(tree, host, name)
        for name in tree.names(RDMA):
            yield from _device(tree, host, name)
        yield from tcp(tree, host)


def _interface(tree: RecordedTree, host: Subject, name: str) -> Iterator[Fact]:
    path = f"{INTERFACES}/{name}"
    device = tree.target(f"{path}/device")
    subject = host.model_copy(update={"nic": name, "bus_id": normalise_bus_id(device or "")})
    carrier, speed, node = (tree.number(f"{path}/{part}") for part in ("carrier", "speed", "device/numa_node"))
    rdma = tree.last(f"{path}/device/infiniband (names)")
    yield NetworkInterface(
        subject=subject,
        sources=tree.source(f"{path}/operstate", f"{path}/speed"),
        link_detected=bool(carrier) if carrier is not None else None,
        operational_state=(tree.text(f"{path}/operstate") or "").lower() or None,
        speed_gigabits_per_second=_speed(speed),
        duplex=duplex if (duplex := tree.text(f"{path}/duplex")) in ("full", "half") else None,
        mtu_bytes=tree.number(f"{path}/mtu"),
        driver=tree.target(f"{path}/device/driver"),
        rdma_device=rdma.lines[0] if rdma is not None and rdma.lines else None,
        numa_node=node if node is not None and node >= 0 else None,
        link_type=_LINK_TYPES.get(tree.number(f"{path}/type") or 0),
    )
    yield from _interface_counters(tree, subject, path)


def _speed(megabits: int | None) -> float | None:
    """Gigabits per second; -1 and, from older drivers, 65535 and 4294967295 stand for no speed."""
    return megabits / 1000 if megabits is not None and 0 < megabits < 10_000_000 and megabits != 65_535 else None


def _interface_counters(tree: RecordedTree, subject: Subject, path: str) -> Iterator[Fact]:
    counters: dict[str, Any] = {}
    rates: dict[str, Any] = {}
    for name, field in _COUNTERS.items():
        file = f"{path}/statistics/{name}"
        counters[field] = tree.number(file)
        if field in _RATED and (rate := _rate(tree, file)) is not None:
            rates[f"{field}_per_second"], rates["interval_seconds"] = rate
    counters["carrier_changes"] = tree.number(f"{path}/carrier_changes")
    counters["link_down_events"] = tree.number(f"{path}/carrier_down_count")
    sources = tree.source(f"{path}/statistics/rx_bytes")
    if any(value is not None for value in counters.values()):
        yield NetworkCounters(subject=subject, sources=sources, **counters)
    if rates:
        yield NetworkRates(subject=subject, sources=sources, **rates)


def _rate(tree: RecordedTree, file: str) -> tuple[float, float] | None:
    """Rise per second and the time that it is taken over; None where it was not read twice or was cleared."""
    span = tree.span(file)
    first, last = (whole(span.first.text), whole(span.last.text)) if span is not None else (None, None)
    if span is None or first is None or last is None or last < first:
        return None
    return (last - first) / span.seconds, span.seconds


def _device(tree: RecordedTree, host: Subject, name: str) -> Iterator[Fact]:
    path = f"{RDMA}/{name}"
    bus_id = normalise_bus_id(tree.target(f"{path}/device") or "")
    ports = [port for port in tree.names(f"{path}/ports") if port.isascii() and port.isdecimal() and len(port) < 4]
    yield RdmaDevice(
        subject=host.model_copy(update={"nic": name, "bus_id": bus_id}),
        sources=tree.source(f"{path}/hca_type", f"{path}/fw_ver"),
        model=tree.text(f"{path}/hca_type"),
        ports=len(ports) or None,
        firmware_version=tree.text(f"{path}/fw_ver"),
        board_id=tree.text(f"{path}/board_id"),
    )
    for port in ports:
        subject = host.model_copy(update={"nic": name, "bus_id": bus_id, "port": int(port)})
        yield from _port(tree, subject, f"{path}/ports/{port}")


def _port(tree: RecordedTree, subject: Subject, path: str) -> Iterator[Fact]:
    rate = _RATE.match(tree.text(f"{path}/rate") or "")
    yield RdmaPort(
        subject=subject,
        sources=tree.source(f"{path}/state", f"{path}/rate"),
        state=state_word(tree.text(f"{path}/state") or ""),
        physical_state=state_word(tree.text(f"{path}/phys_state") or ""),
        rate_gigabits_per_second=float(rate[1]) if rate else None,
        width_lanes=int(rate[2]) if rate and rate[2] else None,
        link_layer=(tree.text(f"{path}/link_layer") or "").lower() or None,
        base_lid=_local_identifier(tree.text(f"{path}/lid")),
        subnet_manager_lid=_local_identifier(tree.text(f"{path}/sm_lid")),
        network_interface=_network_interface(tree, path),
    )
    yield from _port_counters(tree, subject, path)


def _local_identifier(text: str | None) -> int | None:
    match = re.fullmatch(r"0x([0-9a-fA-F]{1,8})", text or "")
    return int(match[1], 16) if match else None


def _network_interface(tree: RecordedTree, path: str) -> str | None:
    ndevs = f"{path}/gid_attrs/ndevs"
    return next((name for index in tree.names(ndevs) if (name := tree.text(f"{ndevs}/{index}")) is not None), None)


def _port_counters(tree: RecordedTree, subject: Subject, path: str) -> Iterator[Fact]:
    first: dict[str, str] = {}
    last: dict[str, str] = {}
    seconds: float | None = None
    for folder in ("counters", "hw_counters"):
        for name in tree.names(f"{path}/{folder}"):
            file = f"{path}/{folder}/{name}"
            if (text := tree.text(file)) is not None:
                last[name] = text
            if (span := tree.span(file)) is not None:
                first[name], seconds = span.first.text.strip(), span.seconds
    counters = counter_values(last)
    if not counters:
        return
    sources = tree.source(f"{path}/counters/symbol_error", f"{path}/counters/port_rcv_data")
    yield RdmaCounters(subject=subject, sources=sources, **counters)
    if seconds is not None:
        yield RdmaRates(
            subject=subject,
            sources=sources,
            interval_seconds=seconds,
            **_rises(counter_values(first), counters, seconds),
        )


def _rises(first: Mapping[str, int], last: Mapping[str, int], seconds: float) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for names, ending, divisor in ((_RDMA_RATED, "_per_second", seconds), (_RDMA_COUNTED, "_in_interval", 1)):
        for name in names:
            if name in first and name in last and last[name] >= first[name]:
                found[name + ending] = (last[name] - first[name]) / divisor
    return found
