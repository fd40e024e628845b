"""How throughput grows with the number of GPUs: efficiency, laws fitted to it, and what explains the loss."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np

from diagnose.analysis.boundaries import known_boundaries
from diagnose.analysis.curve_fit import Interval, Noise, Spread, spread
from diagnose.analysis.scaling_models import LINEAR, NOT_SHOWN, STEP, Boundary, Explanation, explain
from diagnose.analysis.usl import AmdahlFit, UslFit, fit_amdahl, fit_usl
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.scaling import ScalingCurve, ScalingMeasurement


@dataclass(frozen=True, slots=True)
class Scaling:
    """A curve and what is known of it. Laws are None below three different numbers of GPUs, USL's below four."""

    points: Mapping[int, tuple[float, ...]]
    """Number of GPUs to throughputs, rising."""
    mode: str | None
    efficiency: Interval
    """At the most GPUs, against the fewest."""
    spread: Spread
    amdahl: AmdahlFit | None
    usl: UslFit | None
    explanation: Explanation

    @property
    def from_gpus(self) -> int:
        """Fewest GPUs."""
        return min(self.points)

    @property
    def to_gpus(self) -> int:
        """Most GPUs."""
        return max(self.points)

    def typical(self, gpus: int) -> float:
        """Geometric mean of the throughputs at a measured number of GPUs."""
        return exp(sum(log(value) for value in self.points[gpus]) / len(self.points[gpus]))

    def efficiency_at(self, gpus: int) -> float:
        """Throughput per GPU against that at the fewest GPUs."""
        return self.typical(gpus) / gpus / (self.typical(self.from_gpus) / self.from_gpus)

    def ideal(self, gpus: float) -> float:
        """Throughput if each GPU did what it does among the fewest."""
        return self.typical(self.from_gpus) / self.from_gpus * gpus


def analyse(
    points: Mapping[int, Sequence[float]],
    mode: str | None = None,
    boundaries: Sequence[Boundary] = (),
    noise: Noise = Noise(),  # noqa: B008 - frozen
) -> Scaling:
    """Analyse throughputs by number of GPUs; several for one number are repeated measurements.

    Raises ValueError for fewer than two numbers of GPUs, and for throughputs that are not positive.
    """
    if len(points) < 2:
        raise ValueError("throughput at two or more different numbers of GPUs is needed")
    if any(not values or min(values) <= 0.0 for values in points.values()) or min(points) < 1:
        raise ValueError("numbers of GPUs and throughputs must be positive")
    ordered = {gpus: tuple(points[gpus]) for gpus in sorted(points)}
    sizes = np.array([float(gpus) for gpus, values in ordered.items() for _ in values])
    throughput = np.array([value for values in ordered.values() for value in values])
    found = _repeats(ordered, noise)
    explanation = explain(sizes, throughput, mode, boundaries, noise)
    efficiency = _efficiency(ordered, found)
    if explanation.word == LINEAR and efficiency.high < 1.0:
        explanation = Explanation(NOT_SHOWN, explanation.support, explanation.best)
    return Scaling(
        points=ordered,
        mode=mode,
        efficiency=efficiency,
        spread=found,
        amdahl=fit_amdahl(sizes, throughput, noise) if len(ordered) >= 3 else None,
        usl=fit_usl(sizes, throughput, noise) if len(ordered) >= 4 else None,
        explanation=explanation,
    )


def _repeats(points: Mapping[int, Sequence[float]], noise: Noise) -> Spread:
    """Noise from repeated measurements alone, whatever the curve's shape."""
    logs = [np.log(values) for values in points.values()]
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in logs)
    return spread(squares, sum(len(values) for values in logs), len(logs), noise)


def _efficiency(points: Mapping[int, Sequence[float]], found: Spread) -> Interval:
    fewest, most = min(points), max(points)
    first, last = np.log(points[fewest]), np.log(points[most])
    middle = float(last.mean() - first.mean()) - log(most / fewest)
    half = found.quantile * found.ratio * sqrt(1 / len(first) + 1 / len(last))
    return Interval(exp(middle), exp(middle - half), exp(middle + half))


