# ruff: noqa: ARG001 - All writers have one signature, used or not.
"""Recorded trees, as `diagnose collect` writes them: two readings of what counts, one of what is set."""

from __future__ import annotations

from random import Random

from tests.scenarios.machine import Machine
from tests.scenarios.print_gpu import cpu_list
from tests.scenarios.print_network import COUNTERS, HARDWARE
from tests.scenarios.world import World

_LANE_NAMES = {50: "2X HDR", 100: "4X EDR", 200: "4X HDR", 400: "4X NDR", 25: "1X EDR", 10: "4X SDR", 40: "4X QDR"}
INTERVAL_SECONDS = 60.0


def recorded_network(world: World, node: Machine, rng: Random) -> str:
    """Two readings of counters, as `diagnose collect --duration` records them."""
    start = 1741667829.0 + rng.random()
    end = start + INTERVAL_SECONDS
    lines = ["=== recorded tree 1: network"]
    busy = 0.3 if world.loaded else 0.0

    def twice(path: str, first: int, second: int) -> None:
        for at, value in ((start, first), (end, second)):
            lines.extend([f"@ {path} at {at:.3f}", f"|{value}"])

    for nic in node.nics:
        base = f"sys/class/infiniband/{nic.name}"
        active = nic.state == "Active"
        lines += [f"@ {base}/device -> ../../../{nic.slot.bus_id}", f"@ {base}/hca_type", f"|{node.nic_model.hca_type}"]
        lines += [f"@ {base}/fw_ver", f"|{node.nic_model.firmware}"]
        port = f"{base}/ports/1"
        rate = nic.gigabits if active else 10
        for name, value in {
            "state": "4: ACTIVE" if active else "1: DOWN",
            "phys_state": "5: LinkUp" if active else "2: Polling",
            "rate": f"{rate} Gb/sec ({_LANE_NAMES.get(rate, '4X SDR')})",
            "link_layer": node.link_layer,
        }.items():
            lines += [f"@ {port}/{name}", f"|{value}"]
        moved = int(busy * nic.gigabits / 8 * 1e9 / 4 * INTERVAL_SECONDS * rng.uniform(0.85, 1.1)) if active else 0
        for folder, names in (("counters", COUNTERS.values()), ("hw_counters", HARDWARE)):
            for name in names:
                before = nic.counters.get(name, 0)
                twice(f"{port}/{folder}/{name}", before, before + int(nic.rates.get(name, 0.0) * INTERVAL_SECONDS))
        for name, key in (("port_xmit_data", "PortXmitData"), ("port_rcv_data", "PortRcvData")):
            twice(f"{port}/counters/{name}", nic.counters[key], nic.counters[key] + moved)
    return "\n".join(lines) + "\n"


def recorded_host(world: World, node: Machine, rng: Random) -> str:
    """Settings of the host, as recorded."""
    lines = ["=== recorded tree 1: host"]
    total = node.cpus_per_socket * node.sockets
    files = {
        "proc/sys/kernel/osrelease": node.kernel,
        "proc/sys/kernel/numa_balancing": int(node.numa_balancing),
        "proc/sys/vm/swappiness": rng.choice([1, 10, 60]),
        "proc/sys/vm/zone_reclaim_mode": 0,
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        "sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never",
        "sys/devices/system/cpu/online": f"0-{total - 1}",
        "sys/devices/system/node/online": f"0-{node.sockets - 1}" if node.sockets > 1 else "0",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    }
    for socket in range(node.sockets):
        files[f"sys/devices/system/node/node{socket}/cpulist"] = cpu_list(node, socket)
    for path, value in files.items():
        lines += [f"@ {path}", f"|{value}"]
    start = 1741667829.0 + rng.random()
    for at in (0.0, INTERVAL_SECONDS):
        # Balancing makes faults where pages are touched from another node; a quiet host has next to none.
        faults = int(9_000_000 + at * node.hint_faults_per_second)
        lines += [f"@ proc/vmstat at {start + at:.3f}", f"|numa_hint_faults {faults}"]
        lines += [f"|numa_pages_migrated {faults // 7}", f"|pgmajfault {1000 + int(at)}"]
    return "\n".join(lines) + "\n"


def recorded_processes(world: World, node: Machine, rng: Random) -> str:
    """The ranks of the job on a host: where they run and where their memory is, as recorded."""
    total = node.cpus_per_socket * node.sockets
    lines = ["=== recorded tree 1: processes", "@ sys/devices/system/cpu/online", f"|0-{total - 1}"]
    for gpu in node.visible:
        folder = f"proc/driver/nvidia/gpus/{gpu.slot.bus_id}"
        lines += [f"@ {folder}/information", f"|Model: \t\t {node.gpu_model.name}", f"|Device Minor: \t {gpu.index}"]
        device = f"sys/bus/pci/devices/{gpu.slot.bus_id}"
        lines += [f"@ {device}/numa_node", f"|{gpu.slot.socket}"]
        lines += [f"@ {device}/local_cpulist", f"|{cpu_list(node, gpu.slot.socket)}"]
    for gpu in node.visible:
        process = f"proc/{40000 + gpu.index}"
        socket = gpu.slot.socket if node.bound_socket is None else node.bound_socket
        other = (socket + 1) % node.sockets
        pages = rng.randrange(2**30, 2**34)
        away = int(pages * rng.uniform(0.0, 0.06)) if node.sockets > 1 else 0
        threads = rng.randrange(20, 60)
        lines += [f"@ {process}/status", "|Name:\tpython3", f"|Threads:\t{threads}"]
        lines += [f"|Cpus_allowed_list:\t{cpu_list(node, socket)}", f"|Mems_allowed_list:\t0-{node.sockets - 1}"]
        lines += [f"@ {process}/fd (devices)", f"|/dev/nvidia{gpu.index}"]
        lines += [f"@ {process}/numa_maps (nodes)", f"|{socket} {pages}", *([f"|{other} {away}"] if away else [])]
        lines += [f"@ {process}/task (threads)", f"|{socket * node.cpu.cores + gpu.index} {threads}"]
    return "\n".join(lines) + "\n"
