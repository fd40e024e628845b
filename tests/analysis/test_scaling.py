from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from diagnose.analysis.scaling import analyse, features
from diagnose.facts import Source
from diagnose.facts.scaling import ScalingCurve, ScalingMeasurement

SIZES = (1, 2, 4, 8, 16, 32)


def measured(truth: Mapping[int, float], seed: int, noise: float = 0.005, repeats: int = 3) -> dict[int, list[float]]:
    generator = np.random.default_rng(seed)
    return {
        gpus: [value * float(np.exp(generator.normal(0, noise))) for _ in range(repeats)]
        for gpus, value in truth.items()
    }


def usl(contention: float, coherency: float) -> dict[int, float]:
    return {n: 100 * n / (1 + contention * (n - 1) + coherency * n * (n - 1)) for n in SIZES}


def test_efficiency_compares_the_most_with_the_fewest_gpus() -> None:
    scaling = analyse({2: [200.0], 8: [480.0]})
    assert (scaling.from_gpus, scaling.to_gpus) == (2, 8)
    assert scaling.efficiency.estimate == pytest.approx(0.6)
    assert scaling.efficiency_at(8) == pytest.approx(0.6)
    assert scaling.ideal(4) == pytest.approx(400.0)
    assert scaling.amdahl is None


def test_repeated_measurements_count_by_their_geometric_mean() -> None:
    assert analyse({1: [90.0, 160.0], 2: [240.0]}).typical(1) == pytest.approx(120.0)


def test_interval_of_the_efficiency_holds_the_truth_at_its_rate() -> None:
    truth = {1: 100.0, 8: 640.0}
    found = [analyse(measured(truth, seed, noise=0.02)).efficiency for seed in range(300)]
    inside = sum(interval.low <= 0.8 <= interval.high for interval in found) / len(found)
    assert inside >= 0.93


@pytest.mark.parametrize(
    ("contention", "coherency", "word"), [(0.0, 0.0, "linear"), (0.05, 0.0, "contention"), (0.0, 0.004, "coherency")]
)
def test_known_laws_are_named(contention: float, coherency: float, word: str) -> None:
    words = [analyse(measured(usl(contention, coherency), seed), "strong").explanation.word for seed in range(20)]
    assert words.count(word) >= 17


@pytest.mark.parametrize("points", [{}, {4: [1.0]}, {1: [1.0], 2: []}, {1: [1.0], 2: [0.0]}, {0: [1.0], 2: [1.0]}])
def test_points_that_make_no_curve_are_refused(points: dict[int, list[float]]) -> None:
    with pytest.raises(ValueError, match="throughput"):
        analyse(points)


def measurement(gpus: int, throughput: float, curve: str = "a", path: str = "t.csv") -> ScalingMeasurement:
    return ScalingMeasurement(
        sources=(Source(path=path, line=gpus),), curve=curve, gpus=gpus, throughput=throughput, unit="work"
    )


def test_curves_are_kept_apart_and_single_points_left() -> None:
    facts = [measurement(1, 100), measurement(2, 190), measurement(1, 50, "b"), measurement(2, 60, "b")]
    curves = features([*facts, measurement(4, 70, "c")])
    assert [(fact.curve, round(fact.efficiency_ratio, 2)) for fact in curves if isinstance(fact, ScalingCurve)] == [
        ("a", 0.95),
        ("b", 0.6),
    ]