def features_of_job(facts: Sequence[Fact]) -> list[Fact]:
    """Curves that no host is named for, among several hosts: the sizes of their parts are known only now."""
    unnamed = [fact for fact in facts if isinstance(fact, ScalingMeasurement) and fact.subject.host is None]
    others = [fact for fact in facts if not isinstance(fact, ScalingMeasurement)]
    return features([*unnamed, *others]) if any(fact.subject.host is not None for fact in others) else []


def features(facts: Sequence[Fact]) -> list[Fact]:
    """One scaling-curve for each curve with at least two numbers of GPUs."""
    return [_fact(curve, scaling) for curve, scaling in _analysed(facts)]


def curves(facts: Sequence[Fact]) -> list[tuple[str, Scaling]]:
    """Name and analysis of each curve with at least two numbers of GPUs."""
    return [(curve[0].curve, scaling) for curve, scaling in _analysed(facts)]


def _analysed(facts: Sequence[Fact]) -> list[tuple[Sequence[ScalingMeasurement], Scaling]]:
    """The measurements of each curve, and what they tell."""
    found: dict[tuple[str | None, str | None, str, str], list[ScalingMeasurement]] = defaultdict(list)
    for fact in facts:
        if isinstance(fact, ScalingMeasurement):
            found[fact.subject.host, fact.sources[0].path, fact.curve, fact.unit].append(fact)
    if not found:
        return []
    boundaries = known_boundaries(facts)
    return [
        (curve, _analysis(curve, boundaries))
        for curve in found.values()
        if len({measurement.gpus for measurement in curve}) > 1
    ]


def _analysis(curve: Sequence[ScalingMeasurement], boundaries: Sequence[Boundary]) -> Scaling:
    points: dict[int, list[float]] = defaultdict(list)
    for measurement in curve:
        points[measurement.gpus].append(measurement.throughput)
    modes = {measurement.mode for measurement in curve}
    return analyse(points, modes.pop() if len(modes) == 1 else None, boundaries)


def _fact(curve: Sequence[ScalingMeasurement], scaling: Scaling) -> ScalingCurve:
    return curve_fact(
        scaling,
        name=curve[0].curve,
        unit=curve[0].unit,
        subject=Subject(host=curve[0].subject.host),
        sources=tuple(dict.fromkeys(source for measurement in curve for source in measurement.sources)),
    )


def curve_fact(scaling: Scaling, name: str, unit: str, subject: Subject, sources: tuple[Source, ...]) -> ScalingCurve:
    """An analysis as a fact."""
    usl, explanation = scaling.usl, scaling.explanation
    contention = usl.contention if usl else scaling.amdahl.serial if scaling.amdahl else None
    coherency = usl.coherency if usl else None
    peak = usl.peak if usl else None
    step = explanation.best if explanation.word == STEP else None
    boundary = step.boundary if step else None
    return ScalingCurve(
        subject=subject,
        sources=sources,
        curve=name,
        unit=unit,
        mode=scaling.mode,
        measurements=sum(len(values) for values in scaling.points.values()),
        from_gpus=scaling.from_gpus,
        to_gpus=scaling.to_gpus,
        efficiency_ratio=scaling.efficiency.estimate,
        efficiency_low=scaling.efficiency.low,
        efficiency_high=scaling.efficiency.high,
        noise_ratio=(usl or scaling.amdahl or scaling).spread.ratio,
        contention=contention.estimate if contention else None,
        contention_low=contention.low if contention else None,
        contention_high=contention.high if contention else None,
        coherency=coherency.estimate if coherency else None,
        coherency_low=coherency.low if coherency else None,
        coherency_high=coherency.high if coherency else None,
        peak_gpus=peak.estimate if peak else None,
        peak_gpus_low=peak.low if peak else None,
        peak_gpus_high=peak.high if peak else None,
        explanation=explanation.word,
        support=explanation.support,
        boundary_gpus=boundary.gpus if boundary else None,
        boundary_kind=boundary.kind if boundary else None,
        step_ratio=step.step_ratio() if step else None,
    )
