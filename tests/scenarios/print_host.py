# ruff: noqa: ARG001 - All writers have one signature, used or not.
"""What lspci, the kernel and the tools of Linux print on a machine."""

from __future__ import annotations

from random import Random

from tests.scenarios.hardware import GIGATRANSFERS, LANE_GIGABYTES
from tests.scenarios.machine import Machine, Slot
from tests.scenarios.print_gpu import cpu_list
from tests.scenarios.world import World

_ACS_OFF = "SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-"
_ACS_ON = "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-"


def lspci(world: World, node: Machine, rng: Random) -> str:
    """`lspci -vvv` as root: root ports, switches, GPUs, NICs and a disk, by address."""
    devices: dict[str, str] = {}
    for switch in node.switches:
        # A switch's own link to the processor trains at its full rate.
        primary, secondary = switch.root_port, switch.upstream
        below = f"{int(secondary[5:7], 16) + 1:02x}"
        last = max(
            (_bus(slot.bus_id) for slot in _slots(node) if slot.switch == node.switches.index(switch)), default=0
        )
        devices[primary] = _bridge(node, primary, "Root Port (Slot+)", secondary[5:7], last, switch.generation, 16, 16)
        devices[secondary] = _bridge(node, secondary, "Upstream Port", below, last, switch.generation, 16, 16)
    widths = {gpu.slot.port_bus_id: (gpu.generation, gpu.width) for gpu in node.gpus}
    widths |= {nic.slot.port_bus_id: (nic.generation, nic.width) for nic in node.nics}
    for slot in _slots(node):
        generation, width = widths[slot.port_bus_id]
        sort = "Root Port (Slot+)" if slot.switch is None else "Downstream Port (Slot+)"
        devices[slot.port_bus_id] = _bridge(
            node,
            slot.port_bus_id,
            sort,
            slot.bus_id[5:7],
            _bus(slot.bus_id),
            slot.generation,
            slot.width,
            width,
            generation,
        )
    for gpu in node.gpus:
        model = node.gpu_model
        title = f"3D controller: NVIDIA Corporation {model.chip} (rev a1)"
        if "GeForce" in model.name or "RTX" in model.name:
            title = title.replace("3D controller", "VGA compatible controller")
        now = gpu.generation if world.loaded or not gpu.answers else 1
        devices[gpu.slot.bus_id] = _endpoint(
            gpu.slot, title, "nvidia", model.generation, 16, now, gpu.width, f"{model.bar1_mib // 1024 or 1}G"
        )
    for nic in node.nics:
        layer = "Infiniband" if node.link_layer == "InfiniBand" else "Ethernet"
        title = f"{layer} controller: Mellanox Technologies {node.nic_model.name}"
        devices[nic.slot.bus_id] = _endpoint(
            nic.slot, title, "mlx5_core", node.nic_model.generation, 16, nic.generation, nic.width, "32M"
        )
    disk = Slot("0000:05:00.0", "0000:00:1c.0", 0, None, 4, 4)
    title = "Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO"
    devices[disk.bus_id] = _endpoint(disk, title, "nvme", 4, 4, min(4, node.cpu.generation), 4, "16K")
    return "\n".join(devices[bus_id] for bus_id in sorted(devices))


def _slots(node: Machine) -> list[Slot]:
    return [gpu.slot for gpu in node.gpus] + [nic.slot for nic in node.nics]


def _bus(bus_id: str) -> int:
    return int(bus_id[5:7], 16)


def _link(generation: int, width: int, most: int, lanes: int) -> str:
    def word(value: bool) -> str:
        return " (downgraded)" if value else " (ok)"

    return f"Speed {GIGATRANSFERS[generation]}GT/s{word(generation < most)}, Width x{width}{word(width < lanes)}"


