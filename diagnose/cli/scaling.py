"""`diagnose scaling`: throughput by number of GPUs in, efficiency, laws and their explanation out."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from diagnose.cli.exit_codes import ExitCode
from diagnose.cli.output import standard_output

if TYPE_CHECKING:
    from diagnose.analysis.curve_fit import Noise
    from diagnose.analysis.scaling import Scaling
    from diagnose.facts.scaling import ScalingMeasurement
    from diagnose.report.scaling import Exchange

_POINT = re.compile(r"^(\d{1,7}):([0-9.eE+,-]{1,200})$")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("points", nargs=-1, required=True, metavar="N:THROUGHPUT... | TABLE...")
@click.option("--weak", is_flag=True, help="The work grew with the GPUs; otherwise it was the same for any number.")
@click.option("--boundary", type=click.IntRange(min=2), multiple=True, metavar="N", help="GPUs of a node; repeatable.")
@click.option(
    "--noise", type=click.FloatRange(0.01, 50), metavar="PERCENT",
    help="Standard deviation of equal runs, where known. [default: 3, corrected by the measurements]",
)  # fmt: skip
@click.option("--model-parameters", type=click.FloatRange(min=1), metavar="P", help="To compare with communication.")
@click.option("--bytes-per-parameter", type=click.FloatRange(min=0.5), default=2, show_default=True, metavar="B")
@click.option("--busbw", type=click.FloatRange(min=0.001), metavar="GB/s", help="Bus bandwidth by nccl-tests.")
@click.option("--batch-per-gpu", type=click.FloatRange(min=1e-6), metavar="B",
              help="Work of a GPU in a step at the most GPUs, in the unit of the throughput.")  # fmt: skip
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the plot there.")
def scaling(
    points: tuple[str, ...],
    weak: bool,
    boundary: tuple[int, ...],
    noise: float | None,
    model_parameters: float | None,
    bytes_per_parameter: float,
    busbw: float | None,
    batch_per_gpu: float | None,
    style: Literal["text", "json"],
    svg: Path | None,
) -> ExitCode:
    """Explain how throughput grows with the number of GPUs.

    Points are typed as `1:412 2:801 4:1380 8:2090`, repeated measurements as `8:2090,2101`; or tables with columns such
    as gpus and throughput are named.
    """
    from diagnose.analysis.scaling import analyse, curve_fact
    from diagnose.analysis.scaling_models import Boundary
    from diagnose.facts import Source, Subject
    from diagnose.report.scaling import ScalingReports, scaling_report, write_scaling

    sized = (model_parameters, busbw, batch_per_gpu)
    if any(value is not None for value in sized) and not all(value is not None for value in sized):
        raise click.UsageError("communication needs --model-parameters, --busbw and --batch-per-gpu together")
    found, boundaries = [], [Boundary(size, "given") for size in boundary]
    for name, unit, mode, measured in _curves(points, weak):
        try:
            result = analyse(measured, mode, boundaries, _noise(noise))
        except ValueError as error:
            raise click.UsageError(f"{name}: {error}") from error
        fact = curve_fact(result, name, unit, Subject(), (Source(command="diagnose scaling"),))
        exchange = None
        if model_parameters is not None and busbw is not None and batch_per_gpu is not None:
            exchange = _exchange(result, model_parameters * bytes_per_parameter, busbw * 1e9, batch_per_gpu)
        found.append((result, scaling_report(result, fact, exchange)))
    if svg is not None:
        _write_svg(svg, [result for result, _ in found], [str(report.curve["curve"]) for _, report in found])
    with standard_output() as stream:
        if style == "json":
            from diagnose.report.as_json import write_model

            write_model(ScalingReports(curves=tuple(report for _, report in found)), stream)
        else:
            for at, (result, report) in enumerate(found):
                stream.write("\n\n" if at else "")
                write_scaling(result, report, stream)
    return ExitCode.NOTHING_FOUND


def _noise(percent: float | None) -> Noise:
    from diagnose.analysis.curve_fit import Noise

    return Noise() if percent is None else Noise(percent / 100, inf)


def _curves(points: Sequence[str], weak: bool) -> Iterator[tuple[str, str, str | None, Mapping[int, list[float]]]]:
    """Name, unit, mode and points of each curve, typed or read from files."""
    typed = [match for point in points if (match := _POINT.match(point))]
    if typed and len(typed) < len(points):
        raise click.UsageError("give either points N:THROUGHPUT or tables, not both")
    if typed:
        measured: dict[int, list[float]] = defaultdict(list)
        for match in typed:
            measured[int(match[1])] += [_value(text) for text in match[2].split(",")]
        yield "throughput", "work", "weak" if weak else "strong", measured
        return
    for measurements in _read(points):
        measured = defaultdict(list)
        for fact in measurements:
            measured[fact.gpus].append(fact.throughput)
        mode = "weak" if weak else measurements[0].mode
        yield measurements[0].curve, measurements[0].unit, mode, measured


def _value(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise click.UsageError(f"{text!r} is no throughput") from None
    if not 0.0 < value < 1e18:
        raise click.UsageError(f"a throughput must be positive, not {text}")
    return value


def _read(paths: Sequence[str]) -> list[list[ScalingMeasurement]]:
    from collectors.inputs import Status
    from collectors.scan import read_inputs
    from diagnose.facts.scaling import ScalingMeasurement

    readings = read_inputs(paths)
    unreadable = next((item for item in readings.inputs if item.status is Status.UNREADABLE), None)
    if unreadable is not None:
        raise click.UsageError(f"{unreadable.path}: {unreadable.detail}")
    curves: dict[tuple[str | None, str], list[ScalingMeasurement]] = defaultdict(list)
    for fact in readings.facts:
        if isinstance(fact, ScalingMeasurement):
            curves[fact.sources[0].path, fact.curve].append(fact)
    if not curves:
        problems = [item.detail for item in readings.inputs if item.detail]
        raise click.UsageError(
            problems[0]
            if problems
            else "no table of throughput by number of GPUs was found; points are typed as 8:2090"
        )
    return list(curves.values())


def _exchange(result: Scaling, gradient_bytes: float, bytes_per_second: float, batch: float) -> Exchange:
    from diagnose.analysis.communication import Budget, all_reduce_bytes
    from diagnose.report.scaling import Exchange

    sent = all_reduce_bytes(gradient_bytes, result.to_gpus)
    return Exchange(sent, Budget(sent / bytes_per_second, batch / result.ideal(1.0)))


def _write_svg(path: Path, results: Sequence[Scaling], names: Sequence[str]) -> None:
    from diagnose.report.scaling_plot import scaling_svg

    if len(results) > 1:
        raise click.UsageError(f"--svg draws one curve; the tables hold {len(results)}: {', '.join(names)}")
    path.write_text(scaling_svg(results[0], f"{names[0]} by number of GPUs"), encoding="utf-8")
