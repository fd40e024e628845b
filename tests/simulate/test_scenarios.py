"""Every scenario through recorders, workers, files, rules and ranking: its cause comes first."""

from __future__ import annotations

from functools import cache

import pytest

from collectors.inputs import InputReport, Status
from collectors.live.base import RecorderStatus
from collectors.resolve import resolve
from collectors.scan import read_inputs
from diagnose.engine.session import SessionRunner
from diagnose.facts import Fact
from diagnose.knowledge.loader import load_knowledge
from diagnose.ranking.diagnosis import diagnose
from diagnose.ranking.model import ESTABLISHED, Diagnosis
from diagnose.simulate.environment import scenario_names
from tests.simulate.scenarios import NEEDS_LIBRARY, recorded

pytestmark = NEEDS_LIBRARY

FIRST = {
    "degraded-link": "pcie-link-degraded",
    "driver-mismatch": "driver-library-mismatch",
    "hung-gpu": "gsp-timeout",
    "lost-gpu": "gpu-fell-off-bus",
    "no-driver": "driver-not-loaded",
    "no-permission": "container-device-permission-lost",
    "nvlink-down": "nvlink-inactive",
    "power-brake": "power-supply-fault",
    "row-remap-pending": "row-remap-pending",
    "thermal": "thermal-throttling",
}
# The faults of some show in files or outputs of commands alone, which `diagnose check` does not read.
HEALTHY = ("hgx-h100", "jittery-inference", "low-bit-cache", "mig", "old-driver", "pcie-workstation", "slow-port")
GPUS = {
    "degraded-link": [2],
    "hung-gpu": [3],
    "nvlink-down": [1],
    "power-brake": [4, 5, 6, 7],
    "row-remap-pending": [6],
    "thermal": [4],
}


@cache
def read(scenario: str) -> tuple[list[Fact], list[InputReport]]:
    readings = read_inputs([str(recorded(scenario)[0])])
    return resolve(readings.facts), readings.inputs


@cache
def diagnosis(scenario: str) -> Diagnosis:
    return diagnose(SessionRunner(load_knowledge()), read(scenario)[0], ())


def test_every_scenario_has_its_expectation() -> None:
    assert sorted([*FIRST, *HEALTHY]) == scenario_names()


@pytest.mark.parametrize("scenario", FIRST)
def test_the_cause_of_a_scenario_comes_first(scenario: str) -> None:
    first = diagnosis(scenario).causes[0]

    assert first.cause_id == FIRST[scenario]
    assert first.probability >= ESTABLISHED


@pytest.mark.parametrize("scenario", GPUS)
def test_the_cause_names_the_gpus_that_it_is_about(scenario: str) -> None:
    indices = {instance.key.about.gpu_index for instance in diagnosis(scenario).causes[0].instances}

    assert sorted(index for index in indices if index is not None) == GPUS[scenario]


@pytest.mark.parametrize("scenario", HEALTHY)
def test_a_healthy_machine_gives_nothing_that_needs_action(scenario: str) -> None:
    assert {cause.known.cause.severity for cause in diagnosis(scenario).causes} <= {"info"}


@pytest.mark.parametrize("scenario", scenario_names())
def test_recordings_are_read_without_a_problem_but_for_what_did_not_answer(scenario: str) -> None:
    reports = read(scenario)[1]

    assert {report.status for report in reports if report.kind != "manifest"} == {Status.PARSED}


def test_a_hanging_call_is_cut_and_the_other_gpus_are_read() -> None:
    reports = {report.name: report for report in recorded("hung-gpu")[1].recorders}

    assert reports["nvml-gpu-3"].status is RecorderStatus.TIMED_OUT
    assert "nvmlDeviceGetTemperature" in (reports["nvml-gpu-3"].detail or "")
    assert 5 <= reports["nvml-gpu-3"].seconds < 15
    others = [report for name, report in reports.items() if name.startswith("nvml-") and name != "nvml-gpu-3"]
    assert len(others) == 8
    assert {report.status for report in others} == {RecorderStatus.DONE}
    assert max(report.seconds for report in others) < reports["nvml-gpu-3"].seconds
