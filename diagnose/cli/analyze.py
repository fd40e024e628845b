"""`diagnose analyze`: files in, ranked causes out."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from diagnose.cli.durations import duration as duration_type
from diagnose.cli.exit_codes import FAIL_ON, ExitCode, exit_code
from diagnose.cli.output import standard_output
from diagnose.cli.prometheus_options import PrometheusQuestion, prometheus_options
from diagnose.cli.question import Question

if TYPE_CHECKING:
    from diagnose.cli.inputs import Analysis


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--symptom", "symptoms", multiple=True, metavar="ID", help="A symptom that you see; may be repeated.")
@click.option("--host", metavar="NAME", help="Only this host; inputs that name no host are taken as its own.")
@click.option(
    "--format", "style", type=click.Choice(["text", "json", "markdown", "html"]), default="text", show_default=True
)
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="warning",
    show_default=True,
    help="Exit with 1 from this severity on.",
)
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Show at most N causes. [default: 5 as text]")
@click.option("--live", is_flag=True, help="Read this machine, beside PATHS if there are any.")
@click.option("--duration", type=duration_type, default="1s", show_default=True, help="With --live: how long to watch.")
@click.option(
    "--pattern",
    metavar="REGEX",
    help="Lines of a training log of an own format, e.g. 'step (?P<step>\\d+) took (?P<ms>[\\d.]+) ms'.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="MEANING=NAME",
    help="A column of a table of requests: e2e, ttft, itl, start, ... and its name. May be repeated.",
)
@click.option(
    "--unit",
    "units",
    multiple=True,
    metavar="NAME=UNIT",
    help="Unit of a column of a table of requests: s, ms, us or ns. May be repeated.",
)
@click.option("--explain", "explained", metavar="CAUSE", help="Take this cause's probability apart.")
@prometheus_options
def analyze(
    paths: tuple[str, ...],
    symptoms: tuple[str, ...],
    host: str | None,
    style: Literal["text", "json", "markdown", "html"],
    fail_on: str,
    top: int | None,
    live: bool,
    duration: float,
    pattern: str | None,
    columns: tuple[str, ...],
    units: tuple[str, ...],
    explained: str | None,
    prometheus: PrometheusQuestion | None,
) -> ExitCode:
    """Rank the causes that files, folders, archives, standard input (-), or this machine (--live) speak for.

    --prometheus reads a running server, alone or beside them: dcgm-exporter, node_exporter and inference servers.

    Formats are recognised by content: nvidia-smi in all its forms, kernel logs, lspci, NCCL logs and nccl-tests,
    numactl, lscpu, pasted terminals with several outputs in one file, compressed with gz, zst, xz or bz2, and in
    tar or zip archives, such as bundles and sosreports.
    """
    if explained is not None:
        from diagnose.cli.explain import explain_cause

        if style not in ("text", "json"):
            raise click.UsageError(f"--explain writes text or json, not {style}")
        with _recording(live, duration) as recording:
            question = Question(paths, symptoms, host, recording, pattern, columns, units, prometheus)
            return explain_cause(explained, question, style, fail_on)
    from diagnose.cli.inputs import run_analysis

    with _recording(live, duration) as recording:
        question = Question(paths, symptoms, host, recording, pattern, columns, units, prometheus)
        return _report(run_analysis(question), style, fail_on, top)


def _recording(live: bool, duration: float) -> AbstractContextManager[Path | None]:
    """The folder of a recording of this machine, where one is asked for."""
    if not live:
        if click.get_current_context().find_root().params.get("simulate") is not None:
            raise click.UsageError("--simulate stands in for this machine; with analyze it needs --live")
        return nullcontext()
    from diagnose.cli.live import recording

    return recording(duration)


def _report(analysis: Analysis, style: str, fail_on: str, top: int | None) -> ExitCode:
    """Write the report; the exit code that it means."""
    from diagnose.ranking.model import ESTABLISHED
    from diagnose.report.build import build_report, input_reports

    inputs = input_reports(analysis.inputs)
    now = datetime.now(UTC).replace(microsecond=0)
    report = build_report(analysis.diagnosis, analysis.knowledge, inputs, now, analysis.simulated)
    shown = report if top is None else report.model_copy(update={"causes": report.causes[:top]})
    with standard_output() as stream:
        if style == "json":
            from diagnose.report.as_json import write_json

            write_json(report, stream, top)
        elif style == "markdown":
            from diagnose.report.markdown import markdown

            stream.write(markdown(shown))
        elif style == "html":
            from diagnose.report.html import html

            stream.write(html(shown))
        else:
            from diagnose.report.text import write_text

            write_text(report, stream, top)
    return exit_code(
        severities=[cause.severity for cause in report.causes if cause.probability >= ESTABLISHED],
        fail_on=fail_on,
        unusable=analysis.unusable,
        incomplete=analysis.incomplete,
    )
