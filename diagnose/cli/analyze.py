"""`diagnose analyze`: files in, ranked causes out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import click

from diagnose.cli.exit_codes import FAIL_ON, ExitCode, exit_code
from diagnose.cli.output import standard_output


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
    """Rank the causes that files, folders, archives, or standard input (-) speak for.

    Formats are recognised by content: nvidia-smi in all its forms, kernel logs, lspci, NCCL logs and nccl-tests,
    numactl, lscpu, pasted terminals with several outputs in one file, compressed with gz, zst, xz or bz2.
    """
    from diagnose.cli.inputs import run_analysis
    from diagnose.ranking.model import ESTABLISHED
    from diagnose.report.build import build_report, input_reports

    if explained is not None:
        from diagnose.cli.explain import explain_cause

        return explain_cause(explained, paths, symptoms, host, style, fail_on)
    analysis = run_analysis(paths, symptoms, host)
    inputs = input_reports(analysis.inputs)
    report = build_report(analysis.diagnosis, analysis.knowledge, inputs, datetime.now(UTC).replace(microsecond=0))
    with standard_output() as stream:
        if style == "json":
            from diagnose.report.as_json import write_json

            write_json(report, stream, top)
        else:
            from diagnose.report.text import write_text

            write_text(report, stream, top)
    return exit_code(
        severities=[cause.severity for cause in report.causes if cause.probability >= ESTABLISHED],
        fail_on=fail_on,
        unusable=analysis.unusable,
        incomplete=analysis.incomplete,
    )
