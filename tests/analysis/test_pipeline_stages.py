from __future__ import annotations

import numpy as np
import pytest

from diagnose.analysis.pipeline_stages import features
from diagnose.facts import Fact, Source
from diagnose.facts.training import RankTimes, StageSpread


def table(factors: list[float], replicas: int, seed: int = 1, role: str = "own-work") -> list[Fact]:
    generator = np.random.default_rng(seed)
    found: list[Fact] = []
    for replica in range(replicas):
        for stage, factor in enumerate(factors):
            times = factor * generator.lognormal(0, 0.02, 30)
            found.append(
                RankTimes(
                    sources=(Source(path="stages.csv", line=len(found) + 2),),
                    worker=f"stage {stage} of replica {replica}",
                    measure="compute_s",
                    role=role,
                    median_seconds=float(np.median(times)),
                    steps=30,
                    series=tuple(times.tolist()),
                    stage=stage,
                    replica=replica,
                )
            )
    return found


def test_stage_with_more_work_is_found_with_its_share() -> None:
    (fact,) = features(table([1.0, 1.0, 1.0, 1.6], replicas=2))
    assert isinstance(fact, StageSpread)
    assert (fact.slowest_stage, fact.stages, fact.replicas, fact.last_stage) == (3, 4, 2, True)
    assert fact.slowest_ratio == pytest.approx(1.6, abs=0.03)
    assert fact.slowest_ratio_low < fact.slowest_ratio
    assert fact.agreement_ratio == 1.0
    assert fact.idle_ratio == pytest.approx(1 - 4.6 / 4 / 1.6, abs=0.02)


@pytest.mark.parametrize("seed", range(10))
def test_equal_stages_do_not_agree(seed: int) -> None:
    (fact,) = features(table([1.0] * 4, replicas=2, seed=seed))
    assert isinstance(fact, StageSpread)
    assert fact.slowest_ratio_low < 1.05
    assert fact.agreement_ratio < 0.7


def test_waiting_and_single_stages_are_not_compared() -> None:
    assert features(table([1.0, 2.0], replicas=1, role="communication")) == []
    assert features(table([1.0], replicas=2)) == []


def test_replica_without_all_stages_is_left_out() -> None:
    (fact,) = features(table([1.0, 1.5], replicas=2)[:-1])
    assert isinstance(fact, StageSpread)
    assert fact.replicas == 1
