"""The report as one HTML page without scripts and without anything to load."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from diagnose.printable import printable_lines
from diagnose.report.answer import answer, named
from diagnose.report.model import Report, ReportCause, ReportFix
from diagnose.report.numbers import percent
from diagnose.report.text import source_list

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1f2328;background:#fff}
pre{background:#f6f8fa;padding:.6rem;overflow:auto}code{font-family:ui-monospace,monospace}
h1{font-size:1.5rem}h2{font-size:1.2rem;border-top:1px solid #d0d7de;padding-top:1rem}
.critical{color:#b3261e}.warning{color:#9a5b00}.info{color:#0b5cad}.where{color:#57606a;font-size:.9em}
table{border-collapse:collapse}td,th{border:1px solid #d0d7de;padding:.2rem .5rem;text-align:left}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#14171c}pre{background:#252b35}
.critical{color:#f2777a}.warning{color:#f0a04b}.info{color:#5fa8d3}.where{color:#9aa4b2}}
"""


def html(report: Report) -> str:
    """The whole page."""
    return "\n".join(_page(report)) + "\n"


def _page(report: Report) -> Iterator[str]:
    title = _text(answer(report))
    yield "<!DOCTYPE html>"
    yield f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style></head><body>'
    yield f"<h1>{title}</h1>"
    hosts = ", ".join(_text(named(host)) for host in report.hosts) or "not named"
    yield f"<p>{report.generated_at.isoformat()}, diagnose {_text(report.tool_version)}, hosts: {hosts}</p>"
    if report.simulated:
        yield f"<p>Simulated: {_text(', '.join(report.simulated))}. This is no real machine.</p>"
    for symptom in report.symptoms:
        signs = "".join(f"; {_text(sign)}" for sign in symptom.signs)
        how = "seen in the inputs" if symptom.detected else "named"
        yield f"<p>Symptom: {_text(symptom.title)} ({how}){signs}</p>"
    for number, cause in enumerate(report.causes, start=1):
        yield from _cause(number, cause)
    if report.checks:
        yield "<h2>Checks worth doing next</h2><ul>"
        for check in report.checks:
            yield f"<li>{_text(check.text)}{_code(check.command)}</li>"
        yield "</ul>"
    if report.problems:
        yield f"<h2>Not diagnosed</h2><ul>{''.join(f'<li>{_text(item)}</li>' for item in report.problems)}</ul>"
    if report.path_taken:
        yield "<h2>Path taken</h2><ol>"
        yield from (f"<li>{taken.at:%Y-%m-%d %H:%M:%S} UTC: {_text(taken.text)}</li>" for taken in report.path_taken)
        yield "</ol>"
    yield "<h2>Inputs</h2><table><tr><th>input</th><th>format</th><th>status</th><th>facts</th></tr>"
    for item in report.inputs:
        detail = f": {_text(item.detail)}" if item.detail else ""
        yield f"<tr><td>{_text(item.path)}</td><td>{item.kind or ''}</td><td>{item.status}{detail}</td>"
        yield f"<td>{item.facts}</td></tr>"
    yield "</table></body></html>"


def _cause(number: int, cause: ReportCause) -> Iterator[str]:
    shown = f"{number}. {_text(cause.title)}"
    probability = _text(percent(cause.probability))
    yield f'<h2>{shown} <span class="{cause.severity}">{probability}, {cause.severity}</span></h2>'
    subjects = ", ".join(_text(named(subject)) for subject in cause.subjects)
    yield f"<p><code>{cause.id}</code> on {subjects}. {_text(cause.explanation)}</p>"
    if cause.explained_by:
        yield f"<p>Follows from {_text(cause.explained_by)}.</p>"
    yield "<ul>"
    for item in cause.evidence:
        where = source_list(item.sources)
        seen = f'<br><span class="where">{_text(where)}</span>' if where else ""
        counted = "" if item.counted else " (not counted: the same as stronger evidence)"
        yield f"<li>{item.direction}: {_text(item.text)}{counted}{seen}</li>"
    yield from (f"<li>looked, found nothing: {_text(looked)}</li>" for looked in cause.looked_and_found_nothing)
    yield "</ul>"
    for fix in cause.fixes:
        yield from _fix(fix)


def _fix(fix: ReportFix) -> Iterator[str]:
    yield f"<h3>Fix: {_text(fix.title)}</h3><p>Risk: {fix.risk}; to be done as: {fix.privilege}.</p><ol>"
    for step in fix.steps:
        expect = f"<p>Expect: {_text(step.expect)}</p>" if step.expect else ""
        yield f"<li>{_text(step.do)}{_code(step.command or step.setting)}{expect}</li>"
    yield f"</ol><p>Verify: {_text(fix.verify)}</p>"


def _code(words: str | None) -> str:
    return "" if words is None else f"<pre><code>{_text(words)}</code></pre>"


def _text(words: str) -> str:
    return escape(printable_lines(words))
