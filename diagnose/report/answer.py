"""The answer in one sentence, which every style of report begins with."""

from __future__ import annotations

from diagnose.facts import UNNAMED_HOST
from diagnose.ranking.thresholds import ESTABLISHED
from diagnose.report.model import Report, ReportCause
from diagnose.report.numbers import percent

SUBJECTS_SHOWN = 4


def answer(report: Report) -> str:
    """What is most likely wrong, or that nothing was found, and in what."""
    found = [cause for cause in report.causes if cause.probability >= ESTABLISHED]
    if found:
        others = f", and {plural(len(found) - 1, 'other finding')}" if len(found) > 1 else ""
        return f"Most likely: {found[0].title} on {subjects_named(found[0])} ({percent(found[0].probability)}){others}."
    if report.causes:
        first = report.causes[0]
        return (
            f"Nothing certain. Best suspicion: {first.title} on {subjects_named(first)} ({percent(first.probability)})."
        )
    if not any(item.kind for item in report.inputs):
        return "Nothing was recognised, so nothing can be said."
    if report.problems:
        return "Nothing found in what could be diagnosed; see below what could not."
    return "Nothing found: nothing in these inputs speaks for a known cause."


def subjects_named(cause: ReportCause) -> str:
    """The subjects of a cause, the first ones by name."""
    shown = ", ".join(map(named, cause.subjects[:SUBJECTS_SHOWN]))
    more = len(cause.subjects) - SUBJECTS_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def named(subject: str) -> str:
    """The subject as people read it: `gpu/5` where no input names the host."""
    host, _, part = subject.partition("/")
    return subject if host != UNNAMED_HOST else part or "an unnamed host"


def plural(count: int, word: str) -> str:
    """`1 GPU`, `2 GPUs`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
