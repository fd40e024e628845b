"""The diagnosis on simulated serving beside training. `make bench` runs many more."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.serving_scenarios import by_bystander, misses
from collectors.inputs import Status
from collectors.scan import read_inputs
from diagnose.engine.session import SessionRunner
from diagnose.knowledge.loader import load_knowledge
from tests.scenarios.serving.evaluate import evaluate
from tests.scenarios.serving.faults import FAULTS
from tests.scenarios.serving.pairs import can_coexist, drawn_pairs
from tests.scenarios.serving.run import Run
from tests.scenarios.serving.scenario import scenario
from tests.scenarios.serving.truths import FOLLOWS

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def runner() -> SessionRunner:
    return SessionRunner(load_knowledge())


@pytest.fixture(scope="module")
def quiet() -> Run:
    return scenario((), 0).run()


def test_every_request_of_a_healthy_run_is_answered_in_order(quiet: Run) -> None:
    served = quiet.served
    assert np.isfinite(served.finished).all()
    assert (served.scheduled >= served.arrived).all()
    assert (served.first > served.scheduled).all()
    assert (served.finished > served.first).all()


def test_what_the_server_told_adds_up_to_what_was_asked(quiet: Run) -> None:
    served = quiet.served
    assert sum(second.prompt_tokens for second in served.seconds) == served.prompts.sum()
    assert sum(second.generated for second in served.seconds) == (served.answers - 1).sum()
    assert max(second.busy for second in served.seconds) <= 1 + 1e-6


def test_a_load_close_to_capacity_waits_and_a_low_one_does_not() -> None:
    waits = []
    for use in (0.3, 1.1):
        case = scenario((), 3)
        case.world.load.use, case.world.server.max_running = use, 24
        served = case.run().served
        waits.append(float(np.nanquantile(served.scheduled - served.arrived, 0.9)))
    assert waits[0] < 0.2
    assert waits[1] > 2.0


def test_a_world_gives_the_same_run_each_time(quiet: Run) -> None:
    again = scenario((), 0).run()
    assert np.array_equal(again.served.finished, quiet.served.finished)
    assert np.array_equal(again.told.busy, quiet.told.busy)


def test_all_that_is_written_is_read(tmp_path: Path) -> None:
    for number, causes in enumerate([("client-side-measurement",), ("training-shares-pcie",)]):
        case = scenario(causes, 1)
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, text in case.files(case.run()).items():
            (folder / name).write_text(text)
        found = read_inputs([str(folder)])
        assert {item.path.rpartition("/")[2] for item in found.inputs if item.status != Status.PARSED} == set()


@pytest.mark.parametrize(
    "cause",
    ["training-shares-network-egress", "cgroup-cpu-throttling", "power-cap-throttling"],
)
def test_a_cause_alone_is_first_and_nothing_else_is_accused(runner: SessionRunner, cause: str) -> None:
    outcome = evaluate(runner, scenario((cause,), 0))
    assert outcome.place(cause) == 1, outcome.ranked
    assert outcome.probability(cause) >= 0.5
    assert outcome.accused == ()
    assert misses([outcome]) == ""


@pytest.mark.parametrize("bystander", [None, "training-on-the-same-nic"])
def test_nothing_is_accused_where_nothing_is_wrong(runner: SessionRunner, bystander: str | None) -> None:
    outcome = evaluate(runner, scenario((), 0, bystander))
    assert outcome.accused == (), outcome.ranked
    assert by_bystander([outcome]).splitlines()[1].split()[-1] == "0"


def test_causes_of_a_pair_decide_on_different_parts() -> None:
    assert not can_coexist("training-shares-pcie", "storage-checkpoint-burst")
    assert can_coexist("thermal-throttling", "network-retransmission")
    for case in drawn_pairs(20):
        first, second = case.causes
        assert can_coexist(first, second)


def test_every_rule_of_the_symptom_has_a_scenario() -> None:
    rules = {path.stem for path in (ROOT / "rules" / "inference-jitter").glob("*.yaml")}
    assert rules == set(FAULTS)


def test_what_follows_is_about_known_causes() -> None:
    known = {path.stem for path in (ROOT / "rules").rglob("*.yaml")}
    assert set(FOLLOWS) <= set(FAULTS)
    assert {name for following in FOLLOWS.values() for name in following} <= known
