"""What others do to the resources that answers need, tick by tick, before the server's own work is simulated."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.scenarios.serving.world import TICK, Training, World

Ticks = NDArray[np.float64]
_QUEUE_SECONDS = 0.25
"""What the buffers of a full NIC or switch hold."""


@dataclass(slots=True)
class Conditions:
    """Arrays with a value for each tick."""

    compute_taken: Ticks
    """Share of the inference GPU's time that other kernels take."""
    bandwidth_taken: Ticks
    pcie_taken: Ticks
    egress_bytes: Ticks
    """Bytes a second that others send through the NIC of the answers."""
    ingress_bytes: Ticks
    network_delay: Ticks
    """Seconds by which answers are late in queues of the NIC and of switches."""
    loss: Ticks
    """Chance of an answer to lose a segment."""
    cores_wanted: Ticks
    """CPUs' worth of runnable work of others."""
    host_factor: Ticks
    """By how much longer than alone the server's host work takes."""
    writes: Ticks
    """Bytes a second to storage."""
    io_pressure: Ticks
    memory_pressure: Ticks
    faults: Ticks
    """Pages a second that are read back from disk."""
    swapped: Ticks
    free_bytes: Ticks
    interrupts: Ticks
    slow_gpu: Ticks
    """0 or 1: whether one GPU of the group is held down."""
    training_power: Ticks
    """Load of the training job's own GPUs, 0 to 1."""
    steps: list[tuple[float, float]]
    """Begin and end of every training step."""
    checkpoints: list[tuple[float, float]]
    pauses: list[tuple[float, float]] = field(default_factory=list)
    """Begin and length of halts of the server."""

    def at(self, seconds: float) -> int:
        """The tick of a time."""
        return min(len(self.loss) - 1, max(0, int(seconds / TICK)))


def conditions(world: World, rng: np.random.Generator) -> Conditions:
    """The run's conditions; `rng` decides when things happen and how large they are."""
    count = int(world.seconds / TICK) + 600
    host = world.host

    def zeros() -> Ticks:
        return np.zeros(count)

    made = Conditions(
        compute_taken=zeros(), bandwidth_taken=zeros(), pcie_taken=zeros(), egress_bytes=zeros(),
        ingress_bytes=zeros(), network_delay=zeros(), loss=zeros(), cores_wanted=_wandering(count, host.others, rng),
        host_factor=np.ones(count), writes=np.abs(_wandering(count, 4e6, rng)), io_pressure=zeros(),
        memory_pressure=zeros(), faults=zeros(), swapped=zeros(), free_bytes=_wandering(count, 3.1e11, rng, 0.01),
        interrupts=_wandering(count, 4e4, rng), slow_gpu=zeros(), training_power=zeros(), steps=[], checkpoints=[],
    )  # fmt: skip
    made.ingress_bytes += np.abs(_wandering(count, 2e6, rng))
    # Exporters answer every 15 s, with a few hundred kilobytes.
    made.egress_bytes[(np.arange(count) % int(15 / TICK)) == int(rng.integers(0, 150))] += 4e6
    if world.training is not None:
        _train(made, world, world.training, rng)
    _processors(made, world, rng)
    _memory(made, world, rng)
    _network(made, world, rng)
    _tasks(made, world, rng)
    if world.server.straggler:
        made.slow_gpu = _bursts(world, count, rng, 25, 18)
    made.pauses.sort()
    return made


