"""Runs of one model with different numbers of GPUs: strong and weak scaling efficiency."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from diagnose.analysis.training_runs import pipeline_schedule
from diagnose.facts import Fact
from diagnose.facts.training import ScalingEfficiency, TrainingRun

_SAME_BATCH_PER_GPU = 0.02


def features(facts: Sequence[Fact]) -> list[Fact]:
    """One efficiency for each model: its smallest against its largest run of the same or a proportional batch.

    Runs are of one model when layers, width and sequence length agree, as far as both tell them, and at least the
    layers are told; several runs with one number of GPUs count by the fastest.
    """
    models: dict[tuple[int | None, ...], dict[int, TrainingRun]] = defaultdict(dict)
    for run in facts:
        if not isinstance(run, TrainingRun) or run.layers is None or run.world_size is None:
            continue
        if run.median_samples_per_second is None or run.global_batch_size is None:
            continue
        same = models[run.layers, run.hidden_size, run.sequence_length]
        known = same.get(run.world_size)
        if known is None or (known.median_samples_per_second or 0.0) < run.median_samples_per_second:
            same[run.world_size] = run
    found = []
    for runs in models.values():
        smallest, largest = min(runs), max(runs)
        if smallest < largest and (fact := _efficiency(runs[smallest], runs[largest])) is not None:
            found.append(fact)
    return list(found)


def _efficiency(small: TrainingRun, large: TrainingRun) -> Fact | None:
    gpus = (large.world_size or 0) / (small.world_size or 1)
    batches = (large.global_batch_size or 0) / (small.global_batch_size or 1)
    if batches == 1:
        mode = "strong"
    elif abs(batches / gpus - 1) <= _SAME_BATCH_PER_GPU:
        mode = "weak"
    else:
        return None
    speedup = (large.median_samples_per_second or 0.0) / (small.median_samples_per_second or 1.0)
    error = 1.96 * math.hypot(_relative_error(small), _relative_error(large))
    efficiency = speedup / gpus
    return ScalingEfficiency(
        subject=large.subject,
        sources=(*small.sources, *large.sources),
        mode=mode,
        from_gpus=small.world_size or 0,
        to_gpus=large.world_size or 0,
        speedup=speedup,
        efficiency_ratio=efficiency,
        efficiency_low=efficiency * math.exp(-error),
        efficiency_high=efficiency * math.exp(error),
        samples_per_gpu=(large.global_batch_size or 0) / (large.world_size or 1),
        micro_batch_size=large.micro_batch_size,
        pipeline_bubble_ratio=_bubble(large),
    )


def _bubble(run: TrainingRun) -> float | None:
    if run.pipeline_parallel_size == 1:
        return 0.0
    schedule = pipeline_schedule(run)
    return schedule.bubble_ratio if schedule else None


def _relative_error(run: TrainingRun) -> float:
    """Standard error of the median step time over the median; 0 where no series tells it."""
    series = run.series or ()
    if len(series) < 3:
        return 0.0
    centre = median(series)
    return 1.85814258 * median([abs(value - centre) for value in series]) / math.sqrt(len(series)) / centre
