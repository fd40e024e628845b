"""Metrics of node_exporter that bear on GPU work: network interfaces, RDMA ports, memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from collectors.base import Block
from collectors.prometheus_samples import Metrics, Sample
from collectors.rdma_fields import NODE_EXPORTER_FIELDS, PHYSICAL_STATES, STATES
from diagnose.facts import Fact, Subject
from diagnose.facts.load import HostMemory, TcpStatistics
from diagnose.facts.network import NetworkCounters, NetworkInterface, RdmaCounters, RdmaDevice, RdmaPort

PREFIXES = ("node_network_", "node_infiniband_", "node_ethtool_", "node_memory_", "node_netstat_Tcp", "node_uname_info")

_COUNTERS: Mapping[str, str] = {
    "node_network_receive_bytes_total": "receive_bytes",
    "node_network_transmit_bytes_total": "transmit_bytes",
    "node_network_receive_packets_total": "receive_packets",
    "node_network_transmit_packets_total": "transmit_packets",
    "node_network_receive_errs_total": "receive_errors",
    "node_network_transmit_errs_total": "transmit_errors",
    "node_network_receive_drop_total": "receive_dropped",
    "node_network_transmit_drop_total": "transmit_dropped",
    "node_network_carrier_changes_total": "carrier_changes",
    "node_network_carrier_down_changes_total": "link_down_events",
}
_MEMORY: Mapping[str, str] = {
    "node_memory_MemTotal_bytes": "total_bytes",
    "node_memory_MemAvailable_bytes": "available_bytes",
    "node_memory_SwapTotal_bytes": "swap_total_bytes",
    "node_memory_Dirty_bytes": "dirty_bytes",
    "node_memory_HardwareCorrupted_bytes": "hardware_corrupted_bytes",
}
VIRTUAL_INTERFACES = ("lo", "docker", "veth", "br-", "virbr", "cni", "cali", "flannel", "tun", "tap", "dummy")


def node_metric_facts(metrics: Metrics, block: Block) -> Iterator[Fact]:
    """Facts of the host."""
    host = next((sample.labels.get("nodename") for sample in metrics.named("node_uname_info")), None) or block.host
    yield from _interfaces(metrics, block, host)
    yield from _rdma(metrics, block, host)
    yield from _memory(metrics, block, host)
    sent, again = _single(metrics, "node_netstat_Tcp_OutSegs"), _single(metrics, "node_netstat_Tcp_RetransSegs")
    if again is not None:
        yield TcpStatistics(
            subject=Subject(host=host),
            sources=(block.source(again.line),),
            sent_segments=int(sent.value) if sent else None,
            retransmitted_segments=int(again.value),
            retransmitted_ratio=again.value / sent.value if sent and sent.value > 0 else None,
        )


def _single(metrics: Metrics, name: str) -> Sample | None:
    return next((sample for sample in metrics.samples if sample.name == name and sample.value >= 0), None)


def _by_device(metrics: Metrics, prefix: str) -> dict[tuple[str, int | None], list[Sample]]:
    devices: dict[tuple[str, int | None], list[Sample]] = defaultdict(list)
    for sample in metrics.named(prefix):
        device, port = sample.labels.get("device"), sample.labels.get("port", "")
        if device and not device.startswith(VIRTUAL_INTERFACES):
            devices[device, int(port) if port.isdecimal() and len(port) < 4 else None].append(sample)
    return devices


def _interfaces(metrics: Metrics, block: Block, host: str | None) -> Iterator[Fact]:
    for (device, _), samples in _by_device(metrics, "node_network_").items():
        subject = Subject(host=host, nic=device)
        values = {sample.name: sample for sample in samples}
        link: dict[str, Any] = {}
        if (carrier := values.get("node_network_carrier")) is not None:
            link["link_detected"] = carrier.value == 1
        if (speed := values.get("node_network_speed_bytes")) is not None and speed.value > 0:
            link["speed_gigabits_per_second"] = speed.value * 8 / 1e9
        if (mtu := values.get("node_network_mtu_bytes")) is not None:
            link["mtu_bytes"] = int(mtu.value)
        if (info := values.get("node_network_info")) is not None:
            link["operational_state"] = info.labels.get("operstate") or None
            link["duplex"] = info.labels.get("duplex") or None
        if link:
            yield NetworkInterface(subject=subject, sources=(block.source(samples[0].line),), **link)
        yield from _counters(NetworkCounters, _COUNTERS, subject, samples, block)


def _counters(
    kind: type[Fact], fields: Mapping[str, str], subject: Subject, samples: list[Sample], block: Block
) -> Iterator[Fact]:
    found = [(fields[sample.name], sample) for sample in samples if sample.name in fields and sample.value >= 0]
    if found:
        values: dict[str, Any] = {name: int(sample.value) for name, sample in found}
        yield kind(subject=subject, sources=(block.source(found[0][1].line),), **values)


def _rdma(metrics: Metrics, block: Block, host: str | None) -> Iterator[Fact]:
    for (device, port), samples in _by_device(metrics, "node_infiniband_").items():
        subject = Subject(host=host, nic=device, port=port)
        values = {sample.name: sample for sample in samples}
        if (info := values.get("node_infiniband_info")) is not None:
            yield RdmaDevice(
                subject=subject,
                sources=(block.source(info.line),),
                model=info.labels.get("hca_type"),
                firmware_version=info.labels.get("firmware_version"),
                board_id=info.labels.get("board_id"),
            )
        state, physical = values.get("node_infiniband_state_id"), values.get("node_infiniband_physical_state_id")
        rate = values.get("node_infiniband_rate_bytes_per_second")
        if state is not None or physical is not None:
            yield RdmaPort(
                subject=subject,
                sources=(block.source(samples[0].line),),
                state=STATES.get(int(state.value)) if state else None,
                physical_state=PHYSICAL_STATES.get(int(physical.value)) if physical else None,
                rate_gigabits_per_second=rate.value * 8 / 1e9 if rate else None,
            )
        yield from _counters(RdmaCounters, NODE_EXPORTER_FIELDS, subject, samples, block)


def _memory(metrics: Metrics, block: Block, host: str | None) -> Iterator[Fact]:
    found = [sample for sample in metrics.named("node_memory_") if sample.name in _MEMORY and sample.value >= 0]
    if found:
        values: dict[str, Any] = {_MEMORY[sample.name]: int(sample.value) for sample in found}
        yield HostMemory(subject=Subject(host=host), sources=(block.source(found[0].line),), **values)
