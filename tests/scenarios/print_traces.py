"""Traces of PyTorch's profiler, with the course that benchmarks/synthetic_trace.py computes."""

from __future__ import annotations

from random import Random

from benchmarks.synthetic_trace import Job, document, run
from tests.scenarios.world import World


def traces(world: World, rng: Random) -> dict[str, str]:
    """One trace for each of up to three ranks, whose clocks differ."""
    trace, job = world.job.trace, world.job
    ranks = list(range(min(3, world.world_size())))
    compute_us = trace.kernels * trace.kernel_us
    course = Job(
        ranks=len(ranks),
        steps=4,
        kernels=trace.kernels,
        kernel_us=trace.kernel_us,
        interval_us=trace.interval_us,
        loader_us=max(20.0, trace.loader_share * compute_us),
        exchange_us=trace.exchange_share * compute_us / 4,
        overlapped=trace.overlapped,
        slower={rank: job.rank_factors.get(rank, 1.0) * rng.gauss(1, 0.004) for rank in ranks},
        slow_loader_us={rank: max(20.0, trace.loader_share * compute_us * rng.uniform(0.85, 1.15)) for rank in ranks},
        worker_processes=trace.worker_processes,
        clock_offset_us={rank: rng.uniform(-4000, 4000) for rank in ranks},
    )
    return {f"rank{item.rank}.pt.trace.json": document(course, item) + "\n" for item in run(course)}
