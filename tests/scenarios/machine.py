"""One machine: its sockets, PCIe tree, GPUs and NICs, drawn at random, and what its links carry."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random

from tests.scenarios.hardware import (
    COPY_EFFICIENCY,
    CPU_MODELS,
    DRIVERS,
    FIRST_DRIVER,
    GPU_MODELS,
    LANE_GIGABYTES,
    LAST_DRIVER,
    NIC_MODELS,
    CpuModel,
    GpuModel,
    NicModel,
)


@dataclass
class Slot:
    """Where a device sits."""

    bus_id: str
    port_bus_id: str
    """The bridge above it: a root port, or a switch's downstream port."""
    socket: int
    switch: int | None
    generation: int
    width: int


@dataclass
class Switch:
    """A PCIe switch below a root port."""

    root_port: str
    upstream: str
    socket: int
    generation: int
    ports: list[str] = field(default_factory=list)


@dataclass
class Gpu:
    """A GPU as it is now."""

    index: int
    slot: Slot
    uuid: str
    serial: str
    generation: int
    """Of its link under load."""
    width: int
    links_up: list[bool]
    link_errors: list[dict[str, int]]
    partners: dict[int, int] = field(default_factory=dict)
    """Links to other GPUs by their index, where no switch stands between."""
    answers: bool = True
    speed_ratio: float = 1.0
    """Of its clock under load beside its peers'."""
    power_limit_watts: float = 0.0
    replays: int = 0


@dataclass
class Nic:
    """A NIC of the compute network."""

    name: str
    interface: str
    slot: Slot
    guid: str
    generation: int
    width: int
    gigabits: int
    state: str = "Active"
    physical_state: str = "LinkUp"
    mtu: int = 4096
    counters: dict[str, int] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)
    """What its counters gain a second while the job runs, beyond traffic."""


@dataclass
class Machine:
    """A host."""

    host: str
    address: str
    cpu: CpuModel
    sockets: int
    gpu_model: GpuModel
    nic_model: NicModel
    link_layer: str
    driver: str
    kernel: str
    gpus: list[Gpu]
    nics: list[Nic]
    switches: list[Switch]
    virtual: bool = False
    acs_redirect: bool = False
    iommu: str = "off"
    """`off`, `passthrough` or `translated`."""
    wrong_elements: int = 0
    """Of a collective's result, because copies between GPUs went astray."""
    hidden_topology: bool = False
    shm_mib: int = 0
    memlock_bytes: int | None = None
    numa_balancing: bool = False
    hint_faults_per_second: float = 0.0
    peer_memory: bool = True
    fabric_manager: str = "running"
    kernel_lines: list[str] = field(default_factory=list)
    service_lines: list[str] = field(default_factory=list)
    """What systemd-networkd logs."""
    bound_socket: int | None = None
    """Where all ranks run, whatever their GPU; None: each beside its GPU."""
    uplink_shared: bool = False

    @property
    def numa_nodes(self) -> int:
        """Memory nodes: one for each socket."""
        return self.sockets

    @property
    def cpus_per_socket(self) -> int:
        """Logical processors."""
        return self.cpu.cores * 2

    @property
    def switched(self) -> bool:
        """Whether NVSwitches join the GPUs."""
        return self.gpu_model.form == "switch"

    @property
    def visible(self) -> list[Gpu]:
        """GPUs that answer the driver."""
        return [gpu for gpu in self.gpus if gpu.answers]

    def path(self, a: Slot, b: Slot) -> str:
        """How `nvidia-smi topo -m` names the way between two slots, NVLink aside."""
        if self.hidden_topology:
            return "PHB"
        if a.socket != b.socket:
            return "SYS"
        if a.switch is None or a.switch != b.switch:
            return "NODE"
        return "PIX" if a.port_bus_id == b.port_bus_id else "PXB"

    def nvlinks(self, a: Gpu, b: Gpu) -> int:
        """Links between two GPUs that are up."""
        if self.switched:
            return min(sum(a.links_up), sum(b.links_up))
        wired = a.partners.get(b.index, 0)
        # Links are laid out partner by partner, in order of index.
        return min(sum(part) for part in (_part(a, b.index), _part(b, a.index))) if wired else 0

    def label(self, a: Gpu, b: Gpu) -> str:
        """A cell of the matrix."""
        links = self.nvlinks(a, b)
        return f"NV{links}" if links else self.path(a.slot, b.slot)

    def copy_gigabytes(self, gpu: Gpu) -> float:
        """Copies between host and GPU, GB/s in one direction."""
        return LANE_GIGABYTES[gpu.generation] * gpu.width * COPY_EFFICIENCY[gpu.generation]

    def pair_gigabytes(self, a: Gpu, b: Gpu, peer_access: bool = True) -> float:
        """What one direction between two GPUs carries, GB/s, by the path that the driver takes."""
        links = self.nvlinks(a, b) if peer_access else 0
        if links:
            return links * self.gpu_model.link_gigabytes * 0.86
        narrow = min(self.copy_gigabytes(a), self.copy_gigabytes(b))
        path = self.path(a.slot, b.slot)
        if not peer_access or not self.gpu_model.peer_over_pcie or path in ("PHB", "NODE", "SYS"):
            # Staged in host memory: two copies, and the socket's link where it is crossed.
            staged = narrow * 0.62
            return min(staged, self.cpu.socket_gigabytes * 0.6) if path == "SYS" else staged
        if self.iommu == "translated" and not self.virtual:
            return narrow * 0.25
        return narrow * (0.4 if self.acs_redirect else 0.9)

    def ring_gigabytes(self, gpus: list[Gpu], peer_access: bool = True, nvls: bool = True) -> float:
        """Bus bandwidth of a large all-reduce over some GPUs, GB/s; no limit where there is only one."""
        if len(gpus) < 2:
            return math.inf
        links = min(sum(gpu.links_up) for gpu in gpus) * self.gpu_model.link_gigabytes
        if peer_access and links and self.gpu_model.form in ("switch", "mesh"):
            reduced_in_switch = nvls and self.gpu_model.has_nvls and len(gpus) == 8
            return links * (1.06 if reduced_in_switch else 0.8)
        order = sorted(gpus, key=lambda gpu: gpu.index)
        edges = [self.pair_gigabytes(a, b, peer_access) for a, b in zip(order, [*order[1:], order[0]], strict=True)]
        if len(order) == 2:
            edges = edges[:1]
        shared = 0.55 if self.uplink_shared and len(gpus) > 2 else 1.0
        return min(edges) * 0.9 * shared