def _bridge(
    node: Machine,
    bus_id: str,
    sort: str,
    secondary: str,
    last: int,
    most: int,
    lanes: int,
    width: int,
    generation: int | None = None,
) -> str:
    maker = (
        "Intel Corporation Device 352a"
        if node.cpu.vendor == "GenuineIntel"
        else "Advanced Micro Devices, Inc. [AMD] Device 14ab"
    )
    if "Root" not in sort:
        maker = (
            "Broadcom / LSI PEX890xx PCIe Gen 5 Switch"
            if most == 5
            else "PLX Technology, Inc. PEX 88096 PCI Express Switch"
        )
    control = _ACS_ON if node.acs_redirect else _ACS_OFF
    return "\n".join(
        [
            f"{bus_id[5:]} PCI bridge: {maker} (rev b0) (prog-if 00 [Normal decode])",
            "\tControl: I/O+ Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+",
            "\tStatus: Cap+ 66MHz- UDF- FastB2B- ParErr- DEVSEL=fast >TAbort- <TAbort- <MAbort- >SERR- <PERR- INTx-",
            f"\tBus: primary={bus_id[5:7]}, secondary={secondary}, subordinate={last:02x}, sec-latency=0",
            f"\tCapabilities: [68] Express (v2) {sort}, MSI 00",
            f"\t\tLnkCap:\tPort #0, Speed {GIGATRANSFERS[most]}GT/s, Width x{lanes}, ASPM not supported",
            f"\t\tLnkSta:\t{_link(generation or most, width, most, lanes)}",
            f"\t\tLnkCap2: Supported Link Speeds: 2.5-{GIGATRANSFERS[most]}GT/s, Crosslink- Retimer- 2Retimers- DRS-",
            "\tCapabilities: [148 v1] Access Control Services",
            "\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+",
            f"\t\tACSCtl:\t{control}",
            "\tKernel driver in use: pcieport",
            "",
        ]
    )


def _endpoint(
    slot: Slot, title: str, driver: str, most: int, lanes: int, generation: int, width: int, size: str
) -> str:
    return "\n".join(
        [
            f"{slot.bus_id[5:]} {title}",
            "\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR+ FastB2B- DisINTx+",
            "\tStatus: Cap+ 66MHz- UDF- FastB2B- ParErr- DEVSEL=fast >TAbort- <TAbort- <MAbort- >SERR- <PERR- INTx-",
            f"\tNUMA node: {slot.socket}",
            f"\tRegion 0: Memory at 2{slot.bus_id[5:7]}000000000 (64-bit, prefetchable) [size={size}]",
            "\tCapabilities: [60] Express (v2) Endpoint, MSI 00",
            "\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq+",
            "\t\t\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-",
            "\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes",
            f"\t\tLnkCap:\tPort #0, Speed {GIGATRANSFERS[most]}GT/s, Width x{lanes}, ASPM not supported",
            "\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, Disabled- CommClk+",
            f"\t\tLnkSta:\t{_link(generation, width, most, lanes)}",
            "\tCapabilities: [100 v2] Advanced Error Reporting",
            "\t\tUESta:\tDLP- SDES- TLP- FCP- CmpltTO- CmpltAbrt- UnxCmplt- RxOF- MalfTLP- ECRC- UnsupReq- ACSViol-",
            "\t\tCESta:\tRxErr- BadTLP- BadDLLP- Rollover- Timeout- AdvNonFatalErr-",
            f"\tKernel driver in use: {driver}",
            "",
        ]
    )


