"""From paths on the command line to a diagnosis: the part that `analyze` and `explain` share."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click

from collectors.base import FileCollector, LineCollector
from collectors.inputs import InputReport, Readings, Status
from collectors.resolve import resolve_readings
from collectors.scan import read_inputs
from diagnose.cli.progress import Progress
from diagnose.cli.question import Question
from diagnose.cli.symptoms import check_symptoms
from diagnose.engine.session import SessionRunner
from diagnose.facts import Fact
from diagnose.facts.series import Measurement
from diagnose.intake.symptoms import reported_symptoms
from diagnose.knowledge.base import KnowledgeBase
from diagnose.knowledge.loader import load_knowledge
from diagnose.ranking.diagnosis import diagnose
from diagnose.ranking.model import Diagnosis
from diagnose.report.build import simulations


@dataclass(frozen=True)
class Analysis:
    """A diagnosis with what it was made of."""

    knowledge: KnowledgeBase
    inputs: Sequence[InputReport]
    diagnosis: Diagnosis

    paths: Sequence[str]
    """The inputs as named on the command line."""

    simulated: Sequence[str] = ()
    """Scenarios that stood in for machines."""

    facts: Sequence[Fact] = ()
    """What the diagnosis was made of, before features."""

    series: Sequence[Measurement] = ()
    """Measurements beside them."""

    @property
    def unusable(self) -> bool:
        """Whether a named input cannot be read, or nothing in any of them was recognised."""
        named_unreadable = any(item.status is Status.UNREADABLE and item.path in self.paths for item in self.inputs)
        return named_unreadable or not any(item.status in (Status.PARSED, Status.PARTIAL) for item in self.inputs)

    def unreadable(self) -> Iterator[tuple[str, str]]:
        """Inputs that cannot be read, each with the reason."""
        return ((item.path, item.detail or "") for item in self.inputs if item.status is Status.UNREADABLE)

    @property
    def incomplete(self) -> bool:
        """Whether a part of the inputs is missing from the diagnosis."""
        unread = any(item.status in (Status.PARTIAL, Status.UNREADABLE) for item in self.inputs)
        return unread or bool(self.diagnosis.problems)


def run_analysis(question: Question) -> Analysis:
    """Read the inputs and diagnose them.

    Raises UsageError for a symptom that does not exist, a pattern that cannot be used, or no input at all.
    """
    host = question.host
    if question.empty:
        raise click.UsageError("name files or folders to analyse, or `-` to read standard input")
    knowledge = load_knowledge()
    check_symptoms(question.symptoms, knowledge)
    with Progress(sys.stderr) as progress:
        readings = resolve_readings(read_all(question, progress))
        facts, series = [*readings.facts, *_tensors(question, readings, progress)], readings.series
        if host is not None:
            facts = of_host(facts, host)
            series = [item for item in series if item.subject.host in (host, None)]
        progress("ranking causes")
        symptoms = [*question.symptoms, *reported_symptoms(facts, knowledge)]
        diagnosis = diagnose(SessionRunner(knowledge), facts, symptoms, series)
    return Analysis(knowledge, readings.inputs, diagnosis, _named(question), simulations(facts), facts, series)


def _tensors(question: Question, readings: Readings, progress: Progress) -> list[Fact]:
    """What recorded activations and checkpoints among the inputs show beside one another."""
    if not any(fact.kind == "tensor-file" for fact in readings.facts):
        return []
    from diagnose.intake.lowbit import tensor_findings

    found = tensor_findings(question.paths, progress)
    readings.inputs.extend(
        InputReport(path=path, kind="tensors", status=Status.PARTIAL, detail=detail) for path, detail in found.problems
    )
    return found.facts


def _named(question: Question) -> list[str]:
    """Inputs by the names that reports give them."""
    if question.prometheus is None:
        return [*question.paths]
    from diagnose.cli.prometheus_source import shown_url

    return [*question.paths, shown_url(question.prometheus)]


def read_all(question: Question, progress: Progress) -> Readings:
    """Everything that the question names; hosts are not yet resolved."""
    readings = _read_files(question, progress)
    if question.prometheus is None:
        return readings
    from diagnose.cli.prometheus_source import read_source

    found = read_source(question.prometheus, progress)
    return Readings(
        [*readings.facts, *found.facts], [*readings.inputs, *found.inputs], [*readings.series, *found.series]
    )


def _read_files(question: Question, progress: Progress) -> Readings:
    logs = [training_log(question.pattern)] if question.pattern is not None else []
    tables = request_tables(question)
    paths = [*question.paths, *([] if question.live is None else [str(question.live)])]
    readings = read_inputs(paths, progress=progress, more_line_collectors=logs, more_file_collectors=tables)
    if logs and not any(item.kind == logs[0].kind for item in readings.inputs):
        detail = "None of the inputs has a line that the pattern matches"
        readings.inputs.append(
            InputReport(path="--pattern", kind=logs[0].kind, status=Status.UNREADABLE, detail=detail)
        )
    if question.live is None:
        return readings
    from diagnose.intake.recordings import renamed

    return renamed(readings, question.live)


def request_tables(question: Question) -> list[type[FileCollector]]:
    """The collector of tables of requests that knows what the operator says of columns. Raises UsageError."""
    if not question.columns and not question.units:
        return []
    from collectors.request_columns import HintError, hints_of
    from collectors.request_table import RequestTable

    try:
        hints = hints_of(question.columns, question.units)
    except HintError as error:
        raise click.UsageError(str(error)) from None
    return [] if hints is None else [RequestTable.told(hints)]


def training_log(pattern: str) -> type[LineCollector]:
    """The collector of a training log of an own format. Raises UsageError."""
    from collectors.training_pattern import PatternError, training_pattern

    try:
        return training_pattern(pattern)
    except PatternError as error:
        raise click.UsageError(f"--pattern: {error}") from None


def of_host(facts: Sequence[Fact], host: str) -> list[Fact]:
    """Facts of one host; those that name none are taken as its own."""
    named = [fact for fact in facts if fact.subject.host == host]
    unnamed = [
        fact.model_copy(update={"subject": fact.subject.model_copy(update={"host": host})})
        for fact in facts
        if fact.subject.host is None
    ]
    if not named and not unnamed:
        hosts = sorted({fact.subject.host for fact in facts if fact.subject.host is not None})
        if hosts:
            raise click.UsageError(f"no input is about host {host!r}; there are: {', '.join(hosts)}")
    return named + unnamed
