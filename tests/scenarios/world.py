"""The machines of a job, the network between them and the job itself: what faults change and writers print."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from tests.scenarios.hardware import NCCL_VERSIONS
from tests.scenarios.machine import Gpu, Machine, draw_machine


@dataclass
class Leaf:
    """A switch that hosts hang at."""

    name: str
    hosts: list[str]
    uplinks: int
    guid: str


@dataclass
class TracedStep:
    """How a step looks to a profiler. The shares are of the time that the step's kernels take."""

    kernels: int = 70
    kernel_us: float = 150.0
    interval_us: float = 25.0
    loader_share: float = 0.004
    exchange_share: float = 0.3
    overlapped: bool = True
    worker_processes: bool = True


@dataclass
class Hang:
    """How the job stopped."""

    sort: str
    """`mismatch`, `died`, `loader`, `unreachable`, `rdma` or `slow` (only the limit was passed)."""
    rank: int
    sequence: int
    detail: str = ""


@dataclass
class Job:
    """A training job or benchmark."""

    nccl_version: str
    nccl_versions: dict[str, str] = field(default_factory=dict)
    """Hosts with another one."""
    environment: dict[str, str] = field(default_factory=dict)
    network: str = "IB"
    interface: str = "eth0"
    devices: list[str] = field(default_factory=list)
    """RDMA devices that NCCL took; empty: those of the compute network."""
    peer_access: bool = True
    peer_reason: str | None = None
    gpudirect: bool = True
    nvls: bool = True
    plugin: str | None = None
    efficiency: float = 1.0
    """Of collectives, beside what links give: algorithm, protocol, library."""
    tensor_parallel: int = 1
    pipeline: int = 1
    layers: int = 32
    hidden: int = 4096
    sequence: int = 4096
    global_batch: int = 512
    micro_batch: int = 1
    wait_ratio: float = 0.03
    """Of communication that nothing hides, beside a step's computation, where the network keeps up."""
    rank_factors: dict[int, float] = field(default_factory=dict)
    """How many times longer than others a rank computes."""
    step_variation: float = 0.0
    """Relative deviation of each rank's work from step to step."""
    stage_factors: dict[int, float] = field(default_factory=dict)
    onset_step: int | None = None
    onset_factor: float = 1.0
    hang: Hang | None = None
    trace: TracedStep = field(default_factory=TracedStep)
    message_bytes: list[int] = field(default_factory=lambda: [25 << 20, 25 << 20, 25 << 20, 7 << 20, 1 << 20])
    """Of the collectives of a step."""
    checkpoint_every: int = 0
    """Steps; 0 where none is written while the log lasts."""
    checkpoint_seconds: float = 0.0
    bad_pair: tuple[str, str] | None = None
    slow_host: str | None = None
    leaf_slowdown: float = 1.0
    """How many times longer the exchange takes once it leaves a leaf switch."""

    @property
    def parameters(self) -> float:
        """Weights of the model: twelve hidden^2 a layer, and an embedding."""
        return 12.0 * self.hidden**2 * self.layers + 51200.0 * self.hidden


