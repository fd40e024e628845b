"""What is simulated: a GPU, an inference server on it, its clients, a training job nearby, and the host they run on.

Faults change these knobs and nothing else; all that is measured follows from them (`engine`, `conditions`,
`telemetry`). Numbers of hardware are those of data sheets; shares that are reached in practice are judgements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

TICK = 0.1
"""Seconds of a tick, the grid on which others load what is shared."""


@dataclass(slots=True)
class Gpu:
    """One sort of GPU, with a model that fits it."""

    name: str
    bandwidth: float
    """Bytes a second that are reached."""
    flops: float
    """Operations a second that are reached."""
    power_limit: float
    power_idle: float
    clock_max: int
    clock_idle: int
    memory_clock: int
    memory_bytes: float
    pcie_bytes: float
    """Bytes a second over PCIe that are reached."""
    slowdown_celsius: float
    model: str
    weights_bytes: float
    """Bytes of weights on each GPU."""
    kv_bytes: float
    """Bytes of KV cache of a token on each GPU."""
    group: int
    """GPUs that share each layer."""


GPUS: Sequence[Gpu] = (
    Gpu("NVIDIA H100 80GB HBM3", 2.7e12, 5.0e14, 700, 72, 1980, 345, 2619, 80e9, 50e9, 87,
        "acme/chat-32b", 60e9, 100e3, 1),
    Gpu("NVIDIA H100 80GB HBM3", 2.7e12, 5.0e14, 700, 72, 1980, 345, 2619, 80e9, 50e9, 87,
        "acme/chat-70b", 35e9, 82e3, 4),
    Gpu("NVIDIA A100-SXM4-80GB", 1.6e12, 1.7e14, 400, 58, 1410, 210, 1593, 80e9, 24e9, 85,
        "acme/chat-14b", 28e9, 197e3, 1),
    Gpu("NVIDIA L40S", 0.69e12, 1.1e14, 350, 35, 2520, 210, 9001, 48e9, 24e9, 88,
        "acme/chat-8b", 16e9, 131e3, 1),
)  # fmt: skip


@dataclass(slots=True)
class Server:
    """The inference server and its settings."""

    engine: str
    """`vllm` or `sglang`."""
    max_running: int = 64
    budget: int = 1024
    """Tokens of a step."""
    chunked: bool = True
    kv_tokens: int = 200_000
    graph_max: int = 256
    """Largest batch with a CUDA graph."""
    host_seconds: float = 0.004
    """Time of a step in which the GPU waits for the host."""
    quota_cpus: float | None = None
    compiles: bool = False
    """Whether kernels are compiled when a shape first occurs."""
    collects_every: int = 0
    """Requests between two long garbage collections; 0 for none that are long."""
    collection_seconds: float = 0.0
    profiled: tuple[float, float] | None = None
    """From when to when, as shares of the run, a profiler is attached."""
    straggler: float = 0.0
    """How much longer than the others the hottest GPU of the group takes while heat holds it down, as a share."""
    scale_out_at: float | None = None
    """When, as a share of the run, another replica begins to take half of the requests, before it is warm."""


@dataclass(slots=True)
class Load:
    """What clients ask for."""

    use: float
    """Share of the server's capacity."""
    pattern: str = "poisson"
    """`poisson`, `bursty`, `sessions`, `diurnal` or `closed`."""
    prompt_median: float = 260
    prompt_sigma: float = 0.7
    prompt_most: int = 2000
    answer_median: float = 110
    answer_sigma: float = 0.55
    answer_most: int = 700
    long_share: float = 0.0
    """Share of requests with prompts of 6,000 to 14,000 tokens."""
    clients: int = 12
    """Of a closed loop."""
    client_pauses: float = 0.0
    """Mean time by which a client's own pauses delay what it notes; they come in bursts."""
    rate: float = 0.0
    """Requests a second; follows from `use` where it is 0."""


@dataclass(slots=True)
class Training:
    """A training job: steps with a part in which GPUs compute and a part in which they exchange."""

    place: str
    """`same-gpu`, `same-node` or `other-node`."""
    step_seconds: float = 9.0
    exchange_share: float = 0.3
    checkpoint_every: float = 200.0
    checkpoint_seconds: float = 14.0
    egress: float = 0.0
    """Share of the NIC that an exchange asks for; above 1 it does not get all of it."""
    own_nic: bool = True
    """Whether its exchange leaves through another NIC than answers do."""
    compute: float = 0.0
    """Share of the inference GPU's time that its kernels take while it computes."""
    bandwidth: float = 0.0
    """Share of the inference GPU's memory bandwidth that it takes while it computes."""
    pcie: float = 0.0
    """Share of the inference GPU's PCIe link that is left to others while the job loads its input."""
    uplink_seconds: float = 0.0
    """Delay of answers in the switches while it exchanges."""
    writes: float = 0.0
    """Bytes a second of a checkpoint to storage that the host shares."""
    write_stall: float = 0.0
    """Mean length of the stalls that a checkpoint brings the server, in seconds."""
    cores: float = 8.0
    """CPUs that it keeps busy."""
    started_at: float | None = None
    """When it began within the run, as a share; None for before."""


