"""The answer of `diagnose scaling`: as JSON, schema `diagnose.scaling/1`, and as text with a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TextIO

from pydantic import BaseModel, ConfigDict, Field

from diagnose.analysis.communication import Budget
from diagnose.analysis.scaling import Scaling
from diagnose.analysis.scaling_models import BOTH, COHERENCY, CONTENTION, LINEAR, NOT_SHOWN, STEP
from diagnose.facts.scaling import ScalingCurve
from diagnose.report.paper import Paper
from diagnose.report.scaling_plot import glyphs_for, scaling_plot

SCHEMA: Literal["diagnose.scaling/1"] = "diagnose.scaling/1"

_MODES = {"strong": "the same work for any number", "weak": "work in proportion to their number"}
_EXPLANATIONS = {
    LINEAR: "No loss beyond the noise of the measurements.",
    CONTENTION: "Contention: a part of the work is done one after the other (input, host code, a shared link or file "
    "system, an exchange that takes as long for any number of GPUs). Throughput levels off.",
    COHERENCY: "Coherency: cost grows with the number of pairs (exchanges that grow with the group, congestion). "
    "Throughput falls beyond its peak.",
    BOTH: "Contention and coherency: a part is done one after the other, and exchanges grow with the group. "
    "Throughput falls beyond its peak.",
    NOT_SHOWN: "Undecided: several explanations fit about as well. Measure more numbers of GPUs, above all on both "
    "sides of a node, or repeat measurements.",
}
_BOUNDARIES = {
    "node": "a node",
    "numa-node": "a NUMA node",
    "nvlink-island": "an NVLink island",
    "given": "the boundary that was given",
    "found": "a boundary that the points show",
}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class ScalingPoint(_Part):
    """One number of GPUs."""

    gpus: int
    throughputs: tuple[float, ...]
    speedup: float = Field(description="Against the fewest GPUs")
    efficiency_ratio: float = Field(description="Throughput per GPU against that at the fewest GPUs")
    fitted: float = Field(description="Throughput of the best model")


class CommunicationReport(_Part):
    """Exchange of gradients at the most GPUs against their computation."""

    gradient_bytes_sent: float
    communication_seconds: float
    compute_seconds: float
    exposed_seconds: float
    exposed_ratio: float
    batch_factor: float = Field(description="By how much the batch of a GPU must grow to hide all")
    accumulation: int = Field(description="Micro-batches for each exchange that leave a tenth exposed at most")


class ScalingReport(_Part):
    """One curve."""

    curve: dict[str, Any] = Field(description="Fields of the scaling-curve fact")
    largest_speedup: float | None = Field(description="Amdahl's limit against one GPU; absent without a serial share")
    points: tuple[ScalingPoint, ...]
    communication: CommunicationReport | None = None


class ScalingReports(_Part):
    """The whole answer."""

    schema_: Literal["diagnose.scaling/1"] = Field(default=SCHEMA, alias="schema")
    curves: tuple[ScalingReport, ...]


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a step sends, and the time of it."""

    sent_bytes: float
    budget: Budget


def scaling_report(scaling: Scaling, fact: ScalingCurve, exchange: Exchange | None) -> ScalingReport:
    """Everything that is said of a curve."""
    return ScalingReport(
        curve=fact.values(),
        largest_speedup=scaling.amdahl.largest_speedup if scaling.amdahl else None,
        points=tuple(
            ScalingPoint(
                gpus=gpus,
                throughputs=values,
                speedup=scaling.typical(gpus) / scaling.typical(scaling.from_gpus),
                efficiency_ratio=scaling.efficiency_at(gpus),
                fitted=scaling.explanation.best.throughput(gpus),
            )
            for gpus, values in scaling.points.items()
        ),
        communication=_communication(exchange) if exchange else None,
    )


def _communication(exchange: Exchange) -> CommunicationReport:
    budget = exchange.budget
    return CommunicationReport(
        gradient_bytes_sent=exchange.sent_bytes,
        communication_seconds=budget.communication_seconds,
        compute_seconds=budget.compute_seconds,
        exposed_seconds=budget.exposed_seconds,
        exposed_ratio=budget.exposed_ratio(),
        batch_factor=budget.batch_factor,
        accumulation=budget.accumulation,
    )


