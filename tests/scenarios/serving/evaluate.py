"""A scenario through the real pipeline: files, facts, series, diagnosis, and how it compares with the truth."""

from __future__ import annotations

import tempfile
from pathlib import Path

from collectors.resolve import resolve_readings
from collectors.scan import read_inputs
from diagnose.engine.session import SessionRunner
from diagnose.ranking.diagnosis import diagnose
from tests.scenarios.outcome import Outcome
from tests.scenarios.serving.scenario import ServingScenario
from tests.scenarios.serving.truths import acknowledged


def evaluate(runner: SessionRunner, scenario: ServingScenario) -> Outcome[ServingScenario]:
    """Simulate, write the files, read and diagnose them."""
    with tempfile.TemporaryDirectory(prefix="serving-") as folder:
        run = scenario.run()
        for name, text in scenario.files(run).items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        readings = resolve_readings(read_inputs([folder]))
    diagnosis = diagnose(runner, readings.facts, ["inference-jitter"], readings.series)
    return Outcome(
        scenario,
        tuple((item.cause_id, item.probability, item.known.cause.severity) for item in diagnosis.causes),
        tuple(readings.inputs),
        tuple(acknowledged(run, scenario.causes)),
    )
