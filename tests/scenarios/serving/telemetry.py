"""What clients note and what tools see of a run, once a second: all from the one state that the simulation left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.scenarios.serving.conditions import Conditions
from tests.scenarios.serving.engine import Served
from tests.scenarios.serving.world import TICK, World

Numbers = NDArray[np.float64]
_TOKEN_BYTES = 260.0
"""Of a streamed token with its event around it."""
_RETRANSMISSION = 0.2
"""Linux's least retransmission timeout; it doubles."""


@dataclass(slots=True)
class Noted:
    """The client's table: requests that were answered within the run."""

    start: Numbers
    ttft: Numbers
    e2e: Numbers
    queue: Numbers
    server_ttft: Numbers
    server_e2e: Numbers
    prompts: NDArray[np.int64]
    answers: NDArray[np.int64]
    retransmitted: Numbers
    """Times of segments sent again."""


def noted(world: World, made: Conditions, served: Served, rng: np.random.Generator) -> Noted:
    """What the client notes: the server's times, the way there and back, and its own delays."""
    ended = np.isfinite(served.finished) & (served.arrived < world.seconds)
    arrived, first, finished = (column[ended] for column in (served.arrived, served.first, served.finished))
    count = len(arrived)
    way = 0.0004 * rng.lognormal(0, 0.3, count)

    def late(moments: Numbers) -> tuple[Numbers, Numbers]:
        ticks = np.clip((moments / TICK).astype(np.int64), 0, len(made.loss) - 1)
        lost = rng.random(count) < made.loss[ticks]
        again = np.where(lost, _RETRANSMISSION * 2.0 ** rng.geometric(0.75, count) / 2, 0.0)
        return made.network_delay[ticks] + again + 0.0004 * rng.lognormal(0, 0.3, count), moments[lost]

    first_late, first_lost = late(first)
    last_late, last_lost = late(finished)
    own = np.zeros(count)
    if world.load.client_pauses:
        # A client that is short of CPU handles its events late, all of a while together.
        busy = np.repeat(rng.random(int(world.seconds) // 5 + 20) < 0.25, 5).astype(np.float64)
        own = busy[np.minimum(first.astype(np.int64), len(busy) - 1)] * rng.exponential(world.load.client_pauses, count)
    ttft = first - arrived + way + first_late + own
    e2e = np.maximum(finished - arrived + way + last_late + own, ttft + 0.001)
    return Noted(
        arrived,
        ttft,
        e2e,
        served.scheduled[ended] - arrived,
        first - arrived,
        finished - arrived,
        served.prompts[ended],
        served.answers[ended],
        np.concatenate([first_lost, last_lost]),
    )


def by_second(ticks: Numbers, seconds: int) -> Numbers:
    """Means of ten ticks each."""
    each = int(1 / TICK)
    return np.asarray(ticks[: seconds * each].reshape(seconds, each).mean(axis=1))


@dataclass(slots=True)
class GpuRows:
    """A GPU, second by second."""

    index: int
    use: Numbers
    memory_use: Numbers
    watts: Numbers
    celsius: Numbers
    clock: Numbers
    memory_clock: float
    memory_used: float
    received: Numbers
    sent: Numbers
    power_limited: Numbers
    heat_limited: Numbers
    limit: float


@dataclass(slots=True)
class Telemetry:
    """Everything that tools of the host tell, second by second."""

    gpus: list[GpuRows]
    busy: Numbers
    iowait: Numbers
    runnable: Numbers
    sent: Numbers
    received: Numbers
    segments: Numbers
    retransmits: Numbers
    writes: Numbers
    reads: Numbers
    faults: Numbers
    swapped: Numbers
    available: Numbers
    interrupts: Numbers
    switches: Numbers
    cpu_pressure: Numbers
    io_pressure: Numbers
    memory_pressure: Numbers
    periods: Numbers
    throttled: Numbers


def telemetry(world: World, made: Conditions, served: Served, seen: Noted, rng: np.random.Generator) -> Telemetry:
    """Made from the state of the run."""
    count, host = int(world.seconds), world.host
    rows = served.seconds[:count]

    def of(name: str) -> Numbers:
        return np.array([getattr(row, name) for row in rows], dtype=np.float64)

    def rough(values: Numbers, share: float) -> Numbers:
        return np.asarray(np.maximum(0.0, values * (1 + share * rng.normal(0, 1, count))))

    tokens = of("generated")
    others = by_second(made.cores_wanted, count)
    own = 2.0 + of("host_cpu") + 0.001 * tokens
    wanted = others + own
    crowded = np.maximum(0.0, wanted / host.cores - 1)
    lost = np.bincount(np.minimum(seen.retransmitted.astype(np.int64), count - 1), minlength=count)
    background = rng.poisson(0.15, count)
    sent = tokens * _TOKEN_BYTES + by_second(made.egress_bytes, count)
    again = lost * 3.0 + background + by_second(made.loss, count) * 120
    return Telemetry(
        gpus=_gpus(world, made, served, rng),
        busy=np.clip(rough(np.minimum(wanted, host.cores) / host.cores, 0.02), 0, 1),
        iowait=np.clip(rough(0.001 + 0.05 * by_second(made.io_pressure, count), 0.2), 0, 0.5),
        runnable=np.maximum(1, np.round(rough(wanted, 0.12))),
        sent=rough(sent, 0.01),
        received=rough(of("prompt_tokens") * 6 + by_second(made.ingress_bytes, count), 0.01),
        segments=rough(sent / 1400 + 50, 0.02),
        retransmits=np.round(again),
        writes=rough(by_second(made.writes, count), 0.05),
        reads=rough(2e5 + by_second(made.faults, count) * 4096, 0.3),
        faults=np.round(by_second(made.faults, count) + rng.poisson(0.3, count)),
        swapped=np.round(by_second(made.swapped, count)),
        available=by_second(made.free_bytes, count),
        interrupts=rough(by_second(made.interrupts, count) + 4 * tokens, 0.03),
        switches=rough(3e4 + 30 * tokens + 2000 * others, 0.05),
        cpu_pressure=np.clip(rough(0.004 + 0.9 * crowded / (1 + crowded), 0.2), 0, 1),
        io_pressure=np.clip(rough(0.003 + by_second(made.io_pressure, count), 0.15), 0, 1),
        memory_pressure=np.clip(rough(by_second(made.memory_pressure, count), 0.2), 0, 1),
        periods=of("periods"),
        throttled=of("throttled"),
    )


def _gpus(world: World, made: Conditions, served: Served, rng: np.random.Generator) -> list[GpuRows]:
    count, gpu = int(world.seconds), world.gpu
    rows = served.seconds[:count]
    busy = np.clip([row.busy for row in rows], 0, 1)
    moved = np.array([row.moved_bytes for row in rows]) / gpu.bandwidth
    clock = np.array([row.clock / row.clock_time if row.clock_time else np.nan for row in rows])
    at_rest = gpu.clock_idle / gpu.clock_max if world.clocks.idles_after is not None else 1.0
    clock = np.where(np.isnan(clock), at_rest, clock)
    held = np.array([row.power_limited for row in rows]), np.array([row.heat_limited for row in rows])
    taken = by_second(made.compute_taken, count)
    bandwidth = by_second(made.bandwidth_taken, count)
    prompts = np.array([row.prompt_tokens for row in rows], dtype=np.float64)
    pcie = by_second(made.pcie_taken, count)
    found = []
    # Kernels that stream reach more of the peak than decoding does: `bandwidth` counts in full, the server's own less.
    for index in range(gpu.group):
        noise = rng.normal(0, 1, (4, count))
        slowest = index == gpu.group - 1
        # The others spin in their collective while they wait, which counts as work and takes little power.
        waited = np.array([row.waited for row in rows]) if world.server.straggler else np.zeros(count)
        watts = served.watts[:count] + 0.35 * taken * (gpu.power_limit - gpu.power_idle) * (1 - busy)
        watts = watts * (1 - 0.3 * waited * (not slowest))
        hot = by_second(made.slow_gpu, count) if slowest else np.zeros(count)
        slow = 1 - 0.38 * hot
        found.append(
            GpuRows(
                index,
                np.clip(busy + taken * (1 - busy), 0, 1),
                np.clip(0.75 * moved + 1.1 * bandwidth, 0, 1),
                np.maximum(gpu.power_idle, watts + 3 * noise[0]),
                np.maximum(served.celsius[:count] + index, (gpu.slowdown_celsius - 1) * hot) + 0.4 * noise[1],
                np.round(gpu.clock_max * np.minimum(1.0, clock * slow) / 15) * 15,
                gpu.memory_clock,
                0.9 * gpu.memory_bytes,
                np.maximum(1e6, prompts * 4e4 + pcie * 0.9 * gpu.pcie_bytes * (1 + 0.1 * noise[2])),
                np.maximum(1e6, 2e6 + prompts * 900 + 0.1 * pcie * gpu.pcie_bytes * (1 + 0.1 * noise[3])),
                np.clip(held[0], 0, 1),
                np.clip(held[1] + hot, 0, 1),
                world.clocks.power_limit or gpu.power_limit,
            )
        )
    if world.training is not None and world.training.place == "same-node":
        work = by_second(made.training_power, count)
        for index in range(gpu.group, gpu.group + 2):
            watts = gpu.power_idle + 0.85 * work * (gpu.power_limit - gpu.power_idle)
            heat = 34 + 38 * np.convolve(work, np.exp(-np.arange(60) / 25.0) / 25, mode="full")[:count]
            found.append(
                GpuRows(
                    index,
                    np.clip(work + 0.02 * rng.normal(0, 1, count), 0, 1),
                    np.clip(0.5 * work, 0, 1),
                    np.maximum(gpu.power_idle, watts + 6 * rng.normal(0, 1, count)),
                    heat + 0.4 * rng.normal(0, 1, count),
                    np.full(count, float(gpu.clock_max)),
                    gpu.memory_clock,
                    0.85 * gpu.memory_bytes,
                    np.maximum(1e6, 2e8 * work),
                    np.maximum(1e6, 5e7 * work),
                    np.zeros(count),
                    np.zeros(count),
                    gpu.power_limit,
                )
            )
    return found
