"""The answer of `diagnose lowbit compare`: as JSON, schema `diagnose.lowbit/1`, and as text with table and picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TextIO

from pydantic import BaseModel, ConfigDict, Field

from diagnose.facts import Fact
from diagnose.facts.lowbit import TensorError, WeightReading
from diagnose.lowbit.comparison import Comparison, worst_first
from diagnose.report.depth_plot import depth_plot
from diagnose.report.model import Report
from diagnose.report.paper import Paper
from diagnose.report.scaling_plot import glyphs_for
from diagnose.report.text import write_text

SCHEMA: Literal["diagnose.lowbit/1"] = "diagnose.lowbit/1"
ROWS_SHOWN = 24


class LowbitReport(BaseModel):
    """The whole answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["diagnose.lowbit/1"] = Field(SCHEMA, alias="schema")
    contents: str = Field(description="`activations` or `weights`")
    features: tuple[Mapping[str, Any], ...] = Field(description="Facts on the whole, each with its kind")
    tensors: tuple[Mapping[str, Any], ...] = Field(description="The table: fields of tensor-error, in order")
    problems: tuple[str, ...] = Field(description="What could not be compared")
    report: Report = Field(description="The diagnosis, schema `diagnose.report/1`")


def lowbit_report(found: Comparison, report: Report) -> LowbitReport:
    """The answer as data."""
    return LowbitReport(
        contents=found.contents,
        features=tuple(_fields(fact) for fact in found.features),
        tensors=tuple(fact.values() for fact in found.errors),
        problems=tuple(found.problems),
        report=report,
    )


def _fields(fact: Fact) -> Mapping[str, Any]:
    return {"kind": fact.kind, **fact.values()}


def write_lowbit(found: Comparison, report: Report, stream: TextIO, everything: bool) -> None:
    """The verdict, the picture, the table; of a long table the worst rows unless everything is asked for."""
    write_text(report, stream)
    paper = Paper(stream)
    drawn = [point for point in found.points if point.relative_l2_ratio]
    if len(drawn) > 1:
        paper.line()
        for row in depth_plot(drawn, paper.width, glyphs_for(getattr(stream, "encoding", None))):
            paper.line(row)
    paper.line()
    shown = list(found.errors)
    if not everything and len(shown) > ROWS_SHOWN:
        worst = {id(fact) for fact in worst_first(found.errors)[:ROWS_SHOWN]}
        shown = [fact for fact in found.errors if id(fact) in worst]
    for row in _table(shown):
        paper.line(row)
    if len(shown) < len(found.errors):
        paper.line(f"The {len(shown)} worst of {len(found.errors)}; --all shows every one.")
    for fact in found.features:
        if isinstance(fact, WeightReading):
            after, floor = _number(fact.sqnr_after_db), _number(fact.expected_sqnr_db)
            reached = f"SQNR {after} dB, where {fact.format} gives {floor} dB"
            words = f"{fact.pattern}: {fact.reading}; read so, the error falls by {fact.gain_db:.0f} dB: {reached}."
            paper.paragraph(words, indent="    ", first="")
    for problem in found.problems[:8]:
        paper.paragraph(f"Not compared: {problem}", indent="    ", first="", style="yellow")
    if len(found.problems) > 8:
        paper.line(f"{len(found.problems) - 8} more were not compared.")


_HEADINGS = ("tensor", "format", "SQNR dB", "expected", "gap", "cosine", "gain", "remarks")


def _table(errors: Sequence[TensorError]) -> list[str]:
    rows = [_HEADINGS, *(_row(fact) for fact in errors)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    left = (0, 1, 7)
    return [
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _row(fact: TensorError) -> tuple[str, ...]:
    return (
        fact.tensor if len(fact.tensor) <= 48 else f"...{fact.tensor[-45:]}",
        fact.format or "",
        "equal" if fact.equal else _number(fact.sqnr_db),
        _number(fact.expected_sqnr_db),
        _number(fact.gap_db),
        "" if fact.cosine is None else f"{fact.cosine:.5f}",
        "" if fact.gain_ratio is None else f"{fact.gain_ratio:.3g}",
        _remarks(fact),
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _remarks(fact: TensorError) -> str:
    told = []
    if fact.nan_count > fact.reference_nan_count:
        told.append(f"{fact.nan_count:,} NaN")
    if fact.inf_count > fact.reference_inf_count:
        told.append(f"{fact.inf_count:,} Inf")
    if fact.clipping_ratio is not None and fact.clipping_ratio > 1e-3:
        told.append(f"{fact.clipping_ratio:.1%} clipped")
    if fact.outlier_channels:
        told.append(f"{fact.outlier_channels} outlier channels")
    return ", ".join(told)
