"""`diagnose compare BEFORE AFTER`: what changed, and whether it got better."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from diagnose.cli.exit_codes import ExitCode
from diagnose.cli.output import standard_output
from diagnose.cli.question import Question

if TYPE_CHECKING:
    from diagnose.report.comparison.compare import Side

_LARGEST_REPORT = 256 << 20


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("before", type=click.Path(exists=True))
@click.argument("after", type=click.Path(exists=True))
@click.option("--symptom", "symptoms", multiple=True, metavar="ID", help="A symptom that you see; may be repeated.")
@click.option("--host", metavar="NAME", help="Only this host; inputs that name no host are taken as its own.")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def compare(
    before: str, after: str, symptoms: tuple[str, ...], host: str | None, style: Literal["text", "json"]
) -> ExitCode:
    """Compare two results: bundles, folders, files, or reports that `analyze --format json` wrote.

    Shows which causes are gone, still there or not shown, how latency and bandwidth changed (better, worse, or not
    shown, with the interval), and what was set up differently.

    Exit codes: 0 nothing is worse, 1 something is worse or a cause came, 2 wrong usage or nothing readable,
    3 an input was only partly read and nothing is worse in the rest.
    """
    from diagnose.knowledge.loader import load_knowledge
    from diagnose.report.as_json import write_model
    from diagnose.report.comparison.compare import compare as compare_sides
    from diagnose.report.comparison.text import write_text

    sides = [_side(path, symptoms, host) for path in (before, after)]
    comparison = compare_sides(sides[0], sides[1], load_knowledge())
    with standard_output() as stream:
        if style == "json":
            write_model(comparison, stream)
        else:
            write_text(comparison, stream)
    if comparison.worse:
        return ExitCode.CAUSES_FOUND
    return ExitCode.INCOMPLETE if any(side.incomplete for side in sides) else ExitCode.NOTHING_FOUND


def _side(path: str, symptoms: tuple[str, ...], host: str | None) -> Side:
    from diagnose.report.comparison.compare import Side

    content = _report_text(Path(path))
    if content is not None:
        from pydantic import ValidationError

        from diagnose.report.model import Report

        try:
            return Side(path, Report.model_validate(content))
        except ValidationError as error:
            place = ".".join(map(str, error.errors()[0]["loc"]))
            raise click.UsageError(f"{path} is a report of another version, or damaged, at {place!r}") from None
    from diagnose.cli.inputs import run_analysis
    from diagnose.report.build import build_report, input_reports

    analysis = run_analysis(Question([path], symptoms, host))
    if analysis.unusable:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in analysis.unreadable())
        raise click.UsageError(f"nothing in {path} can be read" + (f" ({reasons})" if reasons else ""))
    now = datetime.now(UTC).replace(microsecond=0)
    report = build_report(
        analysis.diagnosis, analysis.knowledge, input_reports(analysis.inputs), now, analysis.simulated
    )
    return Side(path, report, analysis.facts, analysis.series, analysis.incomplete)


def _report_text(path: Path) -> object | None:
    """The content of a report of our own; None for any other file."""
    if not path.is_file() or path.stat().st_size > _LARGEST_REPORT:
        return None
    with path.open("rb") as opened:
        if b'"diagnose.report/1"' not in opened.read(200):
            return None
        opened.seek(0)
        try:
            content: object = json.load(opened)
        except (ValueError, RecursionError):
            raise click.UsageError(f"{path} is a damaged report") from None
    return content