def _part(gpu: Gpu, partner: int) -> list[bool]:
    start = sum(links for other, links in sorted(gpu.partners.items()) if other < partner)
    return gpu.links_up[start : start + gpu.partners[partner]]


def draw_machine(rng: Random, host: str, form: str | None = None, compute_nics: bool = False) -> Machine:
    """A machine of some sort; `form` narrows the GPU models, `compute_nics` gives it a fabric worth the name."""
    model = rng.choice([item for item in GPU_MODELS if form is None or item.form == form])
    cpu = rng.choice([item for item in CPU_MODELS if item.generation >= model.generation] or list(CPU_MODELS[:4]))
    if model.form == "switch":
        count, sockets = 8, 2
    elif model.form == "mesh":
        count, sockets = 4, rng.choice([1, 2])
    else:
        count, sockets = rng.choice([2, 4, 4, 6, 8, 8]), rng.choice([1, 2, 2])
    with_switches = model.form == "switch" or (count > 2 and rng.random() < 0.5)
    fast = [item for item in NIC_MODELS if item.generation <= cpu.generation and item.gigabits >= 100]
    nic_model = rng.choice(fast if compute_nics else list(NIC_MODELS[:4]))
    nic_count = rng.choice([4, 8] if model.form == "switch" else [1, 2]) if compute_nics else rng.choice([0, 1])
    machine = Machine(
        host=host,
        address=f"10.{rng.randrange(1, 200)}.{rng.randrange(0, 200)}.{rng.randrange(2, 250)}",
        cpu=cpu,
        sockets=sockets,
        gpu_model=model,
        nic_model=nic_model,
        link_layer=rng.choice(["InfiniBand", "Ethernet"]),
        driver=_driver(rng, model),
        kernel=rng.choice(
            ["5.15.0-122-generic", "6.8.0-45-generic", "5.14.0-427.37.1.el9_4.x86_64", "6.5.0-1024-nvidia"]
        ),
        gpus=[],
        nics=[],
        switches=[],
        shm_mib=rng.choice([128_000, 256_000, 515_000, 1_031_000]),
        virtual=model.form != "switch" and rng.random() < 0.15,
    )
    # Most hypervisors show the guest a flat PCIe tree.
    machine.hidden_topology = machine.virtual and rng.random() < 0.7
    _fill(rng, machine, count, nic_count, with_switches)
    _join(machine)
    return machine


