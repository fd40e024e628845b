# ruff: noqa: ARG001 - All writers have one signature, used or not.
"""What nvidia-smi and the bandwidth tools print on a machine."""

from __future__ import annotations

from random import Random

from tests.scenarios.hardware import DRIVERS
from tests.scenarios.machine import Gpu, Machine
from tests.scenarios.world import World

_LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
"""
_P2P_LEGEND = """
Legend:

  X    = Self
  OK   = Status Ok
  CNS  = Chipset not supported
  GNS  = GPU not supported
  TNS  = Topology not supported
  NS   = Not supported
  U    = Unknown
"""


class _Tree:
    """Lines of `nvidia-smi -q`: names indented by depth, values in one column."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, depth: int, name: str, value: object = None) -> None:
        text = "    " * depth + name
        self.lines.append(text if value is None else f"{text:<51}: {value}")

    def section(self, depth: int, name: str, **values: object) -> None:
        self.add(depth, name)
        for key, value in values.items():
            self.add(depth + 1, key.replace("_", " "), value)


def smi_q(world: World, node: Machine, rng: Random) -> str:
    """`nvidia-smi -q` in the layout of the node's driver."""
    tree = _Tree()
    tree.add(0, "\n==============NVSMI LOG==============\n")
    tree.add(0, "Timestamp", "Tue Mar 11 04:17:09 2025")
    tree.add(0, "Driver Version", node.driver)
    tree.add(0, "CUDA Version", DRIVERS[node.driver])
    tree.add(0, "")
    tree.add(0, "Attached GPUs", len(node.visible))
    for gpu in node.visible:
        _smi_q_gpu(tree, world, node, gpu, rng)
    return "\n".join(tree.lines) + "\n"