def write_scaling(scaling: Scaling, report: ScalingReport, stream: TextIO) -> None:
    """Text: the answer, the points, the plot, the fits."""
    paper, curve = Paper(stream), report.curve
    mode = f" ({_MODES[scaling.mode]})" if scaling.mode else ""
    paper.paragraph(
        f"{curve['curve']}: from {scaling.from_gpus} to {scaling.to_gpus} GPUs{mode} each keeps "
        f"{scaling.efficiency.estimate:.0%} of its throughput (95% interval {_range(curve, 'efficiency', '.0%')}).",
        style="bold",
    )
    paper.paragraph(explanation(curve), style="bold")
    paper.line()
    for row in _table(report.points):
        paper.line(row)
    paper.line()
    for row in scaling_plot(scaling, paper.width, glyphs_for(getattr(stream, "encoding", None))):
        paper.line(row)
    paper.line()
    for sentence in (*_fits(report), *_exchange(report.communication)):
        paper.paragraph(sentence)


def explanation(curve: dict[str, Any]) -> str:
    """What explains the curve, in a sentence or two."""
    if curve["explanation"] != STEP:
        return _EXPLANATIONS[curve["explanation"]]
    return (
        f"A step: work costs {curve['step_ratio']:.2f} times as much beyond {curve['boundary_gpus']} GPUs, "
        f"{_BOUNDARIES[curve['boundary_kind']]}. Look at the links that traffic takes beyond it."
    )


def _range(curve: dict[str, Any], name: str, style: str) -> str:
    low, high = curve.get(f"{name}_low"), curve.get(f"{name}_high")
    return f"{low:{style}} to {high:{style}}" if high is not None else f"{low:{style}} or more"


def _table(points: Sequence[ScalingPoint]) -> list[str]:
    rows = [("GPUs", "throughput", "speed-up", "efficiency", "fitted")]
    for point in points:
        values = ", ".join(f"{value:.5g}" for value in point.throughputs[:4])
        more = f" and {len(point.throughputs) - 4} more" if len(point.throughputs) > 4 else ""
        rows.append(
            (
                str(point.gpus),
                values + more,
                f"{point.speedup:.2f}",
                f"{point.efficiency_ratio:.0%}",
                f"{point.fitted:.5g}",
            )
        )
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _fits(report: ScalingReport) -> list[str]:
    curve = report.curve
    found = []
    if "contention" in curve:
        found.append(f"Contention {curve['contention']:.2%} ({_range(curve, 'contention', '.2%')})")
    if "coherency" in curve:
        found.append(f"coherency {curve['coherency']:.3%} ({_range(curve, 'coherency', '.3%')})")
    if "peak_gpus_low" in curve:
        peak = (
            f"about {curve['peak_gpus']:.0f} GPUs" if "peak_gpus" in curve else "no number of GPUs that the fit gives"
        )
        found.append(f"throughput is highest at {peak} ({_range(curve, 'peak_gpus', '.0f')})")
    sentences = ["; ".join(found) + "." if found else "Too few numbers of GPUs to fit a law: measure three or more."]
    if report.largest_speedup is not None:
        sentences.append(
            f"By Amdahl's law alone no number of GPUs is more than {report.largest_speedup:.1f} times as fast as one."
        )
    sentences.append(
        f"Intervals are of 95%, by profile likelihood, with a noise of {curve['noise_ratio']:.1%} for a measurement; "
        "give --noise where repeated runs tell it."
    )
    return sentences


def _exchange(found: CommunicationReport | None) -> list[str]:
    if found is None:
        return []
    sent = (
        f"For the gradients each GPU sends {found.gradient_bytes_sent / 1e9:.3g} GB a step, which takes "
        f"{found.communication_seconds:.3g} s; its computation takes {found.compute_seconds:.3g} s, and the backward "
        "pass hides two thirds of that at best."
    )
    if found.exposed_seconds <= 0.0:
        return [f"{sent} The exchange fits behind it."]
    return [
        f"{sent} {found.exposed_seconds:.3g} s stay exposed, {found.exposed_ratio:.0%} of the step. A batch "
        f"{found.batch_factor:.3g} times as large for each GPU would hide it; exchanging once in {found.accumulation} "
        "micro-batches leaves a tenth at most."
    ]
