"""Recorded activations of a low-precision run beside those of a reference, in the order of computation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from types import MappingProxyType
from typing import Any

import numpy as np

from diagnose.facts import Fact, Source
from diagnose.facts import lowbit as facts
from diagnose.lowbit.comparison import (
    Comparison,
    Progress,
    error_fact,
    middle,
    order_of,
    pairing_fact,
    point_of,
    summary,
)
from diagnose.lowbit.deployed import Deployed, deployed, expected_of_output, loss_of_normal_channels, of_checkpoint
from diagnose.lowbit.depth import concentrations, depth_profile, subtracted_db
from diagnose.lowbit.formats import FORMATS, OF_DTYPE, Scheme, combined_db, expected_sqnr_db
from diagnose.lowbit.metrics import Metrics, compare, format_maximum
from diagnose.lowbit.names import Named, named
from diagnose.lowbit.pairing import Pair, pair
from diagnose.lowbit.products import accumulation_profile, calibration_coverage, clipped_inputs, product_checks
from diagnose.lowbit.tensors import Array, Floats, TensorError, TensorSet, as_floats
from diagnose.lowbit.types import is_number

_THEORY_ROWS = 64
_CLIPPED = 1e-3
_OUTLIER = 20.0
_AGREES_DB = 50.0
"""Above this an input agrees: rounding to bfloat16, or another order of sums, differs as much."""
_ACCUMULATED_DB = 6.0
"""Where a module's input was not recorded: errors of many layers together are about twice one layer's (knowledge:
growth over depth saturates near 1.8 times)."""
_LOCAL_DB = 3.0
"""An output this much worse than its input has most of its error of its own."""


_Place = tuple[int | None, str, str]


def _place(told: Named) -> _Place:
    return told.layer, told.module, told.parameter


@dataclass(frozen=True)
class _Seen:
    """One pair, compared."""

    pair: Pair
    told: Named
    fact: facts.TensorError
    metrics: Metrics


def compare_activations(
    reference: TensorSet,
    low: TensorSet,
    mapping: Mapping[str, str] | None = None,
    noise: TensorSet | None = None,
    weights: TensorSet | None = None,
    low_format: str | None = None,
    progress: Progress = lambda _: None,
    sound_weights: Mapping[tuple[int | None, str], bool] = MappingProxyType({}),
) -> Comparison:
    """Compare all tensors that both runs recorded. Raises TensorError where they have none in common.

    `noise` is another high-precision run; `weights` the low-precision checkpoint; `low_format` what the low run
    computes in, by any name that `deployed` knows, where its manifest does not say. `sound_weights` tells of layers and
    modules whether their weights are at their floor, where a comparison of checkpoints showed it.
    """
    return _Comparing(reference, low, mapping, noise, weights, low_format, progress, sound_weights).run()


class _Comparing:
    def __init__(
        self,
        reference: TensorSet,
        low: TensorSet,
        mapping: Mapping[str, str] | None,
        noise: TensorSet | None,
        weights: TensorSet | None,
        low_format: str | None,
        progress: Progress,
        sound_weights: Mapping[tuple[int | None, str], bool],
    ) -> None:
        self.sound_weights = sound_weights
        self.reference, self.low, self.noise, self.weights, self.progress = reference, low, noise, weights, progress
        shapes = [{name: found[name].shape for name in order_of(found)} for found in (reference, low)]
        self.pairing = pair(shapes[0], shapes[1], mapping)
        if not self.pairing.pairs:
            raise TensorError(
                f"no tensor of {reference.path} is found in {low.path} by its name and shape; "
                "name the pairs with --mapping"
            )
        self.used = deployed(low_format) or _stated(low) or (None if weights is None else of_checkpoint(weights))
        self.into: dict[_Place, _Seen] = {}
        self.problems = [*reference.problems, *low.problems, *self.pairing.mismatched]

    def run(self) -> Comparison:
        seen: list[_Seen] = []
        tokens: list[bool] = []
        for at, found in enumerate(self.pairing.pairs):
            self.progress(f"{at + 1} of {len(self.pairing.pairs)} tensors: {found.low}")
            told = named(found.reference[0])
            one, other = self._matrices(found)
            if told.role == "tokens" or one.dtype.kind in "iub":
                tokens.append(one.shape == other.shape and bool((one == other).all()))
            elif told.role != "weight" and is_number(one.dtype.name) and one.size:
                seen.append(self._seen(found, told, one, other, len(seen)))
        if not seen:
            raise TensorError(f"{self.low.path} and {self.reference.path} have no activations in common")
        errors = [item.fact for item in seen]
        sources = errors[0].sources
        local = list(self._local(seen))
        products = list(product_checks(self.low, self.weights, self.used))
        floor, ratios = self._noise_floor(seen, sources)
        features: list[Fact | None] = [
            summary("activations", errors, **self._ends(errors, tokens)),
            depth_profile(errors, local, sources),
            _nan_onset(errors, self.low),
            *local,
            *concentrations(local, sources),
            floor,
            _clipping(errors, sources),
            self._outliers(seen, sources),
            pairing_fact(self.pairing, sources),
            calibration_coverage(self.weights, self.reference, sources) or clipped_inputs(products, sources),
            *products,
            accumulation_profile(products),
        ]
        points = [point_of(fact, ratios.get(fact.tensor)) for fact in errors if fact.role != "input"]
        return Comparison("activations", errors, [fact for fact in features if fact is not None], points, self.problems)

    def _matrices(self, found: Pair) -> tuple[Array, Array]:
        parts = [self.reference[name].matrix() for name in found.reference]
        one = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        if found.part is not None:
            one = one[:, found.part[0] : found.part[1]]
        other = self.low[found.low].matrix()
        return one, other if other.shape == one.shape else other.reshape(one.shape)

    def _seen(self, found: Pair, told: Named, one: Array, other: Array, position: int) -> _Seen:
        metrics = compare(one, other)
        into = self.into.get(_place(told))
        expected = self._expected(told, one, other.dtype.name, into)
        sqnr = metrics.sqnr_db
        fact = error_fact(
            (self.reference[found.reference[0]].path, self.low[found.low].path),
            (found.reference[0], found.low),
            told,
            metrics,
            position=position,
            role=told.role,
            format=self._format(other),
            expected_sqnr_db=expected,
            gap_db=None if expected is None or sqnr is None else expected - sqnr,
        )
        seen = _Seen(found, told, fact, metrics)
        if told.role == "input":
            self.into[_place(told)] = seen
        return seen

    def _format(self, other: Array) -> str | None:
        stored = OF_DTYPE.get(other.dtype.name)
        return stored if stored not in (None, "fp16", "bf16") or self.used is None else self.used.name

    def _expected(self, told: Named, one: Array, stored: str, into: _Seen | None) -> float | None:
        """What the format gives an output: of the module itself, and the error that its input already has."""
        if told.role == "input":
            return None
        name = OF_DTYPE.get(stored)
        if name is not None and FORMATS[name].bits == 8:
            return expected_sqnr_db(_some(one), Scheme(FORMATS[name], (1, 0)))
        if self.used is None or told.module.startswith(("embed", "wte")) or "norm" in told.module:
            return None
        if into is not None:
            inputs = _some(self._matrices(into.pair)[0])
            return combined_db(expected_of_output(self.used, inputs, stored), into.fact.sqnr_db)
        own = expected_of_output(self.used, None, stored)
        return None if own is None else own - _ACCUMULATED_DB

    def _ends(self, errors: Sequence[facts.TensorError], tokens: Sequence[bool]) -> dict[str, Any]:
        first, last = errors[0], next((fact for fact in reversed(errors) if fact.role != "input"), errors[-1])
        return {
            "inputs_equal": all(tokens) if tokens else None,
            "input_sqnr_db": first.sqnr_db if first.position == 0 else None,
            "output_sqnr_db": last.sqnr_db,
            "output_relative_l2_ratio": last.relative_l2_ratio,
            "output_cosine": last.cosine,
            "top1_agreement_ratio": self._agreement(errors),
        }

    def _agreement(self, errors: Sequence[facts.TensorError]) -> float | None:
        logits = next((fact for fact in reversed(errors) if fact.role == "logits"), None)
        if logits is None:
            return None
        one = self.reference[logits.tensor].matrix()
        other = self.low[logits.low_tensor or logits.tensor].matrix()
        if one.shape[1] < 2:
            return None
        same = [
            np.argmax(as_floats(one[at : at + 16]), axis=1) == np.argmax(as_floats(other[at : at + 16]), axis=1)
            for at in range(0, len(one), 16)
        ]
        return float(np.concatenate(same).mean())

    def _local(self, seen: Sequence[_Seen]) -> Iterator[facts.LayerLocalError]:
        """Modules of which both sides were recorded; the expected error uses the reference's own input."""
        found = []
        for item in seen:
            into = self.into.get(_place(item.told))
            if item.told.role in ("output", "logits") and into is not None:
                local, expected = subtracted_db(item.fact.sqnr_db, into.fact.sqnr_db), self._expected_local(into, item)
                if local is not None and expected is not None and not _is_local(into.fact.sqnr_db, item.fact.sqnr_db):
                    # The difference of two nearly equal errors is no measure of what a module adds.
                    local = max(local, expected)
                found.append((item, into, local, expected))
        names = {item.told.module for item, *_ in found}
        leaves = {name for name in names if not any(other.startswith(f"{name}.") for other in names if other != name)}
        added = [local for item, _, local, _ in found if local is not None and item.told.module in leaves]
        total = sum(10 ** (-local / 10) for local in added)
        for item, into, local, expected in found:
            share = None
            if item.told.module in leaves and total > 0.0:
                share = 0.0 if local is None else 10 ** (-local / 10) / total
            yield facts.LayerLocalError(
                sources=item.fact.sources,
                layer=item.told.layer,
                module=item.told.module,
                position=item.fact.position,
                format=item.fact.format,
                input_sqnr_db=into.fact.sqnr_db,
                output_sqnr_db=item.fact.sqnr_db,
                local_sqnr_db=local,
                expected_sqnr_db=expected,
                gap_db=None if expected is None or local is None else expected - local,
                error_share_ratio=share,
                origin=_origin(into.fact.sqnr_db, item.fact.sqnr_db),
                weights_agree=self.sound_weights.get((item.told.layer, item.told.module)),
            )

    def _expected_local(self, into: _Seen, item: _Seen) -> float | None:
        if self.used is None or "norm" in item.told.module:
            return None
        stored = self.low[item.pair.low].type
        return expected_of_output(self.used, _some(self._matrices(into.pair)[0]), stored)

    def _noise_floor(
        self, seen: Sequence[_Seen], sources: tuple[Source, ...]
    ) -> tuple[facts.NoiseFloor | None, dict[str, float]]:
        """The second high-precision run, compared with the first where the low one is."""
        ratios: dict[str, float] = {}
        if self.noise is None:
            return None, ratios
        margins, within, differing, last = [], 0, 0, None
        partners = {found.reference: found for found in pair(_shapes(self.reference), _shapes(self.noise)).pairs}
        for item in seen:
            found = partners.get(item.pair.reference)
            if found is None or item.pair.part is not None:
                continue
            one, _ = self._matrices(item.pair)
            metrics = compare(one, self.noise[found.low].matrix().reshape(one.shape))
            ratios[item.fact.tensor] = metrics.relative_l2_ratio or 0.0
            differing += not metrics.equal
            within += (item.fact.relative_l2_ratio or 0.0) <= 2 * (metrics.relative_l2_ratio or 0.0)
            if metrics.sqnr_db is not None and item.fact.sqnr_db is not None:
                margins.append(metrics.sqnr_db - item.fact.sqnr_db)
            last = (metrics.sqnr_db, item.fact.sqnr_db) if item.told.role != "input" else last
        if not ratios:
            self.problems.append(f"{self.noise.path}: none of its tensors is one of the reference's")
            return None, ratios
        return facts.NoiseFloor(
            sources=(*sources, Source(path=self.noise.path)),
            tensors=len(ratios),
            differing=differing,
            noise_output_sqnr_db=last[0] if last else None,
            low_output_sqnr_db=last[1] if last else None,
            median_margin_db=median(margins) if margins else None,
            within_noise_ratio=within / len(ratios),
        ), ratios

    def _outliers(self, seen: Sequence[_Seen], sources: tuple[Source, ...]) -> facts.OutlierSummary | None:
        told = [item for item in seen if item.metrics.outlier_ratio is not None]
        inputs = [item for item in told if item.told.role == "input"] or told
        with_outliers = [item for item in inputs if item.metrics.outlier_channels]
        if not inputs:
            return None
        losses = []
        for item in with_outliers if self.used is not None else ():
            values = _some(self._matrices(item.pair)[0])
            largest = np.abs(values).max(axis=0)
            outlying = largest > _OUTLIER * np.median(largest)
            if self.used is not None and (found := loss_of_normal_channels(self.used, values, outlying)):
                losses.append(found)
        worst = max(inputs, key=lambda item: item.metrics.outlier_ratio or 0.0)
        return facts.OutlierSummary(
            sources=sources,
            tensors=len(inputs),
            with_outliers=len(with_outliers),
            largest_ratio=worst.metrics.outlier_ratio or 0.0,
            worst_tensor=worst.fact.tensor,
            median_normal_sqnr_db=middle([beside for beside, _ in losses])
            if losses
            else middle([item.metrics.normal_channels_sqnr_db for item in with_outliers]),
            median_normal_loss_db=middle([alone - beside for beside, alone in losses]),
            error_in_outliers_ratio=middle([item.metrics.outliers_error_ratio for item in with_outliers]),
        )


