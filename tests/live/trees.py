"""Stand-ins for /proc and /sys, as folders: a server with eight GPUs, a small virtual machine, and nothing."""

from __future__ import annotations

from pathlib import Path

NEAR = {0: "0-3,8-11", 1: "4-7,12-15"}
"""CPUs of the two sockets of the server."""
GPUS = {minor: f"0000:{bus:02x}:00.0" for minor, bus in enumerate((0x1B, 0x1C, 0x43, 0x44, 0x9B, 0x9C, 0xCF, 0xD0))}
PORT = "0000:1a:01.0"
"""The switch port above the first GPU."""
NIC = "0000:18:00.0"
RANK = 4242
"""A process that holds the first GPU, which is near node 0, and runs on node 1."""

_STALL = "some avg10=1.50 avg60=0.40 avg300=0.10 total=123456\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=2345\n"


class Tree:
    """Writes files below a root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def file(self, path: str, content: str | bytes) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())

    def files(self, folder: str, **contents: object) -> None:
        for name, content in contents.items():
            self.file(f"{folder}/{name}", f"{content}\n")

    def link(self, path: str, target: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)


def configuration_space(*, redirect: bool) -> bytes:
    """4096 bytes of a bridge above bus 0x1b, with AER at 0x100, one bad packet seen, and ACS at 0x148."""
    data = bytearray(4096)
    data[0:4] = (0x10B5).to_bytes(2, "little") + (0x8764).to_bytes(2, "little")
    data[0x0E], data[0x19] = 0x01, 0x1B
    data[0x100:0x104] = (0x148 << 20 | 1 << 16 | 0x0001).to_bytes(4, "little")
    data[0x110:0x114] = (1 << 6 | 1 << 13).to_bytes(4, "little")
    data[0x114:0x118] = (1 << 13).to_bytes(4, "little")
    data[0x148:0x14C] = (1 << 16 | 0x000D).to_bytes(4, "little")
    data[0x14E:0x150] = (0x1D if redirect else 0x01).to_bytes(2, "little")
    return bytes(data)


def eight_gpu_server(root: Path) -> Path:
    """Two sockets, eight GPUs, one InfiniBand adapter; settings that rules complain about."""
    tree = Tree(root)
    _kernel(tree, cpus="0-15", command_line="BOOT_IMAGE=/vmlinuz root=/dev/sda2 iommu=pt token=hidden quiet")
    tree.files("proc/sys/kernel", numa_balancing=1, hostname="gpu-07")
    for node, cpus in NEAR.items():
        _node(tree, node, cpus, "10 21" if node == 0 else "21 10")
    for cpu in range(16):
        _cpu(tree, cpu, "performance" if cpu < 4 else "powersave")
    tree.files("sys/devices/system/cpu/intel_pstate", no_turbo=0)
    tree.files("sys/devices/system/edac/mc/mc0", ce_count=7, ue_count=0)
    _bridge(tree)
    for minor, bus_id in GPUS.items():
        _gpu(tree, minor, bus_id)
    _adapter(tree)
    _interrupts(tree)
    _process(tree)
    return root


def small_virtual_machine(root: Path) -> Path:
    """Two CPUs, one memory node, a virtual network card, no cpufreq, no GPU."""
    tree = Tree(root)
    _kernel(tree, cpus="0-1", command_line="console=ttyS0 root=/dev/vda1")
    tree.files("proc/sys/kernel", numa_balancing=0, hostname="vm-1")
    _node(tree, 0, "0-1", "10")
    device = "sys/bus/pci/devices/0000:00:03.0"
    tree.files(device, **{"class": "0x020000", "vendor": "0x1af4", "device": "0x1041", "numa_node": -1})
    _interface(tree, "ens3", speed=None)
    return root


def _kernel(tree: Tree, cpus: str, command_line: str) -> None:
    tree.file("proc/cmdline", f"{command_line}\n")
    tree.file("proc/loadavg", "3.50 2.25 1.75 9/812 4711\n")
    tree.file("proc/stat", "cpu  100 0 50 1000 5 1 2 30 0 0\ncpu0 1 2 3\nprocs_running 9\nprocs_blocked 1\n")
    tree.file("proc/vmstat", "nr_free_pages 5\npgmajfault 10\npswpin 0\npswpout 0\nnuma_hint_faults 900\n")
    tree.file(
        "proc/meminfo",
        "MemTotal: 2048 kB\nMemAvailable: 1024 kB\nSwapTotal: 512 kB\nSwapFree: 384 kB\nDirty: 8 kB\n"
        "Writeback: 4 kB\nHugePages_Total: 3\nHugePages_Free: 1\nHugepagesize: 2048 kB\n",
    )
    tree.file("proc/self/limits", "Max locked memory         8388608              8388608              bytes\n")
    tree.file("proc/self/cgroup", "0::/system.slice/job.service\n")
    group = "sys/fs/cgroup/system.slice/job.service"
    tree.file(f"{group}/cpu.max", "200000 100000\n")
    tree.file(f"{group}/cpu.stat", "usage_usec 5\nnr_periods 100\nnr_throttled 25\nthrottled_usec 1500000\n")
    tree.file(f"{group}/memory.max", "max\n")
    for resource in ("cpu", "memory", "io"):
        tree.file(f"proc/pressure/{resource}", _STALL)
    tree.files("sys/devices/system/cpu", online=cpus, present=f"{cpus},16")
    tree.file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
    tree.file("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
    tree.file("proc/net/snmp", "Tcp: OutSegs RetransSegs InCsumErrors\nTcp: 1000 20 0\n")
    tree.file("proc/net/netstat", "TcpExt: ListenOverflows TCPTimeouts\nTcpExt: 3 4\n")
    tree.file("proc/net/sockstat", "sockets: used 9\nTCP: inuse 6 orphan 0 tw 0 alloc 7 mem 2\n")
    tree.file("proc/net/softnet_stat", "000000ff 00000001 00000002 0\n00000001 00000000 00000000 0\n")


def _node(tree: Tree, node: int, cpus: str, distances: str) -> None:
    tree.files(f"sys/devices/system/node/node{node}", cpulist=cpus, distance=distances)
    meminfo = f"Node {node} MemTotal:       1024 kB\nNode {node} MemFree:         256 kB\nNode {node} Dirty: 0 kB\n"
    tree.file(f"sys/devices/system/node/node{node}/meminfo", meminfo)


def _cpu(tree: Tree, cpu: int, governor: str) -> None:
    tree.files(
        f"sys/devices/system/cpu/cpufreq/policy{cpu}",
        affected_cpus=cpu,
        scaling_governor=governor,
        scaling_driver="intel_pstate",
        scaling_max_freq=2_000_000,
        cpuinfo_max_freq=3_500_000,
    )
    state = f"sys/devices/system/cpu/cpu{cpu}/cpuidle/state1"
    tree.files(state, name="C6", latency=133, disable=int(cpu < 2), time=1000)


def _bridge(tree: Tree) -> None:
    device = f"sys/bus/pci/devices/{PORT}"
    tree.files(device, **{"class": "0x060400", "vendor": "0x10b5", "device": "0x8764"})
    tree.file(f"{device}/config", configuration_space(redirect=True))


def _gpu(tree: Tree, minor: int, bus_id: str) -> None:
    node = 0 if minor < 4 else 1
    device = f"sys/bus/pci/devices/{bus_id}"
    tree.files(
        device,
        **{"class": "0x030200", "vendor": "0x10de", "device": "0x2330", "numa_node": node, "local_cpulist": NEAR[node]},
        current_link_speed="32.0 GT/s PCIe",
        current_link_width=8 if minor == 2 else 16,
        max_link_speed="32.0 GT/s PCIe",
        max_link_width=16,
    )
    tree.file(f"{device}/resource", "0x00000000c0000000 0x00000000c0ffffff 0x0000000000040200\n")
    tree.file(f"{device}/aer_dev_correctable", f"RxErr 0\nBadTLP {5 if minor == 2 else 0}\nTOTAL_ERR_COR 5\n")
    tree.file(f"{device}/config", b"\xff" * 64 if minor == 5 else b"\xde\x10" + bytes(62))
    tree.link(f"{device}/driver", "../../../bus/pci/drivers/nvidia")
    information = f"Model: \t\t NVIDIA H100 80GB HBM3\nBus Location: \t {bus_id}\nDevice Minor: \t {minor}\n"
    tree.file(f"proc/driver/nvidia/gpus/{bus_id}/information", information)


def _interface(tree: Tree, name: str, speed: int | None) -> None:
    path = f"sys/class/net/{name}"
    tree.files(path, operstate="up", carrier=1, duplex="full", mtu=9000, type=1, carrier_changes=3)
    if speed is not None:
        tree.files(path, speed=speed)
    tree.files(f"{path}/statistics", rx_bytes=1000, tx_bytes=2000, rx_errors=0, rx_dropped=4)


def _adapter(tree: Tree) -> None:
    device = f"sys/bus/pci/devices/{NIC}"
    tree.files(
        device,
        **{"class": "0x020700", "vendor": "0x15b3", "device": "0x1021", "numa_node": 0, "local_cpulist": NEAR[0]},
        current_link_speed="16.0 GT/s PCIe",
        current_link_width=16,
        max_link_speed="32.0 GT/s PCIe",
        max_link_width=16,
    )
    _interface(tree, "ib0", speed=400_000)
    tree.link("sys/class/net/ib0/device", f"../../../bus/pci/devices/{NIC}")
    (tree.root / device / "infiniband/mlx5_0").mkdir(parents=True)
    (tree.root / device / "net/ib0").mkdir(parents=True)
    rdma = "sys/class/infiniband/mlx5_0"
    tree.files(rdma, hca_type="MT4129", fw_ver="28.39.1002", board_id="MT_0000000838")
    tree.link(f"{rdma}/device", f"../../../bus/pci/devices/{NIC}")
    port = f"{rdma}/ports/1"
    tree.files(port, state="4: ACTIVE", phys_state="5: LinkUp", rate="400 Gb/sec (4X NDR)", link_layer="InfiniBand")
    tree.files(f"{port}/counters", symbol_error=12, port_rcv_data=100, link_downed=1)
    tree.files(f"{port}/hw_counters", out_of_sequence=5)
    tree.files(f"{port}/gids", **{"0": "fe80:0000:0000:0000:0002:c903:00aa:bbcc", "1": "0000:" * 7 + "0000"})


def _interrupts(tree: Tree) -> None:
    for number, cpus in (("90", "0-3"), ("91", "4")):
        (tree.root / f"sys/bus/pci/devices/{NIC}/msi_irqs").mkdir(exist_ok=True)
        tree.file(f"sys/bus/pci/devices/{NIC}/msi_irqs/{number}", "msix\n")
        tree.files(f"proc/irq/{number}", smp_affinity_list=cpus, effective_affinity_list=cpus)
    heading = "".join(f"{f'CPU{cpu}':>11}" for cpu in range(16))
    row = "".join(f"{1:>11}" for _ in range(16))
    tree.file("proc/interrupts", f"     {heading}\n  1: {row}  other\n 90: {row}  mlx5\n 91: {row}  mlx5\nNMI: {row}\n")


def _process(tree: Tree) -> None:
    path = f"proc/{RANK}"
    tree.file(
        f"{path}/status",
        "Name:\tpython3\nVmRSS:\t  400 kB\nThreads:\t2\nCpus_allowed:\tf0f0\n"
        "Cpus_allowed_list:\t4-7,12-15\nMems_allowed_list:\t0-1\n",
    )
    tree.link(f"{path}/fd/3", "/dev/nvidiactl")
    tree.link(f"{path}/fd/4", "/dev/nvidia0")
    tree.file(
        f"{path}/environ", b"NCCL_DEBUG=INFO\0OMP_NUM_THREADS=8\0AWS_SECRET=x\0NCCL_API_KEY=x\0HOME=/home/someone\0"
    )
    tree.file(
        f"{path}/numa_maps",
        "7f00 default anon=75 N0=25 N1=50 kernelpagesize_kB=4\n7f01 default file=/data/x N1=25 kernelpagesize_kB=4\n",
    )
    tree.file(f"{path}/cgroup", "0::/kubepods.slice/pod1\n")
    tree.file(f"{path}/schedstat", "1000 50 3\n")
    tree.file(f"{path}/limits", "Max locked memory         65536                65536                bytes\n")
    for thread, cpu in ((RANK, 5), (RANK + 1, 0)):
        fields = ["S", *(["0"] * 35), str(cpu)]
        tree.file(f"{path}/task/{thread}/stat", f"{thread} (py thon) {' '.join(fields)} 0 0\n")
    tree.files("proc/1", comm="systemd")
    (tree.root / "proc/1/fd").mkdir()