def dmesg(world: World, node: Machine, rng: Random) -> str:
    """`dmesg`: boot messages of the platform and the driver, what the network says, and the node's own lines."""
    parameters = {"passthrough": " iommu=pt", "translated": " intel_iommu=on", "off": ""}[node.iommu]
    if node.cpu.vendor == "AuthenticAMD":
        parameters = parameters.replace("intel_iommu", "amd_iommu")
    lines = [
        f"Linux version {node.kernel} (builder@build) (gcc 11.4.0) #1 SMP",
        f"Command line: BOOT_IMAGE=/boot/vmlinuz-{node.kernel} root=/dev/mapper/vg0-root ro quiet{parameters}",
    ]
    if node.virtual:
        lines += ["Hypervisor detected: KVM"]
    lines += [f"smpboot: CPU0: {node.cpu.name} (family: 0x6, model: 0x8f, stepping: 0x8)"]
    if node.iommu != "off":
        # The line of the domain type is the kernel's own word for what devices get.
        word = {"passthrough": "Passthrough", "translated": "Translated"}[node.iommu]
        lines += [f"iommu: Default domain type: {word}{' (set via kernel command line)' if parameters else ''}"]
        vendor = "DMAR: Intel(R) Virtualization Technology for Directed I/O"
        lines += [vendor if node.cpu.vendor == "GenuineIntel" else "AMD-Vi: Interrupt remapping enabled"]
        lines += [f"pci {gpu.slot.bus_id}: Adding to iommu group {30 + gpu.index}" for gpu in node.gpus]
    lines += ["nvidia: loading out-of-tree module taints kernel."]
    lines += [f"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  {node.driver}  Tue Feb  4 06:01:16 UTC 2025"]
    lines += [f"nvidia {gpu.slot.bus_id}: enabling device (0140 -> 0142)" for gpu in node.gpus]
    for nic in node.nics:
        rate = LANE_GIGABYTES[nic.generation] * nic.width * 8
        lines += [
            f"mlx5_core {nic.slot.bus_id}: firmware version: {node.nic_model.firmware}",
            f"mlx5_core {nic.slot.bus_id}: {rate:.3f} Gb/s available PCIe bandwidth "
            f"({GIGATRANSFERS[nic.generation]}.0 GT/s PCIe x{nic.width} link)",
        ]
    lines += ["EXT4-fs (dm-0): mounted filesystem with ordered data mode. Quota mode: none."]
    seconds, text = 0.0, []
    for line in lines:
        seconds += rng.expovariate(3.0)
        text.append(f"[{seconds:12.6f}] {line}")
    seconds += rng.uniform(3000, 90000)
    for line in node.kernel_lines:
        seconds += rng.uniform(5, 400)
        text.append(f"[{seconds:12.6f}] {line}")
    return "\n".join(text) + "\n"


def journal(world: World, node: Machine, rng: Random) -> str:
    """`journalctl` of some services."""
    seconds, lines = 0.0, []
    usual = [("systemd[1]", "Started Session 42 of User trainer."), ("systemd[1]", "Finished Rotate log files.")]
    for service, text in [*usual, *(("systemd-networkd[1412]", line) for line in node.service_lines), usual[1]]:
        seconds += rng.uniform(20, 900)
        clock = f"{int(seconds // 3600):02d}:{int(seconds // 60 % 60):02d}:{int(seconds % 60):02d}"
        lines.append(f"Mar 11 {clock} {node.host} {service}: {text}")
    return "\n".join(lines) + "\n"


def lscpu(world: World, node: Machine, rng: Random) -> str:
    """`lscpu`."""
    total = node.cpus_per_socket * node.sockets
    values: list[tuple[str, object]] = [
        ("Architecture:", "x86_64"),
        ("CPU op-mode(s):", "32-bit, 64-bit"),
        ("CPU(s):", total),
        ("On-line CPU(s) list:", f"0-{total - 1}"),
        ("Vendor ID:", node.cpu.vendor),
        ("Model name:", node.cpu.name),
        ("Thread(s) per core:", 2),
        ("Core(s) per socket:", node.cpu.cores),
        ("Socket(s):", node.sockets),
    ]
    if node.virtual:
        values += [("Hypervisor vendor:", "KVM"), ("Virtualization type:", "full")]
    values += [("NUMA node(s):", node.numa_nodes)]
    values += [(f"NUMA node{socket} CPU(s):", cpu_list(node, socket)) for socket in range(node.sockets)]
    return "".join(f"{name:<33}{value}\n" for name, value in values)


