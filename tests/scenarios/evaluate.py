"""A scenario through the real pipeline: files, facts, diagnosis, and how it compares with the truth."""

from __future__ import annotations

import tempfile
from pathlib import Path

from collectors.resolve import resolve
from collectors.scan import read_inputs
from diagnose.engine.session import SessionRunner
from diagnose.ranking.diagnosis import diagnose
from tests.scenarios.outcome import Outcome
from tests.scenarios.scenario import Scenario
from tests.scenarios.truths import acknowledged


def evaluate(runner: SessionRunner, scenario: Scenario) -> Outcome[Scenario]:
    """Write the files, read and diagnose them."""
    with tempfile.TemporaryDirectory(prefix="scenario-") as folder:
        scenario.write(Path(folder))
        readings = read_inputs([folder])
    diagnosis = diagnose(runner, resolve(readings.facts), series=readings.series)
    return Outcome(
        scenario,
        tuple((item.cause_id, item.probability, item.known.cause.severity) for item in diagnosis.causes),
        tuple(readings.inputs),
        tuple(acknowledged(scenario.world, scenario.causes)),
    )
