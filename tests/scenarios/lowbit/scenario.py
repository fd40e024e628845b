"""A fault in a small model, written as files of the true formats and sent through the real pipeline."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy import CaseResult
from collectors.resolve import resolve
from collectors.scan import read_inputs
from diagnose.engine.session import SessionRunner
from diagnose.facts import Fact
from diagnose.knowledge.schema import Severity
from diagnose.lowbit.compare import compare_inputs
from diagnose.ranking.diagnosis import diagnose
from diagnose.ranking.model import ESTABLISHED
from tests.scenarios.lowbit.faults_run import RUN_FAULTS, calibrated
from tests.scenarios.lowbit.faults_text import TEXT_FAULTS, innocent_files
from tests.scenarios.lowbit.faults_weights import WEIGHT_FAULTS
from tests.scenarios.lowbit.network import SHAPES, SMALL
from tests.scenarios.lowbit.run import Runs, clean_runs, write
from tests.scenarios.lowbit.storage import SCHEMES

FAULTS = {**WEIGHT_FAULTS, **RUN_FAULTS, **TEXT_FAULTS}
SEVERITIES = ("mild", "medium", "grave")
CLEAN = (*SCHEMES, "bf16", "fp16", "int8 static", "fp8 static")
"""Formats of models without a fault."""
SYMPTOM = "low-bit-divergence"
NOISE = "expected-quantisation-noise"


@dataclass(frozen=True)
class LowBitScenario:
    """What is injected: a cause's way at a severity in a model's shape, or nothing."""

    cause: str | None
    way: str
    scheme: str
    severity: int
    shape: int
    seed: int

    @property
    def name(self) -> str:
        """For tables and messages."""
        degree = SEVERITIES[self.severity] if self.cause else "clean"
        return f"{self.cause or 'clean'} ({self.way}, {self.scheme}, {degree}, shape {self.shape}, seed {self.seed})"


@dataclass(frozen=True)
class LowBitOutcome:
    """What the diagnosis made of it."""

    scenario: LowBitScenario
    ranked: tuple[tuple[str, float, Severity], ...]
    problems: tuple[str, ...]

    def place(self) -> int | None:
        """Rank of the injected cause, from 1."""
        return next((at for at, (cause, _, _) in enumerate(self.ranked, 1) if cause == self.scenario.cause), None)

    def probability(self) -> float:
        """Of the injected cause; 0 where it is not put forward."""
        return next((value for cause, value, _ in self.ranked if cause == self.scenario.cause), 0.0)

    @property
    def accused(self) -> tuple[str, ...]:
        """Other causes of severity warning or above at 0.5 or more."""
        return tuple(
            cause
            for cause, value, severity in self.ranked
            if value >= ESTABLISHED and severity.rank >= Severity.WARNING.rank and cause != self.scenario.cause
        )

    def as_case(self) -> CaseResult:
        """For the tables that labelled cases have too."""
        accepted = frozenset({self.scenario.cause or NOISE})
        return CaseResult(self.scenario.name, accepted, self.scenario.cause is None, self.ranked, ())


def faulty(seeds: int = 1) -> Iterator[LowBitScenario]:
    """Every way of every cause at three severities; each in another of the shapes, and `seeds` times."""
    number = 0
    for cause, ways in FAULTS.items():
        for way, scheme, _ in ways:
            for severity in range(len(SEVERITIES)):
                for seed in range(seeds):
                    number += 1
                    yield LowBitScenario(cause, way, scheme, severity, number % len(SHAPES), 100 + number + 1000 * seed)


def clean(count: int = 50) -> Iterator[LowBitScenario]:
    """Models without a fault, of every format in turn."""
    for number in range(count):
        yield LowBitScenario(None, "no fault", CLEAN[number % len(CLEAN)], 0, number % len(SHAPES), 5000 + number)


def runs_of(scenario: LowBitScenario) -> Runs:
    """The runs with their fault."""
    scheme, _, static = scenario.scheme.partition(" ")
    runs = clean_runs((*SHAPES, SMALL)[scenario.shape], scheme, scenario.seed)
    if scenario.cause is None:
        if static:
            calibrated(runs)
        innocent_files(runs)
        return runs
    fault = next(do for way, name, do in FAULTS[scenario.cause] if (way, name) == (scenario.way, scenario.scheme))
    fault(runs, scenario.severity)
    return runs


def facts_of(folder: Path, runs: Runs) -> tuple[list[Fact], list[str]]:
    """What reading the texts and both comparisons give."""
    facts: list[Fact] = []
    problems: list[str] = []
    texts = folder / "files"
    if texts.is_dir():
        facts += resolve(read_inputs([str(texts)]).facts)
    if not runs.with_tensors:
        return facts, problems
    quantised = folder / "quantised"
    said = runs.said_format or (None if runs.quantised else runs.scheme)
    second = folder / "second"
    comparisons = [
        compare_inputs(
            folder / "reference",
            folder / "low",
            noise=second if second.is_dir() else None,
            weights=quantised if quantised.is_dir() else None,
            low_format=said,
        )
    ]
    if quantised.is_dir():
        facts += read_inputs([str(quantised / "config.json")]).facts
        if runs.quantised:
            comparisons.append(compare_inputs(folder / "original", quantised))
    for found in comparisons:
        facts += found.facts
        problems += found.problems
    return facts, problems


def evaluate(runner: SessionRunner, scenario: LowBitScenario) -> LowBitOutcome:
    """Write the files, read and compare them, diagnose."""
    runs = runs_of(scenario)
    with tempfile.TemporaryDirectory(prefix="lowbit-") as folder:
        write(runs, Path(folder))
        facts, problems = facts_of(Path(folder), runs)
    diagnosis = diagnose(runner, facts, [SYMPTOM])
    ranked = tuple((item.cause_id, item.probability, item.known.cause.severity) for item in diagnosis.causes)
    return LowBitOutcome(scenario, ranked, tuple(problems))
