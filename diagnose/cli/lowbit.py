"""`diagnose lowbit`: a low-precision run or checkpoint beside its reference."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from diagnose.cli.errors import UnusableInput
from diagnose.cli.exit_codes import FAIL_ON, ExitCode, exit_code
from diagnose.cli.number_formats import check_format
from diagnose.cli.output import standard_output
from diagnose.cli.progress import Progress

if TYPE_CHECKING:
    from diagnose.lowbit.comparison import Comparison
    from diagnose.report.model import Report

_SYMPTOM = "low-bit-divergence"
_PATH = click.Path(path_type=Path)
_MAPPING = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def lowbit() -> None:
    """Find out why a low-precision model answers differently."""


@lowbit.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("reference", type=_PATH, metavar="REF")
@click.argument("low", type=_PATH, metavar="LOW")
@click.option("--mapping", type=_MAPPING, metavar="FILE", help="Names of REF to names of LOW: JSON, or two a line.")
@click.option("--noise", type=_PATH, metavar="OTHER_REF", help="Another high-precision run: the noise floor.")
@click.option("--weights", type=_PATH, metavar="CHECKPOINT", help="LOW's weights, to compute its products anew.")
@click.option("--original", type=_PATH, metavar="CHECKPOINT", help="REF's weights, to compare with --weights.")
@click.option("--low-format", metavar="NAME", help="What LOW computes in, e.g. fp8-e4m3, int8, int4, nvfp4.")
@click.option("--every-element", is_flag=True, help="Compare every element of checkpoints, not a sample of rows.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the picture there.")
@click.option("--all", "everything", is_flag=True, help="Show every row of the table.")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--fail-on", type=click.Choice(FAIL_ON), default="warning", show_default=True,
              help="Exit with 1 from this severity on.")  # fmt: skip
def compare(
    reference: Path,
    low: Path,
    mapping: Path | None,
    noise: Path | None,
    weights: Path | None,
    original: Path | None,
    low_format: str | None,
    every_element: bool,
    svg: Path | None,
    everything: bool,
    style: Literal["text", "json"],
    fail_on: str,
) -> ExitCode:
    """Compare recorded activations, or a quantised checkpoint with its original.

    REF and LOW are folders or files: safetensors (with an index where sharded), GGUF, .npz, .npy, ONNX tensors,
    Polygraphy's saved outputs, msprobe dumps, and what `diagnose capture` records.
    """
    from diagnose.lowbit.compare import compare_inputs
    from diagnose.lowbit.tensors import TensorError

    check_format(low_format)
    with Progress(sys.stderr) as progress:
        try:
            found = compare_inputs(
                reference, low, mapping, noise, weights, original, low_format, every_element, progress
            )
        except TensorError as error:
            raise UnusableInput(str(error)) from error
        progress("ranking causes")
        report = _diagnosed(found, [str(reference), str(low)])
    if svg is not None:
        from diagnose.report.depth_plot import depth_svg

        svg.write_text(depth_svg(found.points, "Error by depth"), encoding="utf-8")
    _write(found, report, style, everything)
    from diagnose.ranking.model import ESTABLISHED

    return exit_code(
        severities=[cause.severity for cause in report.causes if cause.probability >= ESTABLISHED],
        fail_on=fail_on,
        unusable=False,
        incomplete=bool(found.problems or report.problems),
    )


def _diagnosed(found: Comparison, paths: list[str]) -> Report:
    from diagnose.engine.session import SessionRunner
    from diagnose.knowledge.loader import load_knowledge
    from diagnose.ranking.diagnosis import diagnose
    from diagnose.report.build import build_report
    from diagnose.report.model import ReportInput

    knowledge = load_knowledge()
    facts = found.facts
    diagnosis = diagnose(SessionRunner(knowledge), facts, [_SYMPTOM])
    status = "partial" if found.problems else "parsed"
    detail = found.problems[0] if found.problems else None
    inputs = [
        ReportInput(path=path, kind=found.contents, status=status, facts=len(facts), detail=detail, line=None)
        for path in paths
    ]
    return build_report(diagnosis, knowledge, inputs, datetime.now(UTC).replace(microsecond=0))


def _write(found: Comparison, report: Report, style: str, everything: bool) -> None:
    from diagnose.report.lowbit import lowbit_report, write_lowbit

    with standard_output() as stream:
        if style == "json":
            from diagnose.report.as_json import write_model

            write_model(lowbit_report(found, report), stream)
        else:
            write_lowbit(found, report, stream, everything)
