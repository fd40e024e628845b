"""Which sort of cost explains a scaling curve: models of the cost of work, compared by AICc.

A sort of cost is shown where every model that fits about as well as the best contains it. With few points that is often
none, and then the answer is that the points do not tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log

import numpy as np

from diagnose.analysis.curve_fit import Array, Noise, fit, weights_of

DECISIVE = 4.0
"""Models this much behind the best in AICc have considerably less support: Burnham and Anderson, Model Selection and
Multimodel Inference, 2nd edition, section 2.6."""

CONTENTION, COHERENCY, STEP = "contention", "coherency", "step"
LINEAR, BOTH, NOT_SHOWN = "linear", "contention-and-coherency", "not-shown"


@dataclass(frozen=True, slots=True)
class Boundary:
    """A number of GPUs beyond which communication takes a slower way."""

    gpus: int
    kind: str
    """`node`, `numa-node`, `nvlink-island`, `given`, or `found` where it was looked for in the points."""


@dataclass(frozen=True, slots=True)
class Model:
    """A fitted model."""

    terms: tuple[str, ...]
    boundary: Boundary | None
    by_step: bool
    """Beyond the boundary each step of the job costs more; otherwise each unit of work does."""
    coefficients: tuple[float, ...]
    criterion: float
    """AICc; smaller is better."""

    def throughput(self, gpus: float) -> float:
        """Fitted throughput; 0 where the fit has no cost to divide by."""
        cost = self._cost(gpus)
        return gpus / cost if cost > 0.0 else 0.0

    def step_ratio(self) -> float | None:
        """Cost just beyond the boundary over cost before it."""
        if self.boundary is None:
            return None
        at = float(self.boundary.gpus)
        before = self._cost(at)
        return self._cost(at + 1e-9) / before if before > 0.0 else None

    def _cost(self, gpus: float) -> float:
        return float((_columns(np.array([gpus]), self.terms, self.boundary, self.by_step) @ self.coefficients)[0])


@dataclass(frozen=True, slots=True)
class Explanation:
    """What explains the curve, as far as the points tell."""

    word: str
    """`linear`, `contention`, `coherency`, `contention-and-coherency`, `step` or `not-shown`."""
    support: float
    """AICc of the best model without it, less that of the best."""
    best: Model


def explain(
    gpus: Array, throughput: Array, mode: str | None, boundaries: Sequence[Boundary], noise: Noise
) -> Explanation:
    """Compare the models. Needs points with at least two different numbers of GPUs."""
    models = [
        model
        for terms, boundary, by_step in _candidates(gpus, mode, boundaries)
        if (model := _fitted(gpus, throughput, terms, boundary, by_step, noise)) is not None
    ]
    best = min(models, key=lambda model: model.criterion)
    plausible = [model for model in models if model.criterion - best.criterion < DECISIVE]
    shown = frozenset.intersection(*(frozenset(model.terms) for model in plausible))
    if len({model.boundary for model in plausible}) > 1:
        # Steps at different places are different explanations.
        shown -= {STEP}
    word = _word(shown, best)
    return Explanation(word, _support(word, models, best), best)


def _word(shown: frozenset[str], best: Model) -> str:
    if not best.terms:
        return LINEAR
    if STEP in shown:
        return STEP
    if CONTENTION in shown and COHERENCY in shown:
        return BOTH
    return next(iter(shown), NOT_SHOWN)


def _support(word: str, models: Sequence[Model], best: Model) -> float:
    needed: Mapping[str, tuple[str, ...]] = {BOTH: (CONTENTION, COHERENCY), LINEAR: (), NOT_SHOWN: ()}
    terms = needed.get(word, (word,))
    without = [
        model.criterion
        for model in models
        if (any(term not in model.terms for term in terms) if terms else model is not best)
    ]
    return min(without, default=best.criterion) - best.criterion


def _candidates(
    gpus: Array, mode: str | None, boundaries: Sequence[Boundary]
) -> Iterator[tuple[tuple[str, ...], Boundary | None, bool]]:
    for terms in ((), (CONTENTION,), (COHERENCY,), (CONTENTION, COHERENCY)):
        yield terms, None, False
    shapes = {"strong": (True,), "weak": (False,)}.get(mode or "", (True, False))
    for boundary in _boundaries(np.unique(gpus), boundaries):
        for terms in ((STEP,), (CONTENTION, STEP), (COHERENCY, STEP)):
            for by_step in shapes:
                yield terms, boundary, by_step


def _boundaries(sizes: Array, known: Sequence[Boundary]) -> Iterator[Boundary]:
    """Known ones with a point beyond, and gaps with two points on either side: one beyond a gap is only an outlier."""
    gaps = set()
    for boundary in known:
        inside = int((sizes <= boundary.gpus).sum())
        if inside >= 2 and inside < len(sizes):
            gaps.add(inside)
            yield boundary
    for inside in range(2, len(sizes) - 1):
        if inside not in gaps:
            yield Boundary(int(sizes[inside - 1]), "found")


def _columns(gpus: Array, terms: Sequence[str], boundary: Boundary | None, by_step: bool) -> Array:
    parts = [np.ones_like(gpus)]
    for term in terms:
        if term == CONTENTION:
            parts.append(gpus)
        elif term == COHERENCY:
            parts.append(gpus * (gpus - 1.0))
        elif boundary is not None:
            beyond = (gpus > boundary.gpus).astype(np.float64)
            parts.append(beyond * gpus if by_step else beyond)
    return np.column_stack(parts)


def _fitted(
    gpus: Array, throughput: Array, terms: tuple[str, ...], boundary: Boundary | None, by_step: bool, noise: Noise
) -> Model | None:
    """None where there are not more sizes than coefficients."""
    columns = _columns(gpus, terms, boundary, by_step)
    searched = boundary is not None and boundary.kind == "found"
    if columns.shape[1] + searched >= max(len(np.unique(gpus)), 2):
        return None
    costs = gpus / throughput
    found = fit(columns, costs, weights_of(costs, columns))
    criterion = _criterion(found.squares, len(gpus), columns.shape[1] + searched, noise)
    coefficients = tuple(float(value) for value in found.coefficients)
    return Model(terms, boundary, by_step, coefficients, criterion) if criterion < inf else None


def _criterion(squares: float, measurements: int, parameters: int, noise: Noise) -> float:
    """AICc (Hurvich and Tsai 1989); the assumption about the noise counts as further measurements."""
    if noise.known:
        return squares / noise.ratio**2 + 2.0 * parameters
    count, parameters = measurements + noise.weight, parameters + 1
    if count - parameters - 1.0 <= 0.0:
        return inf
    variance = (squares + noise.weight * noise.ratio**2) / count
    return count * log(variance) + 2.0 * parameters + 2.0 * parameters * (parameters + 1) / (count - parameters - 1.0)