def _wandering(count: int, mean: float, rng: np.random.Generator, spread: float = 0.15) -> Ticks:
    """A level with noise that remembers some tens of seconds."""
    coarse = rng.normal(0, 1, count // 100 + 2)
    slow = np.convolve(coarse, np.ones(3) / 1.7, mode="same")
    wave = np.interp(np.arange(count), np.arange(len(slow)) * 100.0, slow)
    return np.asarray(mean * np.maximum(0.05, 1 + spread * wave + 0.3 * spread * rng.normal(0, 1, count)))


def _bursts(world: World, count: int, rng: np.random.Generator, every: float, lasting: float) -> Ticks:
    """0 or 1: bursts at random times, some tens of them or fewer."""
    on = np.zeros(count)
    at = rng.exponential(every / 2)
    while at < world.seconds:
        length = lasting * rng.uniform(0.5, 1.6)
        on[int(at / TICK) : int((at + length) / TICK)] = 1.0
        at += length + rng.exponential(every)
    return on


def _train(made: Conditions, world: World, job: Training, rng: np.random.Generator) -> None:
    count = len(made.loss)
    computes, exchanges, saves, loads = (np.zeros(count) for _ in range(4))
    at = 0.0 if job.started_at is None else job.started_at * world.seconds
    at += rng.uniform(0, job.step_seconds)
    next_save = at + rng.uniform(0.3, 1.0) * job.checkpoint_every
    while at < world.seconds + 30:
        step = job.step_seconds * rng.uniform(0.8, 1.3)
        if rng.random() < 0.04:
            # An evaluation, or data that came late: the job rests.
            at += rng.uniform(1, 4) * step
        first, middle, last = (int(moment / TICK) for moment in (at, at + step * (1 - job.exchange_share), at + step))
        computes[first:middle] = 1.0
        exchanges[middle:last] = 1.0
        loads[first : first + max(1, (middle - first) // 3)] = 1.0
        made.steps.append((at, at + step))
        at += step
        if at > next_save:
            saves[int(at / TICK) : int((at + job.checkpoint_seconds) / TICK)] = 1.0
            made.checkpoints.append((at, at + job.checkpoint_seconds))
            at += 0.15 * job.checkpoint_seconds
            next_save += job.checkpoint_every * rng.uniform(0.8, 1.2)
    made.training_power = np.clip(computes + 0.5 * exchanges, 0, 1)
    if job.place == "other-node":
        made.network_delay += job.uplink_seconds * exchanges * np.clip(rng.normal(1, 0.3, count), 0.1, 2)
        # Switches drop what their full buffers cannot hold.
        made.loss += 0.03 * exchanges
        return
    made.cores_wanted += job.cores * np.clip(computes + exchanges, 0, 1)
    made.writes += job.writes * saves
    made.io_pressure += saves * min(0.6, job.writes / 4e9)
    made.compute_taken += job.compute * computes
    made.bandwidth_taken += job.bandwidth * computes * rng.uniform(0.85, 1.1, count)
    made.pcie_taken += job.pcie * loads
    if not job.own_nic:
        wanted = job.egress * world.host.nic_bytes * exchanges * np.clip(rng.normal(1, 0.12, count), 0.3, 1.6)
        made.egress_bytes += wanted
        made.ingress_bytes += 0.8 * np.minimum(wanted, world.host.nic_bytes)
    if job.write_stall:
        for begin, end in made.checkpoints:
            made.io_pressure[int(begin / TICK) : int(end / TICK)] += 0.35
            moment = begin
            while moment < end:
                length = float(rng.exponential(job.write_stall))
                made.pauses.append((moment, length))
                moment += length + float(rng.exponential(2.5 * job.write_stall))


def _processors(made: Conditions, world: World, rng: np.random.Generator) -> None:
    host, count = world.host, len(made.loss)
    if host.bursts:
        made.cores_wanted += host.bursts * _bursts(world, count, rng, 45, 14) * rng.uniform(0.8, 1.2, count)
    own = 4.0
    crowded = np.maximum(1.0, (made.cores_wanted + own) / host.cores)
    # A thread that is woken waits for one of the others' turns, of some milliseconds each.
    made.host_factor = (1 + 4 * (crowded - 1) * rng.exponential(1.0, count)) * host.crossing / host.cpu_clock
    if host.crossing > 1:
        made.host_factor *= rng.lognormal(0, 0.25, count)
    if host.interrupts:
        busy = _bursts(world, count, rng, 25, 8)
        made.interrupts += 6e5 * busy * rng.uniform(0.7, 1.1, count)
        made.ingress_bytes += 0.6 * host.nic_bytes * busy
        made.host_factor *= 1 + host.interrupts * busy * rng.exponential(1.0, count)


def _memory(made: Conditions, world: World, rng: np.random.Generator) -> None:
    host, count = world.host, len(made.loss)
    if not host.reclaim:
        return
    short = _bursts(world, count, rng, 40, 12)
    made.free_bytes *= 0.06 - 0.045 * short
    made.memory_pressure += 0.35 * short * rng.uniform(0.5, 1.3, count)
    made.faults += 900 * short * rng.exponential(1.0, count)
    made.swapped += 9000 * short * rng.exponential(1.0, count)
    made.io_pressure += 0.15 * short
    for tick in np.flatnonzero(short * (rng.random(count) < TICK / (4 * host.reclaim))):
        made.pauses.append((float(tick) * TICK, float(rng.exponential(host.reclaim))))


def _network(made: Conditions, world: World, rng: np.random.Generator) -> None:
    host, count = world.host, len(made.loss)
    if host.loss:
        made.loss += host.loss * _bursts(world, count, rng, 30, 9)
    backlog = 0.0
    delay = np.zeros(count)
    for tick, offered in enumerate((made.egress_bytes / host.nic_bytes).tolist()):
        backlog = min(_QUEUE_SECONDS, max(0.0, backlog + (offered - 1.0) * TICK))
        delay[tick] = backlog + 0.0002 * min(offered, 0.95) / (1 - min(offered, 0.95))
    made.network_delay += delay
    made.egress_bytes = np.minimum(made.egress_bytes, host.nic_bytes)
    # Full buffers drop now and then.
    made.loss += 0.02 * (delay > 0.8 * _QUEUE_SECONDS)


def _tasks(made: Conditions, world: World, rng: np.random.Generator) -> None:
    host = world.host
    if not host.task_period:
        return
    # What cron starts begins with the minute of the clock.
    at = -world.start % host.task_period
    while at < world.seconds:
        length = host.task_seconds * rng.uniform(0.85, 1.2)
        moment = at + rng.uniform(0.05, 0.4)
        made.pauses.append((moment, length))
        made.cores_wanted[int(moment / TICK) : int((moment + length) / TICK) + 1] += 3.0
        at += host.task_period
