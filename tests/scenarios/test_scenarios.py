"""The diagnosis on generated machines and jobs. `make bench` runs many more."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from benchmarks.outcome_tables import healthy_lines, pair_lines, single_table
from benchmarks.scenarios import misses
from collectors.inputs import Status
from diagnose.engine.session import SessionRunner
from diagnose.knowledge.loader import load_knowledge
from tests.scenarios.evaluate import evaluate
from tests.scenarios.outcome import Outcome
from tests.scenarios.pairs import can_coexist, drawn_pairs
from tests.scenarios.scenario import FAULTS, ImpossibleError, Scenario, scenario
from tests.scenarios.truths import FOLLOWS

ROOT = Path(__file__).resolve().parents[2]
FREE_TEXT = {"app.err", "slurm.out"}
"""What programs say in their own words beside the lines that are known."""


TRAINING = (
    "straggler-gpu",
    "rank-load-imbalance",
    "straggler-node",
    "pipeline-bubble",
    "communication-exceeds-compute",
)
"""Causes that training logs and tables of ranks show; noise could lead there as well."""


@pytest.fixture(scope="module")
def runner() -> SessionRunner:
    return SessionRunner(load_knowledge())


@pytest.fixture(scope="module")
def alone(runner: SessionRunner) -> Callable[[str], Outcome[Scenario]]:
    """The diagnosis of a cause alone, made once."""
    return cache(lambda cause: evaluate(runner, scenario((cause,), seed=0)))


def test_every_cause_of_the_three_symptoms_has_a_fault() -> None:
    folders = ("multi-gpu-scaling", "multi-node-scaling", "job-hang")
    written = {path.stem for folder in folders for path in (ROOT / "rules" / folder).glob("*.yaml")}
    assert written - set(FAULTS) == set()
    causes = load_knowledge().causes
    assert {*FAULTS, *FOLLOWS, *(name for names in FOLLOWS.values() for name in names)} <= set(causes)


@pytest.mark.parametrize("cause", FAULTS)
def test_cause_alone_is_among_the_first_three_and_nobody_is_accused(
    cause: str, alone: Callable[[str], Outcome[Scenario]]
) -> None:
    outcome = alone(cause)
    place = outcome.place(cause)
    assert place is not None, outcome.ranked
    assert place <= 3, outcome.ranked
    assert outcome.accused == ()


@pytest.mark.parametrize("cause", FAULTS)
def test_collectors_know_every_file(cause: str, alone: Callable[[str], Outcome[Scenario]]) -> None:
    outcome = alone(cause)
    unread = {Path(item.path).name for item in outcome.inputs if item.status != Status.PARSED}
    assert unread - FREE_TEXT == set()
    assert {Path(item.path).name for item in outcome.inputs if item.facts} >= unread


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize("cause", TRAINING)
def test_causes_in_training_come_first_through_the_noise(cause: str, seed: int, runner: SessionRunner) -> None:
    outcome = evaluate(runner, scenario((cause,), seed))
    assert outcome.place(cause) == 1, outcome.ranked
    assert outcome.accused == ()


@pytest.mark.parametrize("seed", range(8))
def test_sound_machines_and_jobs_are_left_in_peace(seed: int, runner: SessionRunner) -> None:
    assert evaluate(runner, scenario((), seed)).accused == ()


@pytest.mark.parametrize("item", drawn_pairs(6), ids=lambda item: "+".join(item.causes))
def test_of_two_causes_one_comes_first_or_second(item: Scenario, runner: SessionRunner) -> None:
    outcome = evaluate(runner, item)
    assert min(outcome.place(cause) or 99 for cause in item.causes) <= 2, outcome.ranked
    assert outcome.accused == ()


def test_the_same_seed_gives_the_same_files_and_another_seed_others() -> None:
    first, second = scenario(("nvlink-inactive",), 3), scenario(("nvlink-inactive",), 3)
    assert first.files() == second.files()
    assert first.files() != scenario(("nvlink-inactive",), 4).files()


def test_machines_vary() -> None:
    worlds = [scenario((), seed).world for seed in range(60)]
    assert len({world.suspect.gpu_model.name for world in worlds}) >= 12
    assert len({world.suspect.driver for world in worlds}) >= 5
    assert {len(world.suspect.gpus) for world in worlds} >= {2, 4, 8}
    assert {world.suspect.link_layer for world in worlds} == {"InfiniBand", "Ethernet"}
    assert max(len(world.nodes) for world in worlds) >= 24


def test_pairs_are_of_different_causes_that_can_be_there_at_once() -> None:
    for item in drawn_pairs(20, seed=5):
        assert can_coexist(*item.causes)
    assert not can_coexist("rank-died", "collective-mismatch")
    assert not can_coexist("rank-died", "pipeline-bubble")


def test_what_no_machine_can_have_is_refused() -> None:
    with pytest.raises(ImpossibleError, match="p2p-unsupported"):
        scenario(("p2p-unsupported", "fabric-manager-not-running"), 0)


def test_the_tables_count_hits_and_false_accusations(runner: SessionRunner) -> None:
    outcome = evaluate(runner, scenario(("fabric-manager-not-running",), 0))
    table = single_table([outcome]).splitlines()
    assert table[1].split()[:4] == ["fabric-manager-not-running", "1", "1", "1"]
    assert table[-1].split() == ["all", "1", "1", "1", "0"]
    assert misses([outcome]) == ""
    assert "1" in pair_lines([outcome]).splitlines()[0]
    assert healthy_lines([]).splitlines()[0].endswith("0")