def _shapes(tensors: TensorSet) -> dict[str, tuple[int, ...]]:
    return {name: tensor.shape for name, tensor in tensors.items()}


def _some(matrix: Array) -> Floats:
    """Some rows, spread over the matrix, with numbers in place of what is none."""
    step = max(len(matrix) // _THEORY_ROWS, 1)
    return np.nan_to_num(as_floats(matrix[::step][:_THEORY_ROWS]), nan=0.0, posinf=0.0, neginf=0.0)


def _stated(low: TensorSet) -> Deployed | None:
    """What the low run computes in, by its manifest: its format, or the type of its parameters if that is a low one.

    Parameters of 16 bits say nothing: so are the unquantised ones of a quantised model.
    """
    capture = low.settings.get("capture")
    stated = capture if isinstance(capture, dict) else {}
    for name in (stated.get("format"), low.settings.get("format")):
        if isinstance(name, str) and (found := deployed(name)) is not None:
            return found
    kind = OF_DTYPE.get(str(stated.get("dtype")))
    return deployed(kind) if kind is not None and FORMATS[kind].bits <= 8 else None


def _origin(into: float | None, out: float | None) -> str:
    """Where a module's error comes from: its own, its input's, or there is none to speak of."""
    if out is None or out >= _AGREES_DB:
        return "none"
    return "local" if _is_local(into, out) else "inherited"


def _is_local(into: float | None, out: float | None) -> bool:
    """Whether most of an output's error is not its input's."""
    return out is not None and (into is None or into - out >= _LOCAL_DB)


def _nan_onset(errors: Sequence[facts.TensorError], low: TensorSet) -> facts.NanOnset | None:
    """The first tensor with NaN or infinities that the reference does not have."""
    bad = [
        fact
        for fact in errors
        if fact.nan_count > fact.reference_nan_count or fact.inf_count > fact.reference_inf_count
    ]
    if not bad:
        return None
    first = bad[0]
    infinite = first.inf_count > first.reference_inf_count
    return facts.NanOnset(
        sources=first.sources,
        tensor=first.tensor,
        layer=first.layer,
        module=first.module,
        value="inf" if infinite else "nan",
        count=first.inf_count if infinite else first.nan_count,
        tensors=len(bad),
        reference_finite=first.reference_nan_count + first.reference_inf_count == 0,
        reference_max=first.reference_max,
        format_max=format_maximum(low[first.low_tensor or first.tensor].type),
    )


def _clipping(errors: Sequence[facts.TensorError], sources: tuple[Source, ...]) -> facts.ClippingSummary | None:
    told = [fact for fact in errors if fact.clipping_ratio is not None]
    clipped = [fact for fact in told if (fact.clipping_ratio or 0.0) > _CLIPPED]
    if not told:
        return None
    worst = max(told, key=lambda fact: fact.clipping_ratio or 0.0)
    return facts.ClippingSummary(
        sources=sources,
        tensors=len(told),
        clipped=len(clipped),
        median_clipping_ratio=middle([fact.clipping_ratio for fact in clipped]) or 0.0,
        median_gain_ratio=middle([fact.gain_ratio for fact in clipped or told]) or 0.0,
        worst_tensor=worst.tensor,
        worst_clipping_ratio=worst.clipping_ratio or 0.0,
    )