def numactl(world: World, node: Machine, rng: Random) -> str:
    """`numactl --hardware`."""
    lines = [
        f"available: {node.sockets} nodes (0-{node.sockets - 1})" if node.sockets > 1 else "available: 1 nodes (0)"
    ]
    for socket in range(node.sockets):
        numbers = []
        for part in cpu_list(node, socket).split(","):
            low, high = part.split("-")
            numbers += [str(number) for number in range(int(low), int(high) + 1)]
        size = node.shm_mib * 2 // node.sockets if node.shm_mib > 64 else 515000
        lines += [f"node {socket} cpus: {' '.join(numbers)}", f"node {socket} size: {size} MB"]
        lines += [f"node {socket} free: {int(size * rng.uniform(0.3, 0.9))} MB"]
    lines += ["node distances:", "node   " + "   ".join(str(socket) for socket in range(node.sockets)) + " "]
    for a in range(node.sockets):
        lines += [f"  {a}:  " + "  ".join("10" if a == b else "21" for b in range(node.sockets)) + " "]
    return "\n".join(lines) + "\n"


def df(world: World, node: Machine, rng: Random) -> str:
    """`df -h`."""
    shm = node.shm_mib
    small = shm <= 64
    size = f"{shm}M" if shm < 1000 else f"{shm // 1000}G"
    used = size if small else "1.3M"
    free = "0" if small else size
    row = f"{'shm' if small else 'tmpfs':<16}{size:>5}  {used:>5} {free:>5} {'100%' if small else '1%':>4} /dev/shm"
    return "\n".join(
        [
            "Filesystem       Size  Used Avail Use% Mounted on",
            f"{'overlay' if small else '/dev/dm-0':<16} 1.8T  612G  1.1T  36% /",
            row,
            "/dev/nvme0n1p1   7.0T  2.1T  4.9T  31% /scratch",
            "",
        ]
    )


def lsmod(world: World, node: Machine, rng: Random) -> str:
    """`lsmod`."""
    modules = [
        ("nvidia_uvm", 1826816, "4"), ("nvidia_drm", 94208, "0"), ("nvidia_modeset", 1568768, "1 nvidia_drm"),
        ("nvidia", 54525952, "87 nvidia_uvm,nvidia_modeset"), ("mlx5_ib", 466944, "0"),
        ("mlx5_core", 2244608, "1 mlx5_ib"), ("ib_uverbs", 188416, "2 rdma_ucm,mlx5_ib"), ("ib_core", 495616, "8"),
        ("rdma_ucm", 32768, "0"), ("rdma_cm", 143360, "1 rdma_ucm"), ("overlay", 196608, "0"),
        ("nfsv4", 1081344, "2"), ("nfs", 569344, "3 nfsv4"), ("sunrpc", 802816, "17 nfsv4,nfs"),
        ("kvm", 1409024, "0"), ("nvme", 61440, "2"), ("nvme_core", 212992, "3 nvme"), ("ext4", 1064960, "1"),
        ("jbd2", 200704, "1 ext4"), ("mbcache", 16384, "1 ext4"), ("ipmi_si", 86016, "0"),
        ("ipmi_msghandler", 143360, "1 ipmi_si"), ("mlxfw", 36864, "1 mlx5_core"),
    ]  # fmt: skip
    if node.peer_memory:
        modules.insert(0, ("nvidia_peermem", 16384, "0"))
    rows = [f"{name:<23}{size:>8}  {used}" for name, size, used in modules]
    return "\n".join(["Module                  Size  Used by", *rows]) + "\n"


def systemctl(world: World, node: Machine, rng: Random) -> str:
    """`systemctl show` of the services that matter."""
    limit = "infinity" if node.memlock_bytes is None else str(node.memlock_bytes)
    units = [("slurmd.service", "active", "running", "success", limit)]
    if node.switched:
        states = {"running": ("active", "running", "success"), "failed": ("failed", "failed", "exit-code")}
        units.append(("nvidia-fabricmanager.service", *states[node.fabric_manager], "8388608"))
    return "\n".join(
        f"Id={name}\nLoadState=loaded\nActiveState={active}\nSubState={sub}\nResult={result}\n"
        f"UnitFileState=enabled\nNRestarts=0\nLimitMEMLOCK={lock}\nLimitMEMLOCKSoft={lock}\n"
        for name, active, sub, result, lock in units
    )
