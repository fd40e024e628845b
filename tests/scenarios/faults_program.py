"""Faults of the training program and of what it reads and writes: input, launches, exchanges, checkpoints."""

from __future__ import annotations

from random import Random

from tests.scenarios.fault import Fault, fault
from tests.scenarios.world import World


@fault("data-loader-bound", all_of=("traces",), often=("smi", "smi-q", "topo", "lscpu"))
def slow_input(world: World, rng: Random) -> None:
    """Decoding takes a good part of a step, on every rank."""
    trace = world.job.trace
    trace.loader_share = rng.uniform(0.3, 1.2)
    trace.worker_processes = rng.random() < 0.6


@fault("launch-bound", all_of=("traces",), often=("smi", "topo", "lscpu"))
def slow_host(world: World, rng: Random) -> None:
    """Kernels shorter than the time from one launch to the next."""
    trace = world.job.trace
    trace.kernel_us = rng.uniform(3, 9)
    trace.interval_us = trace.kernel_us + rng.uniform(8, 30)
    trace.kernels = 140
    trace.exchange_share = rng.uniform(0.02, 0.08)


@fault("communication-not-overlapped", several=True, all_of=("traces",), often=("topo", "ibstat"))
def exchange_at_the_end(world: World, rng: Random) -> None:
    """Gradients go out after the backward pass instead of within it."""
    trace = world.job.trace
    trace.overlapped = False
    trace.exchange_share = rng.uniform(0.4, 0.9)


@fault(
    "small-message-collectives",
    several=True,
    needs=lambda world: world.world_size() >= 16,
    all_of=("nccl-calls", "nccl-tests"),
    often=("topo", "train-log", "ibstat"),
)
def one_by_one(world: World, rng: Random) -> None:
    """Gradients exchanged parameter by parameter."""
    world.job.message_bytes = [2 ** rng.randrange(12, 18) for _ in range(rng.randrange(40, 90))]


@fault("storage-stalls-ranks", several=True, any_of=("train-log", "dmesg"), often=("df", "topo"))
def slow_storage(world: World, rng: Random) -> None:
    """A shared file system that does not answer for a while, and training that stands for each checkpoint."""
    job = world.job
    job.checkpoint_every = rng.choice([10, 15, 20])
    job.checkpoint_seconds = 14 * (world.compute_seconds() + world.exposed_seconds()) * rng.uniform(0.3, 1.0)
    server = rng.choice(["filer01", "10.1.2.9", "nas-b.cluster"])
    for _ in range(rng.randrange(2, 6)):
        world.suspect.kernel_lines += [
            f"nfs: server {server} not responding, still trying",
            f"nfs: server {server} OK",
        ]


PROGRAM_FAULTS: tuple[Fault, ...] = tuple(Fault.of(__name__))
