"""The report as Markdown. What inputs say is escaped: a log must not become a heading or a link."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnose.facts import UNNAMED_HOST
from diagnose.printable import printable, printable_lines
from diagnose.report.answer import answer
from diagnose.report.model import Report, ReportCause, ReportFix
from diagnose.report.numbers import percent
from diagnose.report.text import source_list

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def markdown(report: Report) -> str:
    """The whole report."""
    return "\n".join(_report(report)) + "\n"


def _report(report: Report) -> Iterator[str]:
    yield f"# {_escaped(answer(report))}"
    yield ""
    yield f"{report.generated_at.isoformat()}, diagnose {report.tool_version}, hosts: {_names(report.hosts)}"
    if report.simulated:
        yield ""
        yield f"Simulated: {_names(report.simulated)}. This is no real machine."
    for symptom in report.symptoms:
        yield ""
        how = "named" if symptom.asserted and not symptom.detected else "seen in the inputs"
        yield f"Symptom: {_escaped(symptom.title)} ({how}){_escaped(''.join(f'; {sign}' for sign in symptom.signs))}"
    for number, cause in enumerate(report.causes, start=1):
        yield ""
        yield from _cause(number, cause)
    if report.checks:
        yield ""
        yield "## Checks worth doing next"
        for check in report.checks:
            yield ""
            yield f"- {_escaped(check.text)} (tells about: {', '.join(check.separates)})"
            yield from _code(check.command, "  ")
    yield from _list("Not diagnosed", report.problems)
    if report.path_taken:
        yield ""
        yield "## Path taken"
        yield ""
        for taken in report.path_taken:
            yield f"- {taken.at:%Y-%m-%d %H:%M:%S} UTC: {_escaped(taken.text)}"
    yield ""
    yield "## Inputs"
    yield ""
    yield "| input | format | status | facts |"
    yield "|---|---|---|---|"
    for item in report.inputs:
        detail = f": {item.detail}" if item.detail else ""
        yield f"| {_escaped(item.path)} | {item.kind or ''} | {item.status}{_escaped(detail)} | {item.facts} |"


def _cause(number: int, cause: ReportCause) -> Iterator[str]:
    yield f"## {number}. {_escaped(cause.title)} ({percent(cause.probability)}, {cause.severity})"
    yield ""
    yield f"`{cause.id}` on {_names(cause.subjects)}. {_escaped(cause.explanation)}"
    if cause.explained_by:
        yield ""
        yield f"Follows from {_escaped(cause.explained_by)}."
    yield ""
    for item in cause.evidence:
        where = source_list(item.sources)
        counted = "" if item.counted else ", not counted: the same as stronger evidence"
        seen = f" ({_escaped(where)}{counted})" if where else ""
        yield f"- {'for' if item.direction == 'for' else 'against'}: {_escaped(item.text)}{seen}"
    for looked in cause.looked_and_found_nothing:
        yield f"- looked, found nothing: {_escaped(looked)}"
    if cause.missing:
        yield f"- missing: {', '.join(sorted({kind for item in cause.missing for kind in item.kinds}))}"
    for fix in cause.fixes:
        yield ""
        yield from _fix(fix)


def _fix(fix: ReportFix) -> Iterator[str]:
    yield f"### Fix: {_escaped(fix.title)}"
    yield ""
    yield f"Risk: {fix.risk}; to be done as: {fix.privilege}."
    yield ""
    for number, step in enumerate(fix.steps, start=1):
        yield f"{number}. {_escaped(step.do)}"
        yield from _code(step.command or step.setting, "   ")
        if step.expect:
            yield f"   Expect: {_escaped(step.expect)}"
    yield ""
    yield f"Verify: {_escaped(fix.verify)}"


def _code(words: str | None, indent: str) -> Iterator[str]:
    if words is None:
        return
    longest = max((len(run) for run in re.findall(r"`+", words)), default=0)
    fence = "`" * max(3, longest + 1)
    yield ""
    yield f"{indent}{fence}sh"
    yield from (f"{indent}{printable(line)}" for line in words.splitlines())
    yield f"{indent}{fence}"


def _list(title: str, items: tuple[str, ...]) -> Iterator[str]:
    if items:
        yield ""
        yield f"## {title}"
        yield ""
        yield from (f"- {_escaped(item)}" for item in items)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(_escaped(name) for name in names if name != UNNAMED_HOST) or "not named"


def _escaped(words: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(printable_lines(words).split("\n")))
