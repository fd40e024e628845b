"""`diagnose analyze`: files in, ranked causes out."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Literal

import click

from diagnose.cli.exit_codes import ExitCode

FAIL_ON = ("info", "warning", "critical", "never")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--symptom", "symptoms", multiple=True, metavar="ID", help="A symptom that you see; may be repeated.")
@click.option("--host", metavar="NAME", help="Only this host; inputs that name no host are taken as its own.")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="warning",
    show_default=True,
    help="Exit with 1 from this severity on.",
)
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Show at most N causes. [default: 5 as text]")
@click.option("--explain", "explained", metavar="CAUSE", help="Take this cause's probability apart.")
def analyze(
    paths: tuple[str, ...],
    symptoms: tuple[str, ...],
    host: str | None,
    style: Literal["text", "json"],
    fail_on: str,
    top: int | None,
    explained: str | None,
) -> ExitCode:
    """Rank the causes that files, folders, or standard input (-) speak for.

    Formats are recognised by content: nvidia-smi in all its forms, kernel logs, lspci, NCCL logs and nccl-tests,
    numactl, lscpu, pasted terminals with several outputs in one file, compressed with gz, zst, xz or bz2.
    """
    from diagnose.cli.inputs import run_analysis
    from diagnose.ranking.model import ESTABLISHED
    from diagnose.report.build import build_report, input_reports

    if explained is not None:
        from diagnose.cli.explain import explain_cause

        return explain_cause(explained, paths, symptoms, host, style)
    analysis = run_analysis(paths, symptoms, host)
    inputs = input_reports(analysis.inputs)
    report = build_report(analysis.diagnosis, analysis.knowledge, inputs, datetime.now(UTC).replace(microsecond=0))
    if style == "json":
        from diagnose.report.as_json import write_json

        write_json(report, sys.stdout, top)
    else:
        from diagnose.report.text import write_text

        write_text(report, sys.stdout, top)
    return exit_code(
        severities=[cause.severity for cause in report.causes if cause.probability >= ESTABLISHED],
        fail_on=fail_on,
        unusable=analysis.unusable,
        incomplete=analysis.incomplete,
    )


def exit_code(severities: list[str], fail_on: str, unusable: bool, incomplete: bool) -> ExitCode:
    """The code of a finished analysis; `severities` are those of the causes found."""
    failing = FAIL_ON[FAIL_ON.index(fail_on) : -1]
    if any(severity in failing for severity in severities):
        return ExitCode.CAUSES_FOUND
    if severities:
        return ExitCode.NOTHING_FOUND
    if unusable:
        return ExitCode.UNUSABLE
    return ExitCode.INCOMPLETE if incomplete else ExitCode.NOTHING_FOUND
