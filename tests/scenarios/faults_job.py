"""Faults of the job itself: its batch, its layout, its ranks, and how it stops."""

from __future__ import annotations

from random import Random

from tests.scenarios.fault import Fault, fault
from tests.scenarios.world import Hang, World


def _hang(world: World, rng: Random, sort: str, detail: str = "") -> Hang:
    world.job.hang = Hang(sort, rng.randrange(world.world_size()), rng.randrange(400, 90000), detail)
    return world.job.hang


def _short_of_work(world: World, rng: Random, low: float, high: float) -> None:
    """One micro-batch on each GPU, of sequences so short that the exchange takes several times the computation."""
    job = world.job
    job.global_batch, job.sequence = world.world_size(), 4096
    wanted = rng.uniform(low, high)
    job.sequence = max(32, int(4096 * world.exchange_seconds() / (wanted * world.compute_seconds())) // 32 * 32)


@fault(
    "batch-per-gpu-too-small",
    several=True,
    needs=lambda world: world.world_size() % 8 == 0,
    all_of=("strong-scaling",),
    often=("topo", "ibstat"),
)
def small_batch(world: World, rng: Random) -> None:
    """The same batch over ever more GPUs, until there is too little for each."""
    _short_of_work(world, rng, 0.9, 2.0)


@fault("communication-exceeds-compute", several=True, any_of=("rank-comm", "train-log+nccl-tests"), often=("topo",))
def too_much_traffic(world: World, rng: Random) -> None:
    """All ranks compute alike and wait for the exchange together."""
    _short_of_work(world, rng, 1.4, 3.0)


@fault(
    "pipeline-bubble",
    several=True,
    needs=lambda world: world.world_size() >= 16,
    all_of=("train-log",),
    often=("topo", "ibstat"),
)
def deep_pipeline(world: World, rng: Random) -> None:
    """A pipeline with fewer micro-batches than it needs."""
    job, size = world.job, world.world_size()
    job.pipeline = rng.choice([stages for stages in (8, 16) if size % stages == 0] or [8])
    job.layers = job.pipeline * 4
    data = max(1, size // job.pipeline)
    job.global_batch = data * max(1, int(job.pipeline * rng.uniform(0.25, 1.0)))
    job.micro_batch = 1


@fault("rank-load-imbalance", several=True, any_of=("rank-table", "stage-table"), often=("train-log", "topo"))
def imbalance(world: World, rng: Random) -> None:
    """Work that differs: a last stage with the loss on it, and sequences of unequal length."""
    job = world.job
    job.pipeline = 4
    job.stage_factors[3] = rng.uniform(1.25, 1.8)
    job.step_variation = rng.uniform(0.1, 0.2)


@fault(
    "straggler-node",
    several=True,
    needs=lambda world: len(world.nodes) >= 4,
    any_of=("rank-table", "pairs", "onset-log"),
    often=("ibstat", "topo"),
)
def slow_node(world: World, rng: Random) -> None:
    """One node became slow: all its ranks compute longer, and its pairs are slow."""
    job = world.job
    host = rng.choice(world.nodes[1:8])
    factor = rng.uniform(1.08, 1.4)
    for rank, machine, _ in world.ranks:
        if machine is host:
            job.rank_factors[rank] = factor
    job.slow_host = host.host
    job.onset_step, job.onset_factor = 1, factor


@fault("bootstrap-unreachable", several=True, all_of=("nccl-log",), often=("ip-link", "smi"))
def bootstrap(world: World, rng: Random) -> None:
    """A firewall or a wrong address: connections of the start are refused or never answered."""
    _hang(world, rng, "unreachable")
    node, peer = world.nodes[0], world.nodes[-1]
    address = f"{peer.address}<{rng.randrange(32000, 60000)}>"
    if rng.random() < 0.3:
        line = f"misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to {address} failed : No route to host"
    elif float(world.job.nccl_version.rpartition(".")[0]) >= 2.23:
        # Newer versions try again with growing pauses and say so at the end.
        reason = rng.choice(["Connection refused", "Connection timed out"])
        line = (
            f"misc/socket.cc:567 NCCL WARN socketPollConnect: connect to {address} returned {reason}, exceeded error "
            "retry count after 35 attempts"
        )
    else:
        reason = rng.choice(["retries (20000)", "timeouts (3)"])
        line = f"misc/socket.cc:453 NCCL WARN socketStartConnect: exceeded {reason}"
    gpu = rng.randrange(len(node.gpus))
    prefix = f"{node.host}:{30000 + 7 * gpu}:{31000 + gpu} [{gpu}]"
    world.notes += [f"{prefix} {line}"]
    world.notes += [f"{prefix} NCCL INFO bootstrap.cc:1231 -> 6"]


@fault("collective-mismatch", several=True, all_of=("flight-recorders",), often=("job-output", "ras"))
def mismatch(world: World, rng: Random) -> None:
    """A branch that one rank takes alone."""
    _hang(world, rng, "mismatch")


@fault("data-loader-deadlock", several=True, all_of=("py-spy",), often=("job-output", "flight-recorders"))
def loader(world: World, rng: Random) -> None:
    """A worker that waits for a lock for ever."""
    _hang(world, rng, "loader")


@fault("rank-died", several=True, any_of=("launcher-output", "ras"), often=("job-output", "flight-recorders"))
def died(world: World, rng: Random) -> None:
    """A rank that was killed or crashed."""
    _hang(world, rng, "died", rng.choice(["Out Of Memory", "Killed", "Segmentation fault", "Bus error"]))


@fault("collective-timeout", several=True, all_of=("job-output",), often=("smi", "topo"))
def timeout(world: World, rng: Random) -> None:
    """Only the watchdog's lines are at hand, so its limit is all that can be said."""
    _hang(world, rng, "slow")


JOB_FAULTS: tuple[Fault, ...] = tuple(Fault.of(__name__))