def _smi_q_gpu(tree: _Tree, world: World, node: Machine, gpu: Gpu, rng: Random) -> None:
    model, version, busy = node.gpu_model, int(node.driver[:3]), world.loaded
    ecc = "N/A" if "GeForce" in model.name else "Enabled"
    generation = gpu.generation if busy else min(gpu.generation, 1)
    tree.add(0, f"GPU 0000{gpu.slot.bus_id.upper()}")
    tree.add(1, "Product Name", model.name)
    tree.add(1, "Product Brand", "GeForce" if "GeForce" in model.name else "NVIDIA")
    tree.add(1, "Product Architecture", model.architecture)
    tree.add(1, "Persistence Mode", "Enabled")
    mig = "Disabled" if model.architecture in ("Hopper", "Blackwell") or "A100" in model.name else "N/A"
    tree.section(1, "MIG Mode", Current=mig, Pending=mig)
    tree.add(1, "Serial Number", gpu.serial if "GeForce" not in model.name else "N/A")
    tree.add(1, "GPU UUID", gpu.uuid)
    tree.add(1, "Minor Number", gpu.index)
    tree.add(1, "VBIOS Version", "96.00.74.00.1A")
    mode = "Pass-Through" if node.virtual else "None"
    tree.section(1, "GPU Virtualization Mode", Virtualization_Mode=mode, Host_VGPU_Mode="N/A")
    tree.add(1, "PCI")
    tree.add(2, "Bus", f"0x{gpu.slot.bus_id[5:7].upper()}")
    tree.add(2, "Device", "0x00")
    tree.add(2, "Domain", "0x0000")
    tree.add(2, "Device Id", f"0x{model.device_id}10DE")
    tree.add(2, "Bus Id", f"0000{gpu.slot.bus_id.upper()}")
    tree.add(2, "GPU Link Info")
    host_max = min(gpu.slot.generation, 5)
    tree.add(3, "PCIe Generation")
    tree.add(4, "Max", min(model.generation, host_max))
    tree.add(4, "Current", generation)
    if version >= 525:
        tree.add(4, "Device Current", generation)
        tree.add(4, "Device Max", model.generation)
        tree.add(4, "Host Max", host_max if not node.virtual else "N/A")
    tree.section(3, "Link Width", Max="16x", Current=f"{gpu.width}x")
    tree.add(2, "Replays Since Reset", gpu.replays)
    tree.add(2, "Replay Number Rollovers", 0)
    tree.add(2, "Tx Throughput", f"{rng.randrange(1000, 900000) if busy else 0} KB/s")
    tree.add(2, "Rx Throughput", f"{rng.randrange(1000, 900000) if busy else 0} KB/s")
    tree.add(1, "Fan Speed", "N/A" if model.form == "switch" else f"{rng.randrange(30, 70)} %")
    tree.add(1, "Performance State", "P0" if busy or model.form == "switch" else "P8")
    tree.add(1, "Clocks Event Reasons" if version >= 535 else "Clocks Throttle Reasons")
    near_limit = busy and rng.random() < 0.5
    for name, active in {
        "Idle": not busy,
        "Applications Clocks Setting": False,
        "SW Power Cap": near_limit,
        "HW Slowdown": False,
    }.items():
        tree.add(2, name, "Active" if active else "Not Active")
    tree.add(3, "HW Thermal Slowdown", "Not Active")
    tree.add(3, "HW Power Brake Slowdown", "Not Active")
    for name in ("Sync Boost", "SW Thermal Slowdown", "Display Clock Setting"):
        tree.add(2, name, "Not Active")
    used = int(model.memory_mib * rng.uniform(0.5, 0.93)) if busy else rng.randrange(1, 5)
    tree.section(
        1,
        "FB Memory Usage",
        Total=f"{model.memory_mib} MiB",
        Reserved=f"{model.memory_mib // 130} MiB",
        Used=f"{used} MiB",
        Free=f"{model.memory_mib - used - model.memory_mib // 130} MiB",
    )
    tree.section(1, "BAR1 Memory Usage", Total=f"{model.bar1_mib} MiB", Used="4 MiB", Free=f"{model.bar1_mib - 4} MiB")
    tree.add(1, "Compute Mode", "Default")
    tree.add(1, "Utilization")
    tree.add(2, "GPU" if version >= 570 else "Gpu", f"{rng.randrange(96, 101) if busy else 0} %")
    tree.add(2, "Memory", f"{rng.randrange(30, 60) if busy else 0} %")
    tree.section(1, "ECC Mode" if version >= 525 else "Ecc Mode", Current=ecc, Pending=ecc)
    if model.architecture in ("Ampere", "Hopper", "Blackwell") and ecc == "Enabled":
        tree.section(
            1,
            "Remapped Rows",
            Correctable_Error=0,
            Uncorrectable_Error=0,
            Pending="No",
            Remapping_Failure_Occurred="No",
        )
    _smi_q_heat(tree, node, gpu, busy, rng)
    if node.switched and version >= 525:
        done = node.fabric_manager == "running"
        tree.section(1, "Fabric", State="Completed" if done else "In Progress", Status="Success" if done else "N/A")
    if not busy:
        tree.add(1, "Processes", "None")
        return
    tree.add(1, "Processes")
    tree.add(2, "GPU instance ID", "N/A")
    tree.add(2, "Compute instance ID", "N/A")
    tree.add(2, "Process ID", 40000 + gpu.index)
    tree.add(3, "Type", "C")
    tree.add(3, "Name", "/opt/venv/bin/python3")
    tree.add(3, "Used GPU Memory", f"{used - 40} MiB")


def _smi_q_heat(tree: _Tree, node: Machine, gpu: Gpu, busy: bool, rng: Random) -> None:
    model, version = node.gpu_model, int(node.driver[:3])
    warm = rng.randrange(52, 72) if busy else rng.randrange(27, 40)
    tree.add(1, "Temperature")
    tree.add(2, "GPU Current Temp", f"{warm} C")
    if version >= 535:
        tree.add(2, "GPU T.Limit Temp", f"{88 - warm} C")
        tree.add(2, "GPU Shutdown T.Limit Temp", "-8 C")
        tree.add(2, "GPU Slowdown T.Limit Temp", "-2 C")
    else:
        tree.add(2, "GPU Shutdown Temp", "95 C")
        tree.add(2, "GPU Slowdown Temp", "92 C")
    draw = gpu.power_limit_watts * (rng.uniform(0.8, 0.99) if busy else rng.uniform(0.08, 0.16))
    name = "GPU Power Readings" if version >= 535 else "Power Readings"
    tree.add(1, name)
    limits = f"{model.watts:.2f} W"
    if version >= 570:
        tree.add(2, "Average Power Draw", f"{draw:.2f} W")
        tree.add(2, "Instantaneous Power Draw", f"{draw * rng.uniform(0.97, 1.0):.2f} W")
    else:
        tree.add(2, "Power Draw", f"{draw:.2f} W")
    if version >= 535:
        tree.add(2, "Current Power Limit", f"{gpu.power_limit_watts:.2f} W")
        tree.add(2, "Requested Power Limit", f"{gpu.power_limit_watts:.2f} W")
    else:
        tree.add(2, "Power Limit", f"{gpu.power_limit_watts:.2f} W")
    tree.add(2, "Default Power Limit", limits)
    tree.add(2, "Min Power Limit", f"{model.watts / 3:.2f} W")
    tree.add(2, "Max Power Limit", limits)
    clock = int(model.max_mhz * rng.uniform(0.9, 0.97) * gpu.speed_ratio) if busy else 210
    tree.section(1, "Clocks", Graphics=f"{clock} MHz", SM=f"{clock} MHz", Memory="1593 MHz", Video="1275 MHz")
    tree.section(1, "Max Clocks", Graphics=f"{model.max_mhz} MHz", SM=f"{model.max_mhz} MHz", Memory="1593 MHz")