def _driver(rng: Random, model: GpuModel) -> str:
    low, high = FIRST_DRIVER[model.architecture], LAST_DRIVER.get(model.architecture, 999)
    return rng.choice([version for version in DRIVERS if low <= int(version[:3]) <= high])


def _fill(rng: Random, machine: Machine, gpus: int, nics: int, with_switches: bool) -> None:
    """Put GPUs and NICs into slots: spread over the sockets, below switches or root ports."""
    generation = machine.cpu.generation
    bus = [0x10 + 0x70 * socket + rng.randrange(0, 8) for socket in range(machine.sockets)]
    per_socket = -(-gpus // machine.sockets)
    group = rng.choice([2, 4]) if per_socket >= 4 else 2
    current: list[Switch | None] = [None] * machine.sockets
    used = [0] * machine.sockets

    def slot(socket: int) -> Slot:
        at = current[socket]
        if with_switches:
            if at is None or used[socket] >= group + (1 if nics else 0):
                root = bus[socket]
                at = Switch(f"0000:{root:02x}:01.0", f"0000:{root + 1:02x}:00.0", socket, generation)
                machine.switches.append(at)
                current[socket], used[socket] = at, 0
                bus[socket] += 3
            port = f"0000:{int(at.upstream[5:7], 16) + 1:02x}:{len(at.ports):02x}.0"
            at.ports.append(port)
            used[socket] += 1
            place = Slot(f"0000:{bus[socket]:02x}:00.0", port, socket, machine.switches.index(at), generation, 16)
            bus[socket] += 1
            return place
        root = bus[socket]
        bus[socket] += rng.choice([2, 3, 8])
        return Slot(f"0000:{root + 1:02x}:00.0", f"0000:{root:02x}:01.0", socket, None, generation, 16)

    model = machine.gpu_model
    per_gpu = nics / gpus
    placed = 0
    for index in range(gpus):
        socket = index // per_socket
        place = slot(socket)
        # The device's own generation bounds the link; switches and processors of the machine are at least as fast.
        machine.gpus.append(
            Gpu(
                index,
                place,
                "GPU-" + "-".join(f"{rng.getrandbits(4 * n):0{n}x}" for n in (8, 4, 4, 4, 12)),
                str(rng.randrange(10**12, 2 * 10**12)),
                min(model.generation, place.generation),
                place.width,
                [],
                [],
                power_limit_watts=float(model.watts),
            )
        )
        while placed < nics and placed < round(per_gpu * (index + 1) + 0.49):
            machine.nics.append(_nic(rng, machine, slot(socket), placed))
            placed += 1


def _nic(rng: Random, machine: Machine, place: Slot, number: int) -> Nic:
    bus = int(place.bus_id[5:7], 16)
    name = f"mlx5_{number}"
    interface = f"ib{number}" if machine.link_layer == "InfiniBand" else f"ens{bus}np0"
    model = machine.nic_model
    nic = Nic(name, interface, place, f"{rng.getrandbits(64):016x}", model.generation, 16, model.gigabits)
    nic.counters = {"PortXmitData": rng.randrange(10**10, 10**13), "PortRcvData": rng.randrange(10**10, 10**13)}
    return nic


def _join(machine: Machine) -> None:
    """NVLinks: to switches, wired between all, or by bridges between neighbours."""
    model = machine.gpu_model
    for gpu in machine.gpus:
        if model.form == "mesh":
            share = model.links // (len(machine.gpus) - 1)
            gpu.partners = {other.index: share for other in machine.gpus if other is not gpu}
        elif model.form == "bridge":
            partner = gpu.index ^ 1
            if partner < len(machine.gpus) and machine.gpus[partner].slot.socket == gpu.slot.socket:
                gpu.partners = {partner: model.links}
        links = model.links if model.form == "switch" else sum(gpu.partners.values())
        gpu.links_up = [True] * links
        gpu.link_errors = [dict.fromkeys(("replay", "recovery", "crc"), 0) for _ in range(links)]
