from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diagnose.analysis.training_scaling import features
from diagnose.facts import Source
from diagnose.facts.training import ScalingEfficiency, TrainingRun


def run(gpus: int, batch: int, samples: float, **fields: Any) -> TrainingRun:
    return TrainingRun(
        sources=(Source(path=f"n{gpus}.log", line=1),),
        framework="megatron",
        steps=20,
        world_size=gpus,
        global_batch_size=batch,
        median_samples_per_second=samples,
        **{"layers": 24, "pipeline_parallel_size": 1, **fields},
    )


def efficiency(*runs: TrainingRun) -> ScalingEfficiency:
    (fact,) = features(runs)
    assert isinstance(fact, ScalingEfficiency)
    return fact


def test_strong_scaling_compares_the_smallest_and_the_largest_run() -> None:
    fact = efficiency(run(32, 64, 90.0), run(8, 64, 40.0), run(16, 64, 70.0))
    assert (fact.mode, fact.from_gpus, fact.to_gpus) == ("strong", 8, 32)
    assert fact.speedup == pytest.approx(2.25)
    assert fact.efficiency_ratio == pytest.approx(0.5625)
    assert (fact.samples_per_gpu, fact.pipeline_bubble_ratio) == (2.0, 0.0)


def test_weak_scaling_has_a_batch_in_proportion() -> None:
    assert efficiency(run(8, 64, 40.0), run(32, 256, 152.0)).mode == "weak"


def test_interval_holds_the_true_efficiency_at_its_rate() -> None:
    generator = np.random.default_rng(8)
    inside = 0
    for _ in range(200):
        series = [generator.normal(1.0, 0.03, 30), generator.normal(0.6, 0.02, 30)]
        runs = [
            run(gpus, 64, 64 / float(np.median(times)), series=tuple(times))
            for gpus, times in zip((8, 16), series, strict=True)
        ]
        fact = efficiency(*runs)
        inside += fact.efficiency_low <= 1 / 1.2 <= fact.efficiency_high
    assert 0.88 <= inside / 200 <= 0.99


@pytest.mark.parametrize(
    "other",
    [
        run(16, 64, 70.0, layers=48),
        run(16, 96, 70.0),
        run(8, 64, 44.0),
        run(16, 64, 70.0, hidden_size=4096),
    ],
)
def test_other_models_odd_batches_and_equal_worlds_are_not_compared(other: TrainingRun) -> None:
    assert features([run(8, 64, 40.0, hidden_size=2048), other]) == []


def test_deep_pipeline_shows_as_its_bubble() -> None:
    deep = {"pipeline_parallel_size": 16, "micro_batch_size": 1, "data_parallel_size": 1}
    fact = efficiency(run(8, 4, 40.0), run(64, 4, 50.0, **deep))
    assert fact.pipeline_bubble_ratio == pytest.approx(15 / 19)