def smi_table(world: World, node: Machine, rng: Random) -> str:
    """The table of `nvidia-smi`: narrow up to driver 525, wider names from 535 on, wider memory from 550 on."""
    version = int(node.driver[:3])
    first = 41 if version >= 535 else 31
    second = 24 if version >= 550 else 22
    third, rule, corner = 22, "-", "+" if version >= 535 else "|"
    inner = first + second + third + 2
    gap = 13 if version < 535 else 17
    title = (
        f"NVIDIA-SMI {node.driver:<{gap}}Driver Version: {node.driver:<{gap - 2}}CUDA Version: {DRIVERS[node.driver]}"
    )
    name_tail, power_tail = ("Persistence-M ", "Pwr:Usage/Cap ") if first == 41 else ("Persistence-M", "Pwr:Usage/Cap")
    edge = f"+{rule * first}+{rule * second}+{rule * third}+"
    rows = [
        f"+{rule * inner}+",
        f"| {title:<{inner - 2}} |",
        f"{corner}{edge[1:]}",
        f"|{' GPU  Name':<{first - len(name_tail)}}{name_tail}|{' Bus-Id':<{second - 8}} Disp.A |"
        f"{' Volatile Uncorr. ECC ':<{third}}|",
        f"|{' Fan  Temp  Perf':<{first - len(power_tail)}}{power_tail}|{'Memory-Usage ':>{second}}|"
        f"{' GPU-Util  Compute M. ':<{third}}|",
        f"|{'':<{first}}|{'':<{second}}|{'MIG M. ':>{third}}|",
        f"|{'=' * first}+{'=' * second}+{'=' * third}|",
    ]
    for gpu in node.visible:
        model = node.gpu_model
        draw = int(gpu.power_limit_watts * (rng.uniform(0.8, 0.99) if world.loaded else 0.12))
        room = first - 14
        name = model.name if len(model.name) <= room else f"{model.name[: room - 4]}..."
        power = f"{draw:>4}W / {int(gpu.power_limit_watts):>3}W "
        used = int(model.memory_mib * 0.8) if world.loaded else 3
        memory = f"{used:>7}MiB / {model.memory_mib:>5}MiB "
        ecc = "N/A" if "GeForce" in model.name else "0"
        load = f"{rng.randrange(95, 101) if world.loaded else 0:>7}%      Default "
        heat = f" N/A   {rng.randrange(28, 70)}C    P0"
        rows += [
            f"|{f'{gpu.index:>4}  {name:<{room}} On':<{first}}|{f'0000{gpu.slot.bus_id.upper()} Off ':>{second}}|"
            f"{ecc + ' ':>{third}}|",
            f"|{heat:<{first - len(power)}}{power}|{memory:>{second}}|{load:>{third}}|",
            f"|{'':<{first}}|{'':<{second}}|{'N/A ':>{third}}|",
            edge,
        ]
    empty = f"|{'  No running processes found':<{inner}}|"
    processes = [
        f"|{gpu.index:>5}   N/A  N/A    {40000 + gpu.index:>6}      C   /opt/venv/bin/python3".ljust(inner - 12)
        + f"{int(node.gpu_model.memory_mib * 0.8) - 40:>7}MiB  |"
        for gpu in node.visible
    ]
    rows += [
        "",
        f"+{rule * inner}+",
        f"|{' Processes:':<{inner}}|",
        f"|{'  GPU   GI   CI        PID   Type   Process name':<{inner - 12}} GPU Memory |",
        f"|{'        ID   ID':<{inner - 12}} Usage      |",
        f"|{'=' * inner}|",
        *(processes if world.loaded else [empty]),
        f"+{rule * inner}+",
    ]
    return "\n".join(["Tue Mar 11 04:17:09 2025", *rows]) + "\n"


