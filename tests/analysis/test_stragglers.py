from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from diagnose.analysis.stragglers import features, features_between_hosts, lateness
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.training import ParallelEfficiency, RankSpread, RankTimes

Times = NDArray[np.float64]


def noise(seed: int, steps: int = 100, workers: int = 8) -> Times:
    return np.random.default_rng(seed).lognormal(0, 0.01, size=(steps, workers))


def facts(times: Times, role: str = "own-work", measure: str = "compute_ms", hosts: bool = False) -> list[Fact]:
    return [
        RankTimes(
            subject=Subject(rank=rank, host=f"gpu-{rank}" if hosts else None),
            sources=(Source(path="ranks.csv", line=rank + 2),),
            worker=f"rank {rank}",
            measure=measure,
            role=role,
            median_seconds=float(np.median(column)),
            steps=len(column),
            series=tuple(column.tolist()),
        )
        for rank, column in enumerate(times.T)
    ]


def spread(times: Times, role: str = "own-work") -> RankSpread:
    (fact,) = features(facts(times, role))
    assert isinstance(fact, RankSpread)
    return fact


def test_equal_workers_hardly_ever_stand_out_at_the_limits_of_the_rules() -> None:
    found = [spread(noise(seed)) for seed in range(100)]
    assert all(fact.pattern == "steady" for fact in found)
    assert sum(fact.direction == "slower" and (fact.p_value or 1) <= 0.01 for fact in found) <= 4
    assert not any(fact.direction == "slower" and (fact.ratio or 1) >= 1.05 for fact in found)


@pytest.mark.parametrize("seed", range(5))
def test_persistent_straggler_is_named(seed: int) -> None:
    times = noise(seed)
    times[:, 3] *= 1.1
    fact = spread(times)
    assert (fact.direction, fact.worker, fact.pattern, fact.subject.rank) == ("slower", "rank 3", "persistent", 3)
    assert fact.ratio == pytest.approx(1.1, abs=0.01)
    assert fact.p_value == pytest.approx(0.0, abs=1e-6)
    assert fact.share_of_steps_ratio == pytest.approx(1.0, abs=0.02)
    assert fact.sources[0].line == 5


def test_late_every_tenth_step_is_periodic() -> None:
    times = noise(1)
    times[4::10, 2] *= 2
    fact = spread(times)
    assert (fact.pattern, fact.period_steps) == ("periodic", 10)


def test_late_in_changing_places_wanders() -> None:
    times = noise(2)
    generator = np.random.default_rng(9)
    for step in np.flatnonzero(generator.random(100) < 0.5):
        times[step, generator.integers(8)] *= 1.3
    fact = spread(times)
    assert (fact.pattern, fact.direction) == ("wandering", "none")
    assert fact.late_steps_ratio == pytest.approx(0.5, abs=0.15)


def test_workers_that_are_slow_together_do_not_wander_though_they_take_turns_at_being_the_slowest() -> None:
    times = noise(4, workers=16)
    times[:, 4:8] *= 1.11
    assert lateness(times).pattern == "persistent"
    assert lateness(times).share_of_steps < 0.5


def test_a_few_bad_steps_do_not_make_a_straggler() -> None:
    times = noise(3)
    times[:4, 5] *= 20
    assert spread(times).direction == "none"


def test_who_comes_last_to_a_collective_waits_least_in_it() -> None:
    waiting = np.full((1, 6), 0.100) + np.random.default_rng(4).normal(0, 1e-4, size=(1, 6))
    waiting[0, 2] = 0.080
    fact = spread(waiting, "communication")
    assert (fact.direction, fact.worker, fact.pattern) == ("shorter", "rank 2", "single")
    assert spread(waiting, "own-work").direction == "none"


def test_backward_times_hide_a_straggler_below_the_others() -> None:
    fact = spread(np.array([[0.2930, 0.2922, 0.2930, 0.2931]]), "synchronous")
    assert (fact.direction, fact.worker) == ("shorter", "rank 1")
    assert (fact.p_value or 1.0) <= 0.02


def test_two_workers_are_too_few_to_tell() -> None:
    assert features(facts(noise(5, workers=2))) == []


def test_pop_metrics_of_known_times() -> None:
    useful = np.array([[60.0, 80.0, 70.0, 70.0]])
    elapsed = np.full((1, 4), 100.0)
    talking = np.array([[40.0, 20.0, 30.0, 30.0]])
    tables = [
        *facts(useful),
        *facts(elapsed, "whole-step", "step_ms"),
        *facts(talking, "communication", "nccl_ms"),
    ]
    (metrics,) = [fact for fact in features(tables) if isinstance(fact, ParallelEfficiency)]
    assert metrics.load_balance_ratio == pytest.approx(70 / 80)
    assert metrics.communication_efficiency_ratio == pytest.approx(0.8)
    assert metrics.parallel_efficiency_ratio == pytest.approx(0.7)
    assert metrics.communication_share_ratio == pytest.approx(0.3)


def test_hosts_are_compared_in_the_job_only() -> None:
    table = facts(noise(6), hosts=True)
    assert len(features_between_hosts(table)) == 1
    assert features_between_hosts(facts(noise(6))) == []


def test_lateness_counts_chance_for_all_workers() -> None:
    assert lateness(noise(7, steps=5, workers=4)).p_value > 0.05
