"""A probability taken apart, and what a rule file knows about a cause."""

from __future__ import annotations

from math import exp
from typing import TextIO

from diagnose.knowledge.base import KnownCause
from diagnose.report.model import ReportCause, ReportEvidence, ReportInstance
from diagnose.report.paper import Paper
from diagnose.report.text import source_list


def write_explanation(cause: ReportCause, stream: TextIO) -> None:
    """Prior, terms and sum for every instance; then what was looked for, and what is missing."""
    paper = Paper(stream)
    paper.paragraph(f"{cause.title}  [{cause.id}]", style="bold")
    paper.paragraph(cause.explanation, indent="  ", first="  ")
    for instance in cause.instances:
        paper.line()
        _write_instance(paper, cause, instance)
    if cause.looked_and_found_nothing:
        paper.line()
        paper.line("Looked, found nothing (counts neither way)", style="bold")
        for text in cause.looked_and_found_nothing:
            paper.paragraph(text, indent="    ", first="  . ")
    if cause.missing:
        paper.line()
        paper.line("Not judged, because these facts are missing", style="bold")
        for item in cause.missing:
            paper.paragraph(f"{item.rule}: {', '.join(item.kinds)}", indent="    ", first="  ? ")


def _write_instance(paper: Paper, cause: ReportCause, instance: ReportInstance) -> None:
    paper.line(f"{instance.subject}: {_percent(instance.probability)}", style="bold")
    host = instance.subject.partition("/")[0]
    terms = [item for item in cause.evidence if item.subject in (instance.subject, host)]
    log_odds = _log_odds(instance.prior)
    paper.line(f"  {log_odds:+7.2f}  prior {instance.prior:.1%} as log odds")
    paper.paragraph(f"source: {cause.prior_source}", indent=" " * 11, first=" " * 11, style="dim")
    for item in terms:
        if item.counted:
            log_odds += item.weight
        _write_term(paper, item)
    paper.line(f"  {log_odds:+7.2f}  sum, {_percent(1 / (1 + exp(-log_odds)))}")
    for note in instance.notes:
        paper.paragraph(note, indent=" " * 11, first="           ")
    if instance.explained_by:
        paper.paragraph(f"explained by {instance.explained_by}", indent=" " * 11, first=" " * 11)


def _write_term(paper: Paper, item: ReportEvidence) -> None:
    number = f"{item.weight:+7.2f}" if item.counted else "      -"
    remark = "" if item.counted else f" (not counted: group {item.group} has stronger evidence)"
    paper.paragraph(f"{item.text}{remark}", indent=" " * 11, first=f"  {number}  ")
    ratio = exp(abs(item.weight))
    word = "likelier with the cause" if item.weight > 0 else "likelier without it"
    paper.paragraph(
        f"{item.rule}: {ratio:.4g} times {word}; source: {item.weight_source}", " " * 11, " " * 11, style="dim"
    )
    where = source_list(item.sources, limit=8)
    if where:
        paper.paragraph(f"seen in {where}", indent=" " * 11, first=" " * 11, style="dim")


def _percent(probability: float) -> str:
    """To a tenth, but never a certainty that no probability has."""
    return ">99.9%" if probability > 0.999 else "<0.1%" if probability < 0.001 else f"{probability:.1%}"


def _log_odds(probability: float) -> float:
    from diagnose.ranking.rank import logit

    return logit(probability)


def write_knowledge(known: KnownCause, stream: TextIO) -> None:
    """What the rule file says: evidence with weights and sources, checks, fixes, references."""
    paper = Paper(stream)
    cause = known.cause
    paper.paragraph(f"{cause.title}  [{cause.id}]", style="bold")
    paper.paragraph(cause.explanation, indent="  ", first="  ")
    paper.line()
    paper.paragraph(
        f"Symptoms: {', '.join(cause.symptoms)}; severity: {cause.severity}; one per {cause.subject}; "
        f"prior {cause.prior.probability:.1%} ({cause.prior.source})",
        indent="  ",
    )
    paper.line()
    paper.line("Evidence", style="bold")
    for item in known.evidence:
        written = item.written
        sign = "+" if written.direction == "for" else "-"
        ratio = written.weight if written.weight > 1 else 1 / written.weight
        paper.paragraph(f"{written.id} (x{ratio:g}, group {written.group}): {written.says}", "    ", f"  {sign} ")
        paper.paragraph(f"source: {written.source}", indent="    ", first="    ", style="dim")
    paper.line()
    paper.line("Checks", style="bold")
    for check in known.checks:
        paper.paragraph(f"{check.id}: {check.text}", indent="    ", first="  * ")
        if check.command:
            paper.line(f"    $ {check.command}", style="cyan")
    for fix in known.fixes:
        paper.line()
        paper.paragraph(f"Fix: {fix.title} (risk: {fix.risk}; as: {fix.privilege})", indent="  ", style="bold")
        for number, step in enumerate(fix.steps, start=1):
            paper.paragraph(step.do, indent="     ", first=f"  {number}. ")
            if step.command:
                paper.line(f"     $ {step.command}", style="cyan")
            if step.setting:
                paper.line(f"     {step.setting}", style="cyan")
        paper.paragraph(f"Verify: {fix.verify}", indent="     ", first="  ")
    paper.line()
    paper.line("References", style="bold")
    for reference in known.references:
        paper.paragraph(reference, indent="    ", first="  * ")
