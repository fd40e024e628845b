"""The causes of jitter: how each changes a world, and what an operator brings who looks into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from tests.scenarios.serving.world import GPUS, Training, World

_FAULTS: dict[str, Fault] = {}


@dataclass(frozen=True, slots=True)
class Fault:
    """One cause to inject."""

    cause: str
    inject: Callable[[World, Random], None]
    uses: frozenset[str]
    """Parts of the world that it decides on: of two causes in one run each decides on its own."""


def _fault(cause: str, *uses: str) -> Callable[[Callable[[World, Random], None]], Callable[[World, Random], None]]:
    def declare(inject: Callable[[World, Random], None]) -> Callable[[World, Random], None]:
        _FAULTS[cause] = Fault(cause, inject, frozenset(uses))
        return inject

    return declare


def _job(world: World, rng: Random, place: str) -> Training:
    """A training job whose steps are long enough to be seen at one reading a second."""
    job = Training(
        place=place, step_seconds=rng.uniform(8, 16), exchange_share=rng.uniform(0.3, 0.5),
        checkpoint_every=rng.uniform(150, 300), checkpoint_seconds=rng.uniform(8, 15), cores=rng.uniform(4, 10),
        writes=rng.uniform(2e8, 6e8),
    )  # fmt: skip
    world.training = job
    return job


@_fault("training-shares-network-egress", "training", "network")
def _egress(world: World, rng: Random) -> None:
    job = _job(world, rng, "same-node")
    job.own_nic, job.egress = False, rng.uniform(1.02, 1.3)
    world.scheduler = "slurm"
    world.host.zone = "utc"
    world.brings |= {"recorded"}


@_fault("shared-network-path", "training", "network")
def _path(world: World, rng: Random) -> None:
    job = _job(world, rng, "other-node")
    job.uplink_seconds = rng.uniform(0.06, 0.2)
    world.scheduler = "slurm"
    world.brings |= {"switches", "server-times"}


@_fault("training-shares-memory-bandwidth", "training", "gpu")
def _bandwidth(world: World, rng: Random) -> None:
    job = _job(world, rng, "same-gpu")
    job.bandwidth, job.compute = rng.uniform(0.45, 0.65), 0.02
    world.load.use = min(world.load.use, 0.4)
    world.brings |= {"pmon", "dmon"}
    world.brings.discard("recorded")


@_fault("training-shares-gpu-compute", "training", "gpu")
def _compute(world: World, rng: Random) -> None:
    job = _job(world, rng, "same-gpu")
    job.compute = rng.uniform(0.4, 0.55)
    world.brings |= {"pmon"}
    # Of a GPU that is never idle a share of time with kernels tells nothing: one with pauses shows who runs.
    world.load.use = min(world.load.use, 0.3)
    world.brings.discard("recorded")


@_fault("training-shares-pcie", "training", "pcie")
def _pcie(world: World, rng: Random) -> None:
    job = _job(world, rng, "same-node")
    job.pcie = rng.uniform(0.8, 0.92)
    world.brings |= {"pmon", "dmon", "topology"}
    world.brings.discard("recorded")


@_fault("training-intrudes-inference-pool", "training", "cores")
def _intrusion(world: World, rng: Random) -> None:
    job = _job(world, rng, "same-node")
    job.started_at = rng.uniform(0.3, 0.6)
    job.cores = world.host.cores * rng.uniform(1.1, 1.5)
    world.intrudes = True
    world.scheduler = "kubernetes"


@_fault("inference-crosses-numa", "cores")
def _numa(world: World, rng: Random) -> None:
    world.host.crossing = rng.uniform(1.6, 2.6)
    world.brings |= {"recorded"}


@_fault("cgroup-cpu-throttling", "cores")
def _quota(world: World, rng: Random) -> None:
    world.server.quota_cpus = rng.uniform(1.15, 1.35)
    world.load.pattern = "bursty"
    world.brings |= {"recorded"}


@_fault("cpu-oversubscription", "cores")
def _crowded(world: World, rng: Random) -> None:
    world.host.bursts = world.host.cores * rng.uniform(1.3, 2.2)


@_fault("irq-on-inference-cores", "cores", "network")
def _interrupts(world: World, rng: Random) -> None:
    world.host.interrupts = rng.uniform(2.0, 4.0)
    # Recordings count interrupts once; sar tells them every second.
    world.brings.discard("recorded")


@_fault("gpu-clock-ramp", "clocks", "load")
def _ramp(world: World, rng: Random) -> None:
    world.clocks.idles_after = rng.uniform(2.0, 4.0)
    world.clocks.ramp_seconds = rng.uniform(0.8, 1.6)
    world.load.answer_median = rng.uniform(12, 25)
    world.load.rate = rng.uniform(0.9, 1.4)
    world.load.pattern = "sessions"
    world.seconds = 900.0


@_fault("power-cap-throttling", "clocks")
def _cap(world: World, rng: Random) -> None:
    world.brings.discard("recorded")
    world.clocks.power_limit = round(world.gpu.power_limit * rng.uniform(0.4, 0.5))
    world.load.use = rng.uniform(0.35, 0.45)


@_fault("thermal-throttling", "clocks")
def _heat(world: World, rng: Random) -> None:
    world.brings.discard("recorded")
    world.load.use = rng.uniform(0.35, 0.45)
    rise = world.gpu.slowdown_celsius - world.clocks.ambient_celsius
    # Hot enough at the power of serving: the clocks fall, the GPU cools, and they rise again.
    world.clocks.celsius_per_watt = rise / (world.gpu.power_limit * rng.uniform(0.40, 0.46))


@_fault("cpu-frequency-governor", "cores")
def _governor(world: World, rng: Random) -> None:
    world.host.governor = "powersave"
    world.host.cpu_clock = rng.uniform(0.3, 0.45)
    world.brings |= {"recorded"}


@_fault("kv-cache-preemption", "cache")
def _cache(world: World, rng: Random) -> None:
    world.load.use = 0.5
    world.load.pattern = "bursty"
    rate = world.load.use * world.capacity()
    # So many requests at once are usual; the cache holds little more than those.
    usual = rate * world.answer_mean() * world.decode_seconds(20)
    world.load.rate = rate
    world.server.kv_tokens = int(usual * (world.prompt_mean() + 0.6 * world.answer_mean()) * rng.uniform(1.15, 1.4))


@_fault("prefill-blocks-decode", "batching", "load")
def _prefill(world: World, rng: Random) -> None:
    world.server.chunked = False
    world.load.long_share = rng.uniform(0.03, 0.05)
    world.load.pattern = "poisson"
    world.load.use = rng.uniform(0.4, 0.55)
    world.server.kv_tokens = max(world.server.kv_tokens, 300_000)
    world.brings |= {"metrics"}


@_fault("request-queueing", "load", "batching")
def _queue(world: World, rng: Random) -> None:
    world.load.use = rng.uniform(0.9, 1.08)
    world.load.pattern = rng.choice(["bursty", "poisson"])
    world.server.max_running = rng.choice([16, 24, 32])
    if rng.random() < 0.5:
        world.brings |= {"server-times"}


@_fault("cuda-graph-miss", "batching")
def _graphs(world: World, rng: Random) -> None:
    rate = world.load.use * world.capacity()
    usual = rate * world.answer_mean() * world.decode_seconds(20)
    world.server.graph_max = max(1, 8 * int(usual * rng.uniform(0.7, 0.95) / 8))
    world.load.rate = rate


@_fault("runtime-jit-compilation", "server")
def _compiles(world: World, rng: Random) -> None:
    world.server.compiles = True
    world.load.use = rng.uniform(0.3, 0.6)


@_fault("garbage-collection-pauses", "server")
def _collects(world: World, rng: Random) -> None:
    world.server.collection_seconds = rng.uniform(0.35, 0.9)
    rate = world.load.use * world.capacity()
    world.server.collects_every = max(10, int(rate * rng.uniform(12, 25)))


@_fault("host-memory-pressure", "memory")
def _reclaim(world: World, rng: Random) -> None:
    world.host.reclaim = rng.uniform(0.06, 0.15)


@_fault("storage-checkpoint-burst", "training", "storage")
def _storage(world: World, rng: Random) -> None:
    job = _job(world, rng, "same-node")
    job.writes = rng.uniform(1.5e9, 4e9)
    job.write_stall = rng.uniform(0.15, 0.4)
    # A job that saves often, as one on machines that may be taken away.
    job.checkpoint_every, job.checkpoint_seconds = rng.uniform(40, 55), rng.uniform(6, 10)


@_fault("network-retransmission", "network")
def _loss(world: World, rng: Random) -> None:
    world.host.loss = rng.uniform(0.12, 0.3)


@_fault("periodic-host-task", "tasks")
def _task(world: World, rng: Random) -> None:
    world.host.task_period = rng.choice([30.0, 60.0, 60.0])
    world.host.task_seconds = rng.uniform(0.8, 2.0)
    world.seconds = 900.0


@_fault("profiling-interference", "server")
def _profiler(world: World, rng: Random) -> None:
    begin = rng.uniform(0.3, 0.5)
    world.server.profiled = (begin, begin + rng.uniform(0.2, 0.4))


@_fault("cold-start-scale-out", "load", "server")
def _scale(world: World, rng: Random) -> None:
    world.server.engine = "vllm"
    world.server.scale_out_at = rng.uniform(0.25, 0.5)


@_fault("slow-peer-in-parallel-group", "gpu")
def _peer(world: World, rng: Random) -> None:
    free = (GPUS[1].memory_bytes * 0.9 - GPUS[1].weights_bytes) * 0.9
    world.gpu = GPUS[1]
    world.server.kv_tokens = int(free / world.gpu.kv_bytes)
    world.server.straggler = rng.uniform(0.6, 0.9)
    world.load.use = min(world.load.use, 0.45)
    world.brings.discard("recorded")


@_fault("client-side-measurement", "load", "client")
def _client(world: World, rng: Random) -> None:
    world.server.engine = "vllm"
    world.load.pattern = "closed"
    world.load.clients = rng.choice([4, 6, 8])
    world.load.answer_median = rng.uniform(15, 30)
    world.load.client_pauses = rng.uniform(1.5, 4.0)
    world.brings |= {"benchmark", "metrics"}


FAULTS: Mapping[str, Fault] = _FAULTS
