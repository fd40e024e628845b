"""The report as text that a tired person reads at a glance: the first line answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TextIO

from diagnose.report.answer import answer, named, subjects_named
from diagnose.report.model import Report, ReportCause, ReportCheck, ReportEvidence, ReportFix, ReportInput, ReportSource
from diagnose.report.numbers import percent
from diagnose.report.paper import Paper

DEFAULT_TOP = 5
EVIDENCE_SHOWN = 4
UNREAD_SHOWN = 8

STYLES = {"critical": "bold red", "warning": "bold yellow", "info": "bold cyan"}


def write_text(report: Report, stream: TextIO, top: int | None = None) -> None:
    """Write the report."""
    paper = Paper(stream)
    paper.paragraph(answer(report), style="bold")
    if report.simulated:
        paper.paragraph(f"Simulated: {', '.join(report.simulated)}. This is no real machine.", style="yellow")
    shown = _beneath_roots(report.causes[: top or DEFAULT_TOP])
    for number, cause in enumerate(shown, start=1):
        paper.line()
        _write_cause(paper, number, cause, detailed=number == 1)
    hidden = len(report.causes) - len(shown)
    if hidden:
        paper.line()
        paper.paragraph(f"{hidden} less probable: {', '.join(cause.id for cause in report.causes[len(shown) :])}")
    if report.checks:
        paper.line()
        _write_check(paper, report.checks[0])
    for problem in report.problems:
        paper.line()
        paper.paragraph(f"Not diagnosed: {problem}", indent="    ", first="", style="yellow")
    paper.line()
    _write_inputs(paper, report.inputs)


def _beneath_roots(causes: Sequence[ReportCause]) -> list[ReportCause]:
    """Consequences directly after the cause that explains them."""
    ids = {cause.id for cause in causes}
    roots = [cause for cause in causes if _root_id(cause) not in ids]
    ordered: list[ReportCause] = []

    def place(cause: ReportCause) -> None:
        if cause not in ordered:
            ordered.append(cause)
            for other in causes:
                if _root_id(other) == cause.id:
                    place(other)

    for cause in (*roots, *causes):
        place(cause)
    return ordered


def _root_id(cause: ReportCause) -> str | None:
    return cause.explained_by.partition("@")[0] if cause.explained_by else None


def _write_cause(paper: Paper, number: int, cause: ReportCause, detailed: bool) -> None:
    head = f"{number}. {percent(cause.probability):>4}  {cause.severity.upper()}  {cause.title}  [{cause.id}]"
    paper.paragraph(head, indent=" " * 9, first="", style=STYLES[cause.severity])
    indent = " " * 4
    if cause.explained_by is not None:
        root, _, subject = cause.explained_by.partition("@")
        paper.paragraph(f"Follows from {root} on {named(subject)}.", indent, indent)
    paper.paragraph(f"On {subjects_named(cause)}", indent, indent)
    if detailed:
        paper.paragraph(cause.explanation, indent, indent)
    counted = [item for item in cause.evidence if item.counted] or list(cause.evidence)
    for item in counted[:EVIDENCE_SHOWN]:
        _write_evidence(paper, item)
    more = len(cause.evidence) - min(len(counted), EVIDENCE_SHOWN)
    if more > 0:
        paper.paragraph(f"{more} more of the evidence: add --explain {cause.id}", indent + "  ", indent + "  ")
    for fix in cause.fixes[: None if detailed else 1]:
        _write_fix(paper, fix, len(cause.subjects), detailed)


def _write_evidence(paper: Paper, item: ReportEvidence) -> None:
    sign, style = ("+", "green") if item.direction == "for" else ("-", "red")
    paper.paragraph(item.text, indent=" " * 6, first=f"    {sign} ", style=style)
    where = source_list(item.sources)
    if where:
        paper.line(f"      {where}", style="dim")


def source_list(sources: Sequence[ReportSource], limit: int = 3) -> str:
    """`dmesg.txt:12,40, q.txt:7 and 3 more`: every file once, with its lines; `limit` lines are shown."""
    lines: dict[str, list[str]] = {}
    for source in sources[:limit]:
        place = lines.setdefault(source.path or source.command or "?", [])
        if source.path is not None and source.line is not None:
            place.append(str(source.line))
    shown = ", ".join(f"{path}:{','.join(numbers)}" if numbers else path for path, numbers in lines.items())
    return f"{shown} and {len(sources) - limit} more" if len(sources) > limit else shown


def _write_fix(paper: Paper, fix: ReportFix, subjects: int, detailed: bool) -> None:
    paper.paragraph(f"Fix: {fix.title}  (risk: {fix.risk}; as: {fix.privilege})", indent=" " * 9, first="    ")
    if not detailed:
        return
    if fix.filled_for is not None and subjects > 1:
        others = "the other" if subjects == 2 else f"the {subjects - 1} others"
        paper.paragraph(f"Written for {named(fix.filled_for)}; do the same for {others}", " " * 6, " " * 6)
    for number, step in enumerate(fix.steps, start=1):
        paper.paragraph(step.do, indent=" " * 9, first=f"      {number}. ")
        if step.command:
            for row in step.command.splitlines():
                paper.line(f"         $ {row}", style="cyan")
        if step.setting:
            paper.line(f"         {step.setting}", style="cyan")
        if step.expect:
            paper.paragraph(f"Expect: {step.expect}", indent=" " * 9, first=" " * 9)
    paper.paragraph(f"Verify: {fix.verify}", indent=" " * 9, first=" " * 6)


def _write_check(paper: Paper, check: ReportCheck) -> None:
    paper.paragraph(f"Next best check: {check.text}", style="bold")
    if check.command:
        for row in check.command.splitlines():
            paper.line(f"    $ {row}", style="cyan")
    paper.paragraph(f"It would tell about: {', '.join(check.separates[:6])}", indent="    ", first="    ")


def _write_inputs(paper: Paper, inputs: Sequence[ReportInput]) -> None:
    read = Counter(item.kind for item in inputs if item.kind)
    if read:
        kinds = ", ".join(f"{kind} ({count})" if count > 1 else str(kind) for kind, count in read.items())
        paper.paragraph(f"Read: {kinds}", indent="    ")
    unknown = [item for item in inputs if item.status == "unrecognised"]
    if unknown:
        shown = ", ".join(_place(item) for item in unknown[:UNREAD_SHOWN])
        more = f" and {len(unknown) - UNREAD_SHOWN} more" if len(unknown) > UNREAD_SHOWN else ""
        paper.paragraph(f"In no known format: {shown}{more}", indent="    ", style="dim")
    problems = [item for item in inputs if item.status in ("partial", "unreadable", "skipped")]
    for item in problems[:UNREAD_SHOWN]:
        kind = f" ({item.kind})" if item.kind else ""
        detail = f": {item.detail}" if item.detail else ""
        paper.paragraph(f"{_STATUS_WORDS[item.status]}: {_place(item)}{kind}{detail}", indent="    ", style="yellow")
    if len(problems) > UNREAD_SHOWN:
        paper.paragraph(f"... and {len(problems) - UNREAD_SHOWN} more not or only partly read; --format json lists all")


_STATUS_WORDS = {"partial": "Only partly read", "unreadable": "Cannot be read", "skipped": "Skipped"}


def _place(item: ReportInput) -> str:
    return item.path if item.line in (None, 1) else f"{item.path}:{item.line}"
