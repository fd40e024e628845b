"""`diagnose latency`: requests and telemetry in, numbers and pictures of their latency out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from diagnose.cli.exit_codes import ExitCode
from diagnose.cli.output import remark, standard_output
from diagnose.cli.prometheus_options import PrometheusQuestion, prometheus_options
from diagnose.cli.question import Question

if TYPE_CHECKING:
    from collectors.inputs import InputReport
    from diagnose.analysis.latency.study import StreamStudy, Study
    from diagnose.facts.series import Measurement

_METRICS = ("ttft", "itl", "e2e", "queue", "prefill", "decode", "network", "client")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, metavar="[FILES]...")
@click.option("--metric", type=click.Choice(_METRICS), multiple=True, help="Which latencies to show. [default: the "
              "first of ttft, itl and e2e that there is]")  # fmt: skip
@click.option("--host", metavar="NAME", help="Only this host's requests and telemetry, and those of no named host.")
@click.option("--column", "columns", multiple=True, metavar="MEANING=NAME", help="As of `diagnose analyze`.")
@click.option("--unit", "units", multiple=True, metavar="NAME=UNIT", help="As of `diagnose analyze`.")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--svg", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the pictures there."
)
@prometheus_options
def latency(
    files: tuple[str, ...],
    metric: tuple[str, ...],
    host: str | None,
    columns: tuple[str, ...],
    units: tuple[str, ...],
    style: Literal["text", "json"],
    svg: Path | None,
    prometheus: PrometheusQuestion | None,
) -> ExitCode:
    """Tell how latency is distributed, when it is slow, and what it goes along with.

    FILES are tables of requests, results of serving benchmarks, and telemetry of the same time; `-` is standard input.

    Exit codes: 0 told, 2 wrong usage or no latencies, 3 told, but an input was only partly read or not at all.
    """
    from diagnose.analysis.latency.study import studies
    from diagnose.report.latency import latency_report, write_latency

    question = Question(files, host=host, columns=columns, units=units, prometheus=prometheus)
    series, lacking = _measurements(question)
    for one in lacking:
        words = "cannot be read" if one.status == "unreadable" else "is only partly read"
        remark(f"{one.path} {words}: {one.detail}")
    found = list(studies(series))
    if not found:
        raise click.UsageError(
            "no input holds the latencies of single requests, or of a server over time; "
            "`diagnose analyze` reads summaries of benchmarks"
        )
    if svg is not None:
        _write_svg(svg, found, metric)
    with standard_output() as stream:
        if style == "json":
            from diagnose.report.as_json import write_model

            write_model(latency_report(found), stream)
        else:
            for at, item in enumerate(found):
                stream.write("\n\n" if at else "")
                write_latency(item, _shown(item, metric), stream)
    return ExitCode.INCOMPLETE if lacking else ExitCode.NOTHING_FOUND


def _measurements(question: Question) -> tuple[Sequence[Measurement], list[InputReport]]:
    """What was measured over time, and the inputs of which a part is missing."""
    from collectors.inputs import Status
    from collectors.resolve import resolve_readings
    from diagnose.cli.inputs import read_all
    from diagnose.cli.progress import Progress

    if question.empty:
        raise click.UsageError("name files or folders with latencies, or `-` to read standard input")
    with Progress(sys.stderr) as progress:
        readings = resolve_readings(read_all(question, progress))
        progress("comparing latency with what may drive it")
    lacking = [item for item in readings.inputs if item.status in (Status.UNREADABLE, Status.PARTIAL)]
    if question.host is None:
        return readings.series, lacking
    return [item for item in readings.series if item.subject.host in (question.host, None)], lacking


def _shown(found: StreamStudy, metrics: Sequence[str]) -> list[Study]:
    if metrics:
        return [study for study in found.latencies if study.metric in metrics]
    by_metric = {study.metric: study for study in found.latencies}
    first = next((by_metric[name] for name in _METRICS if name in by_metric), None)
    return [first] if first is not None else []


def _write_svg(path: Path, found: Sequence[StreamStudy], metrics: Sequence[str]) -> None:
    from diagnose.report.latency_picture import conditional_tails, distribution, over_time, suspect
    from diagnose.report.latency_svg import latency_svg

    shown = [study for item in found for study in _shown(item, metrics)]
    if len(shown) != 1:
        names = ", ".join(dict.fromkeys(f"{study.metric} of {study.stream.name}" for study in shown)) or "none"
        raise click.UsageError(f"--svg draws one latency; there are {len(shown)}: {names}")
    study = shown[0]
    driver = suspect(study)
    tails = conditional_tails(study, driver) if driver is not None else None
    title = f"{study.metric} of {study.stream.name}"
    path.write_text(latency_svg(title, over_time(study, 320, driver), distribution(study, 100), tails), "utf-8")
