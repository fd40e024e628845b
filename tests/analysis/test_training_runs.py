from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diagnose.analysis.training_runs import features
from diagnose.facts import Source
from diagnose.facts.training import CheckpointSaves, PeriodicSlowSteps, PipelineSchedule, StepTimeChange, TrainingRun


def run(**fields: Any) -> TrainingRun:
    return TrainingRun(sources=(Source(path="t.log", line=1),), framework="megatron", steps=40, **fields)


def test_slower_part_is_told_with_its_step() -> None:
    series = np.random.default_rng(7).normal(2.0, 0.01, 40)
    series[30:] += 0.2
    told = run(series=tuple(series), series_unit="seconds", series_first_step=100, series_last_step=490)
    (change,) = features([told])
    assert isinstance(change, StepTimeChange)
    assert change.ratio == pytest.approx(1.1, abs=0.02)
    assert (change.at_step, change.before_steps, change.after_steps) == (400, 30, 10)
    assert change.after_seconds == pytest.approx(2.2, abs=0.02)
    assert change.after_spread_ratio < 0.02


def test_inverse_throughput_has_no_seconds() -> None:
    series = (1.0, 1.01, 1.0, 1.02, 1.01, 1.0, 1.2, 1.21, 1.2, 1.22, 1.21, 1.2)
    (change,) = features([run(series=series, series_unit="seconds-per-unit")])
    assert isinstance(change, StepTimeChange)
    assert (change.before_seconds, change.at_step) == (None, None)


@pytest.mark.parametrize(
    ("stages", "batch", "micro", "replicas", "virtual", "bubble", "enough"),
    [
        (4, 4, 1, 1, None, 3 / 7, 27),
        (8, 64, 2, 4, None, 7 / 15, 63),
        (8, 64, 2, 4, 2, 7 / 23, 32),
        (16, 1024, 4, 1, None, 15 / 271, 135),
    ],
)
def test_bubble_of_known_schedules(
    stages: int, batch: int, micro: int, replicas: int, virtual: int | None, bubble: float, enough: int
) -> None:
    layout = {"pipeline_parallel_size": stages, "global_batch_size": batch, "micro_batch_size": micro}
    (schedule,) = features([run(**layout, data_parallel_size=replicas, virtual_pipeline_size=virtual)])
    assert isinstance(schedule, PipelineSchedule)
    assert schedule.bubble_ratio == pytest.approx(bubble)
    assert schedule.micro_batches_for_tenth == enough
    assert schedule.global_batch_for_tenth == enough * micro * replicas


def test_bubble_agrees_with_a_simulated_schedule() -> None:
    for stages, micro_batches in ((2, 1), (4, 8), (8, 3)):
        free = [0.0] * stages
        for _ in range(micro_batches):
            at = 0.0
            for stage in range(stages):
                at = free[stage] = max(at, free[stage]) + 1.0
        idle = 1 - micro_batches / free[-1]
        layout = {"pipeline_parallel_size": stages, "global_batch_size": micro_batches, "micro_batch_size": 1}
        (schedule,) = features([run(**layout, data_parallel_size=1)])
        assert isinstance(schedule, PipelineSchedule)
        assert schedule.bubble_ratio == pytest.approx(idle)


def test_replicas_follow_from_the_world_where_they_are_not_told() -> None:
    layout = {"pipeline_parallel_size": 4, "tensor_parallel_size": 2, "world_size": 16}
    (schedule,) = features([run(**layout, global_batch_size=32, micro_batch_size=4)])
    assert isinstance(schedule, PipelineSchedule)
    assert schedule.micro_batches == 4


@pytest.mark.parametrize(
    "layout",
    [
        {"pipeline_parallel_size": 1, "global_batch_size": 8, "micro_batch_size": 1, "data_parallel_size": 1},
        {"pipeline_parallel_size": 4, "global_batch_size": 9, "micro_batch_size": 2, "data_parallel_size": 1},
        {"pipeline_parallel_size": 4, "global_batch_size": 8},
        {},
    ],
)
def test_no_schedule_without_a_pipeline_or_with_sizes_that_do_not_fit(layout: dict[str, int]) -> None:
    assert features([run(**layout)]) == []


def beats(steps: tuple[int, ...], saves: tuple[CheckpointSaves, ...] = ()) -> list[PeriodicSlowSteps]:
    told = run(slow_steps=steps, slow_steps_median_ratio=4.0, slow_steps_time_share_ratio=0.1)
    return [fact for fact in features([told, *saves]) if isinstance(fact, PeriodicSlowSteps)]


def test_slow_steps_on_a_beat_are_told_beside_the_interval_of_checkpoints() -> None:
    save = CheckpointSaves(sources=(Source(path="t.log", line=9),), saves=6, interval_steps=50)
    (beat,) = beats((50, 101, 150, 200, 233, 250, 300), (save,))
    assert (beat.interval_steps, beat.slow_steps, beat.checkpoint_interval_steps) == (50, 7, 50)
    assert beat.on_beat_ratio == pytest.approx(6 / 7)


def test_slow_steps_that_fall_at_random_seldom_have_a_beat() -> None:
    generator = np.random.default_rng(3)
    drawn = [tuple(np.sort(generator.choice(500, 5, replace=False)).tolist()) for _ in range(300)]
    assert sum(bool(beats(steps)) for steps in drawn) <= 12


def test_few_slow_steps_and_those_side_by_side_have_no_beat() -> None:
    assert not beats((50, 100, 150, 200))
    assert not beats((50, 51, 52, 53, 54, 55))
