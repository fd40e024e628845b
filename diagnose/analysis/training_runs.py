"""What the log of one training run shows by itself: a slower part, and its pipeline's bubble."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from diagnose.analysis.change import rise
from diagnose.facts import Fact
from diagnose.facts.training import (
    CheckpointSaves,
    PeriodicSlowSteps,
    PipelineSchedule,
    StepTimeChange,
    TrainingRun,
)

_FEWEST_BEATS = 5
_SHORTEST_BEAT = 5
"""Slow steps closer than this are no beat of checkpoints, evaluation or the like."""
_ON_BEAT = 0.8
"""So many of the slow steps lie on a beat, and so many beats have a slow step."""
_MOST_CHANCE = 0.05
"""A change that chance makes more easily is none; rules judge those below."""


def features(facts: Sequence[Fact]) -> list[Fact]:
    """At most one change of the step time and one schedule for each run."""
    runs = [fact for fact in facts if isinstance(fact, TrainingRun)]
    saves = [fact for fact in facts if isinstance(fact, CheckpointSaves)]
    found: list[Fact] = [change for run in runs if (change := step_time_change(run)) is not None]
    found += [beat for run in runs if (beat := periodic_slow_steps(run, saves)) is not None]
    return found + [schedule for run in runs if (schedule := pipeline_schedule(run)) is not None]


def step_time_change(run: TrainingRun) -> StepTimeChange | None:
    """The point from which on steps take longer, if any."""
    series = run.series or ()
    found = rise(series)
    if found is None or found.p_value > _MOST_CHANCE:
        return None
    before, after = series[: found.at], series[found.at :]
    in_seconds = run.series_unit == "seconds"
    low, high = np.quantile(after, (0.25, 0.75))
    return StepTimeChange(
        subject=run.subject,
        sources=run.sources,
        ratio=found.ratio,
        ratio_low=found.low,
        ratio_high=found.high,
        p_value=found.p_value,
        at_step=_step_at(run, found.at),
        before_steps=len(before),
        after_steps=len(after),
        before_seconds=float(np.median(before)) if in_seconds else None,
        after_seconds=float(np.median(after)) if in_seconds else None,
        after_spread_ratio=float(high / low - 1),
    )


def periodic_slow_steps(run: TrainingRun, saves: Sequence[CheckpointSaves]) -> PeriodicSlowSteps | None:
    """The beat of the slow steps, where they have one: most lie a whole number of intervals after the first."""
    slow = run.slow_steps or ()
    if len(slow) < _FEWEST_BEATS or not run.slow_steps_median_ratio or run.slow_steps_time_share_ratio is None:
        return None
    gaps = np.diff(slow)
    alike = np.abs(gaps[:, None] - gaps) <= np.maximum(1, gaps // 50)
    interval = int(np.median(gaps[alike[alike.sum(axis=1).argmax()]]))
    if interval < _SHORTEST_BEAT:
        return None
    phase = np.mod(np.asarray(slow) - slow[0] + interval // 2, interval) - interval // 2
    near = np.abs(phase - np.median(phase)) <= max(1, interval // 50)
    beats = (slow[-1] - slow[0]) // interval + 1
    if near.mean() < _ON_BEAT or near.sum() < _ON_BEAT * beats:
        return None
    path = run.sources[0].path
    interval_of_saves = [save.interval_steps for save in saves if save.sources[0].path == path]
    return PeriodicSlowSteps(
        subject=run.subject,
        sources=run.sources,
        interval_steps=interval,
        slow_steps=len(slow),
        on_beat_ratio=float(near.mean()),
        median_ratio=run.slow_steps_median_ratio,
        time_share_ratio=run.slow_steps_time_share_ratio,
        checkpoint_interval_steps=interval_of_saves[0] if interval_of_saves else None,
    )


def _step_at(run: TrainingRun, at: int) -> int | None:
    if run.series is None or run.series_first_step is None or run.series_last_step is None or len(run.series) < 2:
        return None
    return round(run.series_first_step + (run.series_last_step - run.series_first_step) * at / (len(run.series) - 1))


def pipeline_schedule(run: TrainingRun) -> PipelineSchedule | None:
    """Bubble of a one-forward-one-backward schedule, of p stages, m micro-batches and v chunks a stage.

    A stage idles for p - 1 slots of m v + p - 1: Narayanan et al., "Efficient Large-Scale Language Model Training on
    GPU Clusters Using Megatron-LM" (SC21), section 2.2, there relative to the busy time: (p - 1) / (m v).
    """
    stages, batch, micro = run.pipeline_parallel_size, run.global_batch_size, run.micro_batch_size
    if stages is None or stages < 2 or batch is None or micro is None:
        return None
    replicas = run.data_parallel_size or _replicas(run, stages)
    if replicas is None:
        return None
    micro_batches, rest = divmod(batch, micro * replicas)
    if rest or micro_batches < 1:
        return None
    virtual = run.virtual_pipeline_size or 1
    for_tenth = math.ceil(9 * (stages - 1) / virtual)
    return PipelineSchedule(
        subject=run.subject,
        sources=run.sources,
        stages=stages,
        micro_batches=micro_batches,
        virtual_stages=virtual,
        bubble_ratio=(stages - 1) / (micro_batches * virtual + stages - 1),
        micro_batches_for_tenth=for_tenth,
        global_batch_for_tenth=for_tenth * micro * replicas,
        global_batch_size=batch,
        world_size=run.world_size,
        step_seconds=run.median_step_seconds,
    )


def _replicas(run: TrainingRun, stages: int) -> int | None:
    if run.world_size is None or run.tensor_parallel_size is None:
        return None
    replicas, rest = divmod(run.world_size, run.tensor_parallel_size * stages)
    return replicas if replicas and not rest else None