def topo(world: World, node: Machine, rng: Random) -> str:
    """`nvidia-smi topo -m` with GPUs, NICs and affinities."""
    gpus, nics = node.visible, node.nics
    names = [f"GPU{number}" for number in range(len(gpus))] + [f"NIC{number}" for number in range(len(nics))]
    slots = [gpu.slot for gpu in gpus] + [nic.slot for nic in nics]
    rows = ["\t" + "\t".join([*names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    for a, name in enumerate(names):
        cells = []
        for b in range(len(names)):
            if a == b:
                cells.append(" X ")
            elif a < len(gpus) and b < len(gpus):
                cells.append(node.label(gpus[a], gpus[b]))
            else:
                cells.append(node.path(slots[a], slots[b]))
        tail = []
        if a < len(gpus):
            hidden = node.virtual or node.hidden_topology
            near = cpu_list(node, slots[a].socket) if not hidden else f"0-{node.cpus_per_socket * node.sockets - 1}"
            tail = [near, str(slots[a].socket if not hidden else 0), "N/A"]
        rows.append("\t".join([name, *cells, *tail]))
    legend = [f"  NIC{number}: {nic.name}" for number, nic in enumerate(nics)]
    return "\n".join(rows) + "\n" + _LEGEND + ("\nNIC Legend:\n\n" + "\n".join(legend) + "\n" if nics else "")


def cpu_list(node: Machine, socket: int) -> str:
    """Logical processors of a socket, siblings in the upper half."""
    cores, total = node.cpu.cores, node.cpu.cores * node.sockets
    return f"{socket * cores}-{(socket + 1) * cores - 1},{total + socket * cores}-{total + (socket + 1) * cores - 1}"


def topo_p2p(world: World, node: Machine, rng: Random) -> str:
    """`nvidia-smi topo -p2p r`."""
    gpus = node.visible
    rows = ["\t" + "\t".join(f"GPU{gpu.index}" for gpu in gpus)]
    refused = "NS" if "GeForce" in node.gpu_model.name else "CNS"
    for a in gpus:
        cells = []
        for b in gpus:
            reachable = node.gpu_model.peer_over_pcie or node.nvlinks(a, b)
            cells.append("X" if a is b else "OK" if reachable else refused)
        rows.append(f" GPU{a.index}\t" + "\t".join(cells))
    return "\n".join(rows) + "\n" + _P2P_LEGEND


def nvlink_status(world: World, node: Machine, rng: Random) -> str:
    """`nvidia-smi nvlink -s`."""
    rate = {25.0: "25 GB/s" if node.gpu_model.architecture != "Hopper" else "26.562 GB/s", 50.0: "53.125 GB/s"}
    lines = []
    for gpu in node.visible:
        lines.append(f"GPU {gpu.index}: {node.gpu_model.name} (UUID: {gpu.uuid})")
        if not gpu.links_up and not node.gpu_model.links:
            continue
        states = gpu.links_up or [False] * node.gpu_model.links
        for number, up in enumerate(states):
            speed = rate.get(node.gpu_model.link_gigabytes, "14.062 GB/s")
            lines.append(f"\t Link {number}: {speed if up else '<inactive>'}")
    return "\n".join(lines) + "\n"


def nvlink_errors(world: World, node: Machine, rng: Random) -> str:
    """`nvidia-smi nvlink -e`."""
    lines = []
    for gpu in node.visible:
        lines.append(f"GPU {gpu.index}: {node.gpu_model.name} (UUID: {gpu.uuid})")
        for number, counts in enumerate(gpu.link_errors):
            lines.append(f"\t Link {number}: Replay Errors: {counts['replay']}")
            lines.append(f"\t Link {number}: Recovery Errors: {counts['recovery']}")
            lines.append(f"\t Link {number}: CRC Errors: {counts['crc']}")
    return "\n".join(lines) + "\n"