@dataclass(slots=True)
class Host:
    """The host and what troubles it."""

    name: str
    cores: int = 64
    nic: str = "eth0"
    nic_bytes: float = 3.1e9
    zone: str = "local"
    """Which times its tools tell: `local`, or `utc` where the host is recorded."""
    crossing: float = 1.0
    """Factor on host time and copies where the server sits on the other NUMA node."""
    cpu_clock: float = 1.0
    """Share of the CPUs' highest clock."""
    governor: str = "performance"
    others: float = 6.0
    """CPUs kept busy by others, mean."""
    bursts: float = 0.0
    """CPUs' worth of work that comes in bursts on top, beyond the cores."""
    interrupts: float = 0.0
    """Share of the serving cores that interrupts take while a lot is received."""
    reclaim: float = 0.0
    """Mean length of the stalls in which memory is freed, in seconds."""
    loss: float = 0.0
    """Share of answers that lose a segment while the network is bad."""
    task_period: float = 0.0
    """Seconds between runs of a task that halts the server for `task_seconds`; 0 for none."""
    task_seconds: float = 0.0
    persistence: bool = True


@dataclass(slots=True)
class Clocks:
    """What the GPU's clocks do."""

    idles_after: float | None = None
    """Seconds without work after which clocks fall; None where they do not."""
    ramp_seconds: float = 0.0
    power_limit: float | None = None
    """Limit below the default."""
    ambient_celsius: float = 30.0
    celsius_per_watt: float = 0.062
    pcie_width: int = 16


@dataclass(slots=True)
class World:
    """One run."""

    seed: int
    seconds: float
    start: float
    """Unix time of the beginning."""
    gpu: Gpu
    server: Server
    load: Load
    host: Host
    training: Training | None
    clocks: Clocks = field(default_factory=Clocks)
    brings: set[str] = field(default_factory=set)
    """Files beside those that always come."""
    scheduler: str = "none"
    """`slurm`, `kubernetes` or `none`: whose listing comes along."""
    intrudes: bool = False
    """Whether the training job is on a node of the inference pool."""

    def prompt_mean(self) -> float:
        """Tokens of a prompt, mean."""
        load = self.load
        usual = min(load.prompt_median * math.exp(load.prompt_sigma**2 / 2), load.prompt_most)
        return usual * (1 - load.long_share) + 9000 * load.long_share

    def answer_mean(self) -> float:
        """Tokens of an answer, mean."""
        return min(self.load.answer_median * math.exp(self.load.answer_sigma**2 / 2), self.load.answer_most)

    def token_seconds(self) -> float:
        """Time that the GPU needs for a prompt token."""
        return 2 * self.gpu.weights_bytes / 2 / self.gpu.flops

    def decode_seconds(self, running: float) -> float:
        """Time of a step without prompts."""
        length = self.prompt_mean() + self.answer_mean() / 2
        moved = self.gpu.weights_bytes + running * length * self.gpu.kv_bytes
        return 1.2 * moved / self.gpu.bandwidth + self.server.host_seconds

    def capacity(self) -> float:
        """Requests a second that the server can answer: prompts and answers together fill its time."""
        fitting = 0.9 * self.server.kv_tokens / (self.prompt_mean() + self.answer_mean())
        running = max(1.0, min(self.server.max_running, fitting))
        each = self.prompt_mean() * self.token_seconds()
        each += self.answer_mean() * self.decode_seconds(running) / running
        return 1.0 / each


def draw_world(seed: int, rng: Random) -> World:
    """A run in which nothing is wrong: any load up to 70 % of capacity, with or without training on the node."""
    gpu = rng.choice(GPUS)
    free = (gpu.memory_bytes * 0.9 - gpu.weights_bytes) * 0.9
    server = Server(
        engine=rng.choice(["vllm", "vllm", "sglang"]),
        max_running=rng.choice([48, 64, 96, 128]),
        budget=rng.choice([512, 1024, 1024, 2048]),
        kv_tokens=int(free / gpu.kv_bytes),
        host_seconds=rng.uniform(0.003, 0.006),
    )
    load = Load(
        use=rng.uniform(0.25, 0.7),
        pattern=rng.choice(["poisson", "poisson", "bursty", "diurnal"]),
        prompt_median=rng.uniform(150, 350),
        answer_median=rng.uniform(60, 140),
    )
    host = Host(
        name=f"{rng.choice(['gpu', 'srv', 'node', 'infer'])}{rng.randrange(1, 60):02d}",
        cores=rng.choice([48, 64, 96, 128]),
        nic=rng.choice(["eth0", "ens3f0np0", "bond0"]),
        nic_bytes=rng.choice([3.1e9, 3.1e9, 6.2e9]),
        others=rng.uniform(2, 10),
    )
    training = None
    if rng.random() < 0.6:
        training = Training(
            place="same-node",
            step_seconds=rng.uniform(5, 14),
            exchange_share=rng.uniform(0.2, 0.4),
            checkpoint_every=rng.uniform(150, 300),
            checkpoint_seconds=rng.uniform(8, 20),
            cores=rng.uniform(4, 14),
            writes=rng.uniform(2e8, 9e8),
            egress=rng.uniform(0.3, 0.6),
        )
    # Runs begin at any second of a day; none passes midnight.
    start = 1772323200.0 + 86400 * rng.randrange(60) + rng.randrange(3600, 80000)
    world = World(
        seed=seed, seconds=rng.choice([600.0, 600.0, 720.0]), start=start, gpu=gpu, server=server, load=load,
        host=host, training=training, scheduler=rng.choice(["slurm", "kubernetes", "none"]),
    )  # fmt: skip
    world.clocks.ambient_celsius = rng.uniform(26, 34)
    for name, chance in (("dmon", 0.4), ("metrics", 0.5), ("recorded", 0.35)):
        if rng.random() < chance:
            world.brings.add(name)
    return world
