"""From a diagnosis to the report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from collectors.inputs import InputReport, Status
from diagnose import __version__
from diagnose.facts import Fact, Source
from diagnose.facts.collection import CollectorStatus
from diagnose.knowledge.base import KnowledgeBase
from diagnose.knowledge.schema import Fix, Step
from diagnose.ranking.model import SUSPECTED, Diagnosis, Instance, NextCheck, RankedCause, SymptomState
from diagnose.report.model import (
    Report,
    ReportCause,
    ReportCheck,
    ReportEvidence,
    ReportFix,
    ReportInput,
    ReportInstance,
    ReportMissing,
    ReportSource,
    ReportStep,
    ReportSymptom,
)

DECIMALS = 6
"""Decimals of probabilities and weights: readers round again for display, and fewer would show in what they print."""

_SUBJECT_VALUE = re.compile(r"(?<![${])\{(gpu|gpu_index|gpu_bus_id|gpu_uuid|host|bus_id|nic)\}")


def build_report(
    diagnosis: Diagnosis,
    knowledge: KnowledgeBase,
    inputs: Sequence[ReportInput],
    generated_at: datetime,
    simulated: Sequence[str] = (),
) -> Report:
    """The report of a diagnosis; the time comes from the caller, so that equal inputs give equal reports.

    `simulated` names the scenarios that stood in for machines.
    """
    return Report(
        generated_at=generated_at,
        tool_version=__version__,
        hosts=diagnosis.hosts,
        inputs=tuple(inputs),
        symptoms=tuple(_symptom(knowledge, state) for state in diagnosis.symptoms if state.detected or state.asserted),
        causes=tuple(report_cause(cause) for cause in diagnosis.causes),
        checks=tuple(_check(check) for check in diagnosis.checks),
        problems=tuple(diagnosis.problems),
        simulated=tuple(simulated),
        observed={host: tuple(sorted(kinds)) for host, kinds in diagnosis.observed.items()},
    )


def simulations(facts: Iterable[Fact]) -> list[str]:
    """Names of the scenarios that recordings say they were made of, in alphabetical order."""
    return sorted({fact.simulated for fact in facts if isinstance(fact, CollectorStatus) and fact.simulated})


def input_reports(inputs: Sequence[InputReport]) -> list[ReportInput]:
    """What became of the inputs, as the report names it; `kind` is null where no format was recognised."""
    return [
        ReportInput(
            path=item.path,
            kind=item.kind if item.status in (Status.PARSED, Status.PARTIAL) else None,
            status=item.status.value,
            facts=item.facts,
            measurements=item.measurements,
            detail=item.detail,
            line=item.first_line,
        )
        for item in inputs
    ]


def report_cause(cause: RankedCause) -> ReportCause:
    """One ranked cause, with the fix filled in for its most probable subject."""
    known, first = cause.known, cause.instances[0]
    shown = [instance for instance in cause.instances if instance.probability >= SUSPECTED] or [first]
    return ReportCause(
        id=known.cause.id,
        title=known.cause.title,
        explanation=known.cause.explanation,
        symptoms=known.cause.symptoms,
        component=known.cause.component,
        subjects=tuple(instance.key.subject for instance in shown),
        probability=_rounded(cause.probability),
        severity=known.cause.severity.value,
        root_of=cause.explains,
        explained_by=_root(first),
        prior=_rounded(first.prior),
        prior_source=known.cause.prior.source,
        instances=tuple(_instance(instance) for instance in cause.instances),
        evidence=tuple(_evidence(cause.instances)),
        looked_and_found_nothing=tuple(cause.looked),
        missing=tuple(
            ReportMissing(rule=f"{known.cause.id}/{item.evidence.id}", kinds=item.kinds) for item in cause.unseen
        ),
        fixes=tuple(_fix(fix, first) for fix in known.fixes),
        references=known.references,
    )


def _rounded(probability: float) -> float:
    return round(probability, DECIMALS)


def _root(instance: Instance) -> str | None:
    return f"{instance.root.cause_id}@{instance.root.key.subject}" if instance.root else None


def _instance(instance: Instance) -> ReportInstance:
    return ReportInstance(
        subject=instance.key.subject,
        probability=_rounded(instance.probability),
        prior=_rounded(instance.prior),
        notes=tuple(instance.notes),
        explained_by=_root(instance),
    )


def _evidence(instances: Sequence[Instance]) -> list[ReportEvidence]:
    """Evidence of all instances, the heaviest first; what concerns the whole host stands once."""
    found: dict[tuple[str, str], ReportEvidence] = {}
    for instance in instances:
        for term in instance.terms:
            finding = term.finding
            entry = ReportEvidence(
                rule=f"{instance.cause_id}/{finding.evidence.id}",
                direction=finding.evidence.direction,
                weight=round(finding.log_weight, DECIMALS),
                counted=term.counted,
                group=finding.evidence.group,
                text=finding.text,
                subject=finding.instance.subject,
                weight_source=finding.evidence.source,
                sources=tuple(_source(source) for source in finding.sources),
            )
            key = (entry.rule, entry.subject)
            if key not in found or (entry.counted and not found[key].counted):
                found[key] = entry
    return sorted(found.values(), key=lambda item: -abs(item.weight))


def _source(source: Source) -> ReportSource:
    return ReportSource(path=source.path, line=source.line, command=source.command)


def _fix(fix: Fix, instance: Instance) -> ReportFix:
    texts = [
        fix.verify,
        *(text for step in fix.steps for text in (step.do, step.command, step.setting, step.expect) if text),
    ]
    names = {name for text in texts for name in _SUBJECT_VALUE.findall(text)} - {"host"}
    return ReportFix(
        title=fix.title,
        risk=fix.risk.value,
        privilege=fix.privilege.value,
        steps=tuple(_step(step, instance) for step in fix.steps),
        verify=_filled(fix.verify, instance),
        filled_for=instance.key.subject if names else None,
    )


def _step(step: Step, instance: Instance) -> ReportStep:
    return ReportStep(
        do=_filled(step.do, instance),
        command=None if step.command is None else _filled(step.command, instance),
        setting=None if step.setting is None else _filled(step.setting, instance),
        expect=None if step.expect is None else _filled(step.expect, instance),
    )


def _filled(text: str, instance: Instance) -> str:
    """Values of the subject in place of `{gpu_bus_id}` and the like; what is not known becomes `GPU_BUS_ID`.

    Capitals are what rules write for a value to fill in, and to a shell they are a word: `<gpu_bus_id>` would redirect.
    """

    def one(match: re.Match[str]) -> str:
        name = match.group(1)
        return instance.subject_value(name) or ("GPU_INDEX" if name == "gpu" else name.upper())

    return _SUBJECT_VALUE.sub(one, text)


def _symptom(knowledge: KnowledgeBase, state: SymptomState) -> ReportSymptom:
    return ReportSymptom(
        id=state.id,
        title=knowledge.symptoms[state.id].symptom.title,
        detected=state.detected,
        asserted=state.asserted,
        signs=state.signs,
    )


def _check(check: NextCheck) -> ReportCheck:
    return ReportCheck(
        id=check.id,
        text=check.text,
        command=check.command,
        separates=check.separates,
        expected_gain_bits=round(check.gain_bits, 4),
        cost_seconds=check.cost_seconds,
        risk=check.risk,
        privilege=check.privilege,
    )
