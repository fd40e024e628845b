"""Innocent things that go along with load or come beside it, in runs in which nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from tests.scenarios.serving.world import Training, World


def _load_in_bursts(world: World, rng: Random) -> None:
    """Power, temperature, egress and interrupts follow arrivals that come in bursts."""
    world.load.pattern = "bursty"
    world.load.use = rng.uniform(0.5, 0.6)


def _training_on_its_own(world: World, rng: Random) -> None:
    """A job on the node's other GPUs, with its own NIC: its steps show in the telemetry and in nothing else."""
    world.training = Training(
        place="same-node", step_seconds=rng.uniform(8, 16), exchange_share=0.4, cores=rng.uniform(8, 16),
        writes=rng.uniform(5e8, 1e9), checkpoint_every=100.0,
    )  # fmt: skip
    world.scheduler = "slurm"


def _training_on_the_nic(world: World, rng: Random) -> None:
    """Training leaves through the NIC of the answers too, and leaves it half empty."""
    _training_on_its_own(world, rng)
    assert world.training is not None
    world.training.own_nic, world.training.egress = False, rng.uniform(0.4, 0.6)


def _busy_processors(world: World, rng: Random) -> None:
    """Others keep half of the CPUs busy, and nobody waits for one."""
    world.host.others = rng.uniform(0.4, 0.55) * world.host.cores


def _exporter(world: World, rng: Random) -> None:
    """A light task each minute, that halts nothing for longer than a few milliseconds."""
    world.host.task_period, world.host.task_seconds = rng.choice([30.0, 60.0]), 0.003


BYSTANDERS: Mapping[str, Callable[[World, Random], None]] = {
    "load-in-bursts": _load_in_bursts,
    "training-on-its-own": _training_on_its_own,
    "training-on-the-same-nic": _training_on_the_nic,
    "busy-processors": _busy_processors,
    "light-task-each-minute": _exporter,
}
