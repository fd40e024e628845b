"""Network interfaces and RDMA ports from sysfs with their counters, and the counters of TCP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from collectors.live.base import Folder, Recorder, Window
from collectors.live.tree import TreeWriter

INTERFACES = "sys/class/net"
RDMA = "sys/class/infiniband"
_INTERFACES = 64
"""Physical interfaces and bonds come first; hosts of containers have hundreds of virtual ones."""
_VIRTUAL = re.compile(r"^(?:lo|veth|cali|docker|br-|virbr|tap|tun|vnet|lxc|cilium|flannel|dummy|nodelocaldns|kube-)")
_SETTINGS = ("operstate", "carrier", "speed", "duplex", "mtu", "type", "carrier_changes", "carrier_down_count")
_PORT = ("state", "phys_state", "rate", "link_layer", "lid", "sm_lid")
_TRAFFIC = ("tx_bytes", "rx_bytes")
_PORT_TRAFFIC = ("port_xmit_data", "port_rcv_data")
_GIDS = 16
_PROTOCOLS = ("proc/net/snmp", "proc/net/netstat", "proc/net/softnet_stat", "proc/net/sockstat")
_NO_GID = re.compile(r"^[0:]*$")


class Network(Recorder):
    """Interfaces, RDMA ports, TCP."""

    name: ClassVar[str] = "network"
    title: ClassVar[str] = "network interfaces, RDMA ports and TCP"
    directory: ClassVar[str] = "network"

    def record(self, folder: Folder, window: Window) -> None:
        """Settings once, counters at both ends of the window, traffic at every reading."""
        if not any((folder.root / path).exists() for path in (INTERFACES, RDMA, _PROTOCOLS[0])):
            folder.absent(f"There is neither /{INTERFACES} nor /{RDMA}")
            return
        tree = TreeWriter(folder, "network")
        interfaces = list(_interfaces(tree))
        for interface in interfaces:
            _interface(tree, interface)
        ports = list(_ports(tree))
        for port in ports:
            _port(tree, port)
        counters = [f"{interface}/statistics" for interface in interfaces]
        counters += [f"{port}/{name}" for port in ports for name in ("counters", "hw_counters")]
        traffic = [f"{interface}/statistics/{name}" for interface in interfaces for name in _TRAFFIC]
        traffic += [f"{port}/counters/{name}" for port in ports for name in _PORT_TRAFFIC]
        _read_counters(tree, counters)
        for _ in window.ticks():
            for path in traffic:
                tree.read(path, timed=True)
        _read_counters(tree, counters)
        if tree.denied:
            folder.lacked(f"{len(tree.denied)} files such as /{tree.denied[0]} can be read by root only")


def _read_counters(tree: TreeWriter, folders: list[str]) -> None:
    for path in folders:
        for name in tree.names(path):
            tree.read(f"{path}/{name}", timed=True)
    for path in _PROTOCOLS:
        tree.read(path, timed=True)


def _interfaces(tree: TreeWriter) -> Iterator[str]:
    names = [name for name in tree.names(INTERFACES) if not _VIRTUAL.match(name)]
    names = [name for name in names if tree.exists(f"{INTERFACES}/{name}/operstate")]
    names.sort(key=lambda name: not tree.exists(f"{INTERFACES}/{name}/device"))
    for name in names[:_INTERFACES]:
        yield f"{INTERFACES}/{name}"


def _interface(tree: TreeWriter, path: str) -> None:
    for name in _SETTINGS:
        tree.read(f"{path}/{name}")
    if not tree.exists(f"{path}/device"):
        return
    for name in ("device", "device/driver", "master"):
        if tree.exists(f"{path}/{name}"):
            tree.link(f"{path}/{name}")
    tree.read(f"{path}/device/numa_node")
    if names := tree.names(f"{path}/device/infiniband"):
        tree.note(f"{path}/device/infiniband", names, what="names")


def _ports(tree: TreeWriter) -> Iterator[str]:
    for device in tree.names(RDMA):
        path = f"{RDMA}/{device}"
        for name in ("hca_type", "fw_ver", "board_id", "device/numa_node"):
            tree.read(f"{path}/{name}")
        tree.link(f"{path}/device")
        yield from tree.folders(f"{path}/ports")


def _port(tree: TreeWriter, path: str) -> None:
    for name in _PORT:
        tree.read(f"{path}/{name}")
    recorded = 0
    for gid in tree.folders(f"{path}/gids"):
        if recorded == _GIDS:
            break
        try:
            value = (tree.root / gid).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        if _NO_GID.match(value):
            continue
        index = gid.rsplit("/", 1)[-1]
        tree.note(gid, [value])
        tree.read(f"{path}/gid_attrs/types/{index}")
        tree.read(f"{path}/gid_attrs/ndevs/{index}")
        recorded += 1
