"""Texts that several screens show, from the report to styled content. Pure: data in, content out."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from diagnose.facts import UNNAMED_HOST
from diagnose.printable import printable, printable_lines
from diagnose.report.model import ReportCause, ReportEvidence, ReportSource
from diagnose.report.numbers import percent
from diagnose.report.text import source_list
from diagnose.tui.model.events import Outcome, StepState
from diagnose.tui.model.moved import Move

SEVERITIES = {
    "critical": ("▲ CRITICAL", "bold $text-error"),
    "warning": ("◆ WARNING", "bold $text-warning"),
    "info": ("● INFO", "bold $text-accent"),
}
STATES = {
    "waiting": ("○", "waiting", "$text-muted"),
    "running": ("►", "running", "bold $text-accent"),
    "done": ("✓", "done", "$text-success"),
    "parsed": ("✓", "read", "$text-success"),
    "partial": ("!", "partial", "$text-warning"),
    "timed-out": ("✗", "timed out", "$text-error"),
    "crashed": ("✗", "crashed", "$text-error"),
    "unreadable": ("✗", "unreadable", "$text-error"),
    "no-privilege": ("✗", "no right", "$text-warning"),
    "skipped": ("-", "skipped", "$text-warning"),
    "left-out": ("-", "skipped", "$text-warning"),
    "absent": ("-", "not there", "$text-muted"),
    "unrecognised": ("?", "unknown", "$text-muted"),
}
OUTCOMES = {
    Outcome.GONE: ("✓ GONE", "bold $text-success"),
    Outcome.STILL_THERE: ("✗ STILL THERE", "bold $text-error"),
    Outcome.NOT_SHOWN: ("? NOT SHOWN", "bold $text-warning"),
}
STEPS = {
    StepState.OPEN: ("○", "", ""),
    StepState.DONE: ("✓", "done", "$text-success"),
    StepState.FAILED: ("✗", "failed", "$text-error"),
    StepState.SKIPPED: ("-", "skipped", "$text-warning"),
}
RISKS = {
    "none": "no risk: it disturbs nobody",
    "restart-job": "the job must be restarted",
    "drain": "the machine must be drained of work",
    "reset": "the GPUs must be reset: what runs on them ends",
    "reboot": "the machine must be rebooted",
    "hardware": "hardware must be touched, with the machine off",
}
PRIVILEGES = {"user": "as an ordinary user", "root": "as root", "site": "by the people at the site"}


def text(words: str, style: str = "") -> Content:
    """Words of an input or a rule, made harmless."""
    return Content.styled(printable_lines(words), style)


def lines(*parts: Content | str) -> Content:
    """Parts, a line each."""
    return Content("\n").join([Content(part) if isinstance(part, str) else part for part in parts])


def severity(cause: ReportCause) -> Content:
    """Symbol, word and colour: any one of them suffices."""
    return Content.styled(*SEVERITIES[cause.severity])


def subject(name: str) -> str:
    """The subject as people read it: `gpu/5` where no input names the host."""
    host, _, part = name.partition("/")
    return printable(name if host != UNNAMED_HOST else part or "an unnamed host")


def subjects(cause: ReportCause, limit: int = 3) -> str:
    """The subjects of a cause, the first ones by name."""
    shown = ", ".join(subject(name) for name in cause.subjects[:limit])
    more = len(cause.subjects) - limit
    return f"{shown} and {more} more" if more > 0 else shown


def cause_row(cause: ReportCause, beneath: int) -> Content:
    """A cause in the list: probability, severity, title, subject, and why in one line."""
    branch = "  " * beneath + ("└ " if beneath else "")
    first = next((item for item in cause.evidence if item.direction == "for"), None)
    why = "" if first is None else printable(first.text)
    head = Content.assemble(
        branch,
        (f"{percent(cause.probability):>4}", "bold"),
        " ",
        severity(cause),
        " ",
        (printable(cause.title), "bold"),
    )
    indent = " " * (len(branch) + 5)
    return lines(head, Content.styled(f"{indent}{subjects(cause, 2)}: {why}", "$text-muted"))


def evidence_row(item: ReportEvidence) -> Content:
    """A piece of evidence: for or against, its sentence, where it stands."""
    sign, style = ("+ for", "$text-success") if item.direction == "for" else ("- against", "$text-error")
    counted = "" if item.counted else " (says the same as stronger evidence, not counted)"
    where = sources(item.sources)
    head = Content.assemble((sign, f"bold {style}"), " ", printable(item.text), (counted, "$text-muted"))
    return lines(head, Content.styled(f"    {where}", "$text-muted")) if where else head


def sources(places: Sequence[ReportSource]) -> str:
    """Files and lines."""
    return printable(source_list(places))


def part_state(state: str) -> Content:
    """How a part of a collection fares: symbol, word, colour."""
    symbol, word, style = STATES.get(state, ("?", state, ""))
    return Content.styled(f"{symbol} {word:<10}", style)


def move_row(move: Move) -> Content:
    """What an answer moved."""
    before = "not found" if move.before is None else percent(move.before)
    after = "not found" if move.after is None else percent(move.after)
    up = (move.after or 0.0) > (move.before or 0.0)
    arrow, style = ("▲ up", "$text-error") if up else ("▼ down", "$text-success")
    return Content.assemble((arrow, style), f"  {printable(move.cause.title)}: {before} → {after}")


def command(words: str) -> Content:
    """A command to copy, never wrapped into something else."""
    return lines(*(Content.styled(f"  $ {printable(line)}", "bold $text-accent") for line in words.splitlines()))
