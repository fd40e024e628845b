"""Whose a series is, told by its labels: exporters, jobs and clusters use different ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from collectors.prometheus.samples import Stream
from diagnose.facts import Subject, normalise_bus_id

_NODE_LABELS = ("node", "kubernetes_node", "exported_node", "nodename", "node_name", "host")
"""Labels that name the node, whatever the target is."""


class Hosts:
    """Knows hosts by instance: `node_uname_info` tells the name of the machine behind an address."""

    def __init__(self, streams: Iterable[Stream]) -> None:
        self._by_address: dict[str, str] = {}
        for stream in streams:
            if stream.name == "node_uname_info" and stream.labels.get("nodename"):
                self._by_address.setdefault(address(stream.labels.get("instance", "")), stream.labels["nodename"])

    def host_of(self, labels: Mapping[str, str]) -> str | None:
        """The host. DCGM's `Hostname` is that of its container on some clusters, the node's label is then better."""
        named = next((labels[label] for label in _NODE_LABELS if labels.get(label)), None)
        hostname = labels.get("Hostname") or labels.get("exported_Hostname")
        if hostname and not (named and hostname.startswith(("dcgm-exporter", "nvidia-dcgm-exporter"))):
            return hostname
        if labels.get("__name__") == "node_uname_info" and labels.get("nodename"):
            return labels["nodename"]
        instance = address(labels.get("instance", ""))
        return self._by_address.get(instance) or named or instance or None


def address(instance: str) -> str:
    """`10.0.0.1:9100` without the port: exporters of one machine listen at several."""
    host, colon, port = instance.rpartition(":")
    return host.strip("[]") if colon and port.isdecimal() else instance


def gpu_subject(labels: Mapping[str, str], host: str | None) -> Subject | None:
    """The GPU; None for a part of one in MIG mode, whose load is not the GPU's."""
    if labels.get("GPU_I_ID"):
        return None
    index, uuid = labels.get("gpu", ""), labels.get("UUID", "")
    return Subject(
        host=host,
        gpu_index=int(index) if index.isascii() and index.isdecimal() and len(index) < 4 else None,
        gpu_uuid=uuid if uuid.startswith("GPU-") else None,
        gpu_bus_id=normalise_bus_id(labels.get("pci_bus_id", "")),
    )


def nic_subject(labels: Mapping[str, str], host: str | None) -> Subject:
    """The interface or RDMA port."""
    port = labels.get("port", "")
    return Subject(host=host, nic=labels.get("device"), port=int(port) if port.isdecimal() and len(port) < 4 else None)