@dataclass
class World:
    """Everything that is true; the first machine of `nodes` is the one that an operator looks at first."""

    nodes: list[Machine]
    job: Job
    leaves: list[Leaf]
    loaded: bool
    seed: int
    notes: list[str] = field(default_factory=list)

    @property
    def suspect(self) -> Machine:
        """The machine that host-level faults are in."""
        return self.nodes[0]

    @property
    def ranks(self) -> list[tuple[int, Machine, Gpu]]:
        """Global rank, its host and its GPU."""
        members = [(node, gpu) for node in self.nodes for gpu in node.visible]
        return [(number, node, gpu) for number, (node, gpu) in enumerate(members)]

    def world_size(self) -> int:
        """Ranks of the job."""
        return sum(len(node.visible) for node in self.nodes)

    def compute_seconds(self, gpus: int | None = None) -> float:
        """Of one step on some number of GPUs: six operations for each weight and token."""
        gpus = self.world_size() if gpus is None else gpus
        tokens = self.job.global_batch * self.job.sequence
        return 6.0 * self.job.parameters * tokens / (gpus * self.suspect.gpu_model.operations_per_second)

    def exchange_seconds(self, gpus: int | None = None) -> float:
        """What gradients in 16 bits take on the network, whether hidden or not."""
        gpus = self.world_size() if gpus is None else gpus
        job = self.job
        data = max(1, gpus // (job.pipeline * job.tensor_parallel))
        size = 2.0 * job.parameters / (job.pipeline * job.tensor_parallel)
        return 2 * (data - 1) / data * size / (self.collective_gigabytes() * 1e9)

    def exposed_seconds(self, gpus: int | None = None) -> float:
        """Communication that the backward pass does not hide."""
        compute = self.compute_seconds(gpus)
        return compute * self.job.wait_ratio + max(0.0, self.exchange_seconds(gpus) - 0.55 * compute)

    def direct(self, node: Machine, gpu: Gpu) -> bool:
        """Whether traffic of a GPU goes to a NIC without a stop in host memory: a NIC below the same switch."""
        near = any(nic.slot.switch is not None and nic.slot.switch == gpu.slot.switch for nic in node.nics)
        return self.job.gpudirect and near and node.gpu_model.supports_gpudirect

    def nic_gigabytes(self, node: Machine) -> float:
        """What the NICs that NCCL uses carry together, GB/s in one direction."""
        job = self.job
        if job.network != "IB":
            return 1.1 if job.network == "Socket-slow" else 5.0
        narrow = min(
            min(nic.gigabits / 8, _pcie(nic.generation, nic.width)) for nic in node.nics if nic.state == "Active"
        )
        count = len(job.devices) or len(node.nics)
        return narrow * count * (0.92 if self.direct(node, node.visible[0]) else 0.55)

    def collective_gigabytes(self, nodes: Sequence[Machine] | None = None) -> float:
        """Bus bandwidth of a large all-reduce over all GPUs of some nodes, GB/s."""
        nodes = self.nodes if nodes is None else nodes
        job = self.job
        inside = min(node.ring_gigabytes(node.visible, job.peer_access, job.nvls) for node in nodes)
        if len(nodes) == 1:
            return inside * job.efficiency
        across = min(self.nic_gigabytes(node) for node in nodes)
        return min(inside, across) * job.efficiency


def _pcie(generation: int, width: int) -> float:
    return {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938}[generation] * width * 0.9


def draw_world(seed: int, several: bool, form: str | None = None) -> World:
    """A job on one machine, or on several alike, from a seed."""
    rng = Random(seed)
    count = rng.choice([2, 2, 4, 6, 8, 12, 16, 24, 32]) if several else 1
    stem = rng.choice(["gpu", "node", "dgx", "hgx-", "worker", "cn", "trn-a", "nid"])
    width = rng.choice([2, 3, 4])
    first = draw_machine(rng, f"{stem}{rng.randrange(1, 60):0{width}d}", form, compute_nics=several)
    if several:
        first.virtual = False
    nodes = [first]
    start = int("".join(letter for letter in first.host.removeprefix(stem)))
    for number in range(1, count):
        nodes.append(_sibling(rng, first, f"{stem}{start + number:0{width}d}", number))
    per_leaf = rng.choice([4, 8, 16])
    leaves = [
        Leaf(
            f"leaf{number + 1:02d}",
            [node.host for node in nodes[at : at + per_leaf]],
            per_leaf * max(1, len(first.nics)),
            f"{rng.getrandbits(64):016x}",
        )
        for number, at in enumerate(range(0, count, per_leaf))
    ]
    driver = int(first.driver[:3])
    versions = [name for name, cuda in NCCL_VERSIONS.items() if float(cuda) <= (driver - 525) / 25 + 12.0]
    job = Job(
        nccl_version=rng.choice(versions or ["2.18.5"]),
        interface=rng.choice(["eth0", "eno1", "bond0", "ens3f0"]),
        peer_access=first.gpu_model.peer_over_pcie,
        wait_ratio=rng.uniform(0.02, 0.08),
    )
    world = World(nodes, job, leaves, rng.random() < 0.6, seed)
    _plan(rng, world)
    job.trace.kernel_us = rng.uniform(90, 300)
    job.trace.exchange_share = rng.uniform(0.1, 0.5)
    return world


def _plan(rng: Random, world: World) -> None:
    """A model that fits into memory, and a batch whose computation hides the exchange, as sound jobs have them."""
    job = world.job
    job.layers, job.hidden = rng.choice([(24, 1024), (24, 2048), (32, 2560), (32, 4096), (40, 5120)])
    memory = world.world_size() * world.suspect.gpu_model.memory_mib * 2**20
    while job.parameters * 18 > 0.6 * memory and job.hidden > 768:
        job.hidden //= 2
    job.sequence = rng.choice([2048, 4096])
    job.global_batch = world.world_size()
    enough = world.exchange_seconds() / (rng.uniform(0.1, 0.35) * world.compute_seconds())
    job.global_batch *= max(rng.choice([1, 2, 4, 8]), math.ceil(enough))


def _sibling(rng: Random, first: Machine, host: str, number: int) -> Machine:
    """Another machine of the same make, with names and serial numbers of its own."""
    twin = copy.deepcopy(first)
    twin.host = host
    stem, _, last = first.address.rpartition(".")
    twin.address = f"{stem}.{(int(last) + number) % 250 + 2}"
    for gpu in twin.gpus:
        gpu.uuid = "GPU-" + "-".join(f"{rng.getrandbits(4 * n):0{n}x}" for n in (8, 4, 4, 4, 12))
        gpu.serial = str(rng.randrange(10**12, 2 * 10**12))
    for nic in twin.nics:
        nic.guid = f"{rng.getrandbits(64):016x}"
    return twin
