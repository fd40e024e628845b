"""A scenario through the real pipeline: files, facts, diagnosis, and how it compares with the truth."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy import CaseResult
from collectors.inputs import InputReport, Status
from collectors.resolve import resolve
from collectors.scan import read_inputs
from diagnose.engine.session import SessionRunner
from diagnose.knowledge.schema import Severity
from diagnose.ranking.diagnosis import diagnose
from diagnose.ranking.model import ESTABLISHED
from tests.scenarios.scenario import Scenario
from tests.scenarios.truths import acknowledged


@dataclass(frozen=True)
class Outcome:
    """What the diagnosis made of a scenario."""

    scenario: Scenario
    ranked: tuple[tuple[str, float, Severity], ...]
    """Cause, probability and severity, most probable first."""
    inputs: tuple[InputReport, ...]

    def place(self, cause: str) -> int | None:
        """Rank of a cause, from 1."""
        return next((n for n, (name, _, _) in enumerate(self.ranked, 1) if name == cause), None)

    def probability(self, cause: str) -> float:
        """Of a cause; 0 where it is not put forward."""
        return next((probability for name, probability, _ in self.ranked if name == cause), 0.0)

    @property
    def worst_place(self) -> int | None:
        """Rank of the last of the injected causes; None where one is absent."""
        places = [self.place(cause) for cause in self.scenario.causes]
        return None if None in places else max((place for place in places if place is not None), default=None)

    @property
    def true(self) -> frozenset[str]:
        """Injected causes, and what holds beside them."""
        return frozenset({*self.scenario.causes, *acknowledged(self.scenario.world, self.scenario.causes)})

    @property
    def accused(self) -> tuple[str, ...]:
        """Causes of severity warning or above at 0.5 or more that are not true."""
        return tuple(
            name
            for name, probability, severity in self.ranked
            if probability >= ESTABLISHED and severity.rank >= Severity.WARNING.rank and name not in self.true
        )

    def as_case(self) -> CaseResult:
        """For the tables that labelled cases have too."""
        return CaseResult(
            name="+".join(self.scenario.causes) or "healthy",
            accepted=self.true,
            healthy=not self.scenario.causes,
            ranked=self.ranked,
            unread=tuple(Path(item.path).name for item in self.inputs if item.status != Status.PARSED),
        )


def evaluate(runner: SessionRunner, scenario: Scenario) -> Outcome:
    """Write the files, read and diagnose them."""
    with tempfile.TemporaryDirectory(prefix="scenario-") as folder:
        scenario.write(Path(folder))
        readings = read_inputs([folder])
    diagnosis = diagnose(runner, resolve(readings.facts), series=readings.series)
    return Outcome(
        scenario,
        tuple((item.cause_id, item.probability, item.known.cause.severity) for item in diagnosis.causes),
        tuple(readings.inputs),
    )
