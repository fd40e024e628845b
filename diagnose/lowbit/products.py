"""Products computed anew: a module's own input times its own weights beside what it gave; calibrated ranges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2
from statistics import median

import numpy as np

from diagnose.facts import Source
from diagnose.facts.lowbit import AccumulationProfile, CalibrationCoverage, ProductCheck
from diagnose.lowbit.checkpoint import Checkpoint, open_checkpoint
from diagnose.lowbit.deployed import Deployed
from diagnose.lowbit.formats import FORMATS, Scheme, expected_sqnr_db, quantised, sqnr_db
from diagnose.lowbit.names import Named, named
from diagnose.lowbit.sampling import sample_rows
from diagnose.lowbit.tensors import Floats, Tensor, TensorSet, as_floats

_ROWS, _OUTPUTS = 32, 256
_INEXACT_DB = 50.0
_RANGES = {"float8_e4m3fn": 448.0, "float8_e4m3fnuz": 240.0, "float8_e5m2": 57344.0, "int8": 127.0}
_EXCEEDED, _TOO_WIDE = 1.3, 8.0
_LIMITS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
_FINER = (0.8, 0.9, 1.0, 1.1, 1.2)
_CLIPPING_GAIN_DB = 6.0


@dataclass(frozen=True)
class _Module:
    told: Named
    given: Tensor
    gave: Tensor


def product_checks(low: TensorSet, weights: TensorSet | None, used: Deployed | None) -> Iterator[ProductCheck]:
    """One fact for each module whose input, output and weight are at hand."""
    holder = weights if weights is not None else low
    checkpoint = open_checkpoint(holder)
    by_key = {named(name).key: name for name in (*checkpoint.encoded, *checkpoint.plain)}
    for module in _modules(low):
        told = module.told
        weight = by_key.get((told.layer, told.module, "weight", "weight"))
        bias = by_key.get((told.layer, told.module, "weight", "bias"))
        if weight is None:
            continue
        fact = _product(module, checkpoint, weight, bias, used)
        if fact is not None:
            yield fact


def _modules(low: TensorSet) -> Iterator[_Module]:
    sides: dict[tuple[int | None, str], dict[str, Tensor]] = defaultdict(dict)
    for name, tensor in low.items():
        told = named(name)
        if told.role in ("input", "output", "logits"):
            sides[told.layer, told.module].setdefault("input" if told.role == "input" else "output", tensor)
    for (layer, module), found in sides.items():
        if len(found) == 2:
            yield _Module(Named(layer, module, "output"), found["input"], found["output"])


def _product(
    module: _Module, checkpoint: Checkpoint, weight: str, bias: str | None, used: Deployed | None
) -> ProductCheck | None:
    given, gave = module.given.matrix(), module.gave.matrix()
    encoded = checkpoint.encoded.get(weight)
    shape = encoded.shape if encoded is not None else checkpoint.plain[weight].shape
    if len(shape) != 2 or given.shape[1] != shape[1] or gave.shape[1] != shape[0] or len(given) != len(gave):
        return None
    rows = np.linspace(0, len(given) - 1, min(len(given), _ROWS)).astype(np.intp)
    outputs = sample_rows(shape[0], 1)[:_OUTPUTS]
    if encoded is not None:
        matrix = encoded.read(outputs[:, None], np.arange(shape[1])[None, :])
        encoded.release()
    else:
        matrix = as_floats(checkpoint.plain[weight].matrix()[outputs])
    offset: Floats | np.float32 = np.float32(0)
    if bias is not None and bias in checkpoint.plain:
        offset = checkpoint.plain[bias].floats()[outputs]
    inputs, recorded = as_floats(given[rows]), as_floats(gave[np.ix_(rows, outputs)])
    if not (np.isfinite(inputs).all() and np.isfinite(recorded).all() and np.isfinite(matrix).all()):
        return None
    exact = _multiplied(inputs, matrix, offset)
    name = {"float16": "fp16", "bfloat16": "bf16"}.get(module.gave.type)
    rounded = None
    if used is not None and used.activations is not None and used.activations.scale != "none":
        rounded = sqnr_db(_multiplied(quantised(inputs, used.activations), matrix, offset), recorded)
    return ProductCheck(
        sources=(Source(path=module.gave.path), Source(path=checkpoint.tensors.path)),
        layer=module.told.layer,
        module=module.told.module,
        inner_dimension=shape[1],
        rows=len(rows),
        sqnr_db=sqnr_db(exact, recorded),
        output_floor_db=None if name is None else expected_sqnr_db(exact, Scheme(FORMATS[name], scale="none")),
        with_quantised_input_sqnr_db=rounded,
        **_clipped(inputs, matrix, offset, recorded, sqnr_db(exact, recorded)),
    )


def _clipped(
    inputs: Floats, matrix: Floats, offset: Floats | np.float32, recorded: Floats, unclipped: float | None
) -> dict[str, float]:
    """The limit at which the inputs were cut off, where cutting them there explains the output far better."""
    largest = float(np.abs(inputs).max(initial=0.0))
    if unclipped is None or largest == 0.0:
        return {}

    def reached(part: float) -> float:
        limited = np.clip(inputs, -part * largest, part * largest)
        return sqnr_db(_multiplied(limited, matrix, offset), recorded) or 0.0

    best = max(_LIMITS, key=reached)
    finer = max((best * step for step in _FINER), key=reached)
    if reached(finer) < unclipped + _CLIPPING_GAIN_DB:
        return {}
    return {"clip_limit_ratio": finer, "with_clipped_input_sqnr_db": reached(finer)}


def clipped_inputs(found: Sequence[ProductCheck], sources: tuple[Source, ...]) -> CalibrationCoverage | None:
    """Calibrated ranges as the products themselves show them, where the checkpoint's scales are not at hand."""
    ratios = {at: 1 / fact.clip_limit_ratio for at, fact in enumerate(found) if fact.clip_limit_ratio}
    if not ratios:
        return None
    worst = max(ratios, key=ratios.__getitem__)
    everything = [ratios.get(at, 1.0) for at in range(len(found))]
    layer = "" if found[worst].layer is None else f"layers.{found[worst].layer}."
    return CalibrationCoverage(
        sources=sources,
        modules=len(found),
        exceeded=sum(ratio > _EXCEEDED for ratio in everything),
        worst_ratio=ratios[worst],
        worst_module=f"{layer}{found[worst].module}",
        median_ratio=median(everything),
        median_clipped_ratio=None,
        too_wide=0,
        all_default=False,
    )


def _multiplied(inputs: Floats, matrix: Floats, offset: Floats | np.float32) -> Floats:
    product: Floats = (inputs.astype(np.float64) @ matrix.T.astype(np.float64) + offset).astype(np.float32)
    return product


def accumulation_profile(found: Sequence[ProductCheck]) -> AccumulationProfile | None:
    """How exactness falls with the length of sums, over all products that were computed anew."""
    lengths: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for fact in found:
        known = [value for value in (fact.sqnr_db, fact.with_quantised_input_sqnr_db) if value is not None]
        if known:
            lengths[fact.inner_dimension].append((max(known), fact.output_floor_db or 150.0))
    if not lengths:
        return None
    shortest, longest = min(lengths), max(lengths)
    at = {length: median(value for value, _ in values) for length, values in lengths.items()}
    everything = [pair for values in lengths.values() for pair in values]
    quadruplings = log2(longest / shortest) / 2
    return AccumulationProfile(
        sources=found[0].sources,
        products=len(everything),
        shortest=shortest,
        longest=longest,
        shortest_sqnr_db=at[shortest],
        longest_sqnr_db=at[longest],
        median_sqnr_db=median(value for value, _ in everything),
        median_floor_db=median(floor for _, floor in everything),
        db_per_quadrupling=(at[shortest] - at[longest]) / quadruplings if quadruplings >= 0.5 else None,
        inexact=sum(value < min(floor - 6, _INEXACT_DB) for value, floor in everything),
    )


def calibration_coverage(
    weights: TensorSet | None, reference: TensorSet, sources: tuple[Source, ...]
) -> CalibrationCoverage | None:
    """Ranges that static scales stand for against the inputs of the reference run."""
    if weights is None:
        return None
    inputs = {(told.layer, told.module): name for name in reference if (told := named(name)).role == "input"}
    ratios, clipped, names, defaults = [], [], [], []
    for name, tensor in weights.items():
        base, _, ending = name.rpartition(".")
        if ending != "input_scale":
            continue
        told = named(f"{base}.weight")
        recorded = inputs.get((told.layer, told.module))
        stored = weights.get(f"{base}.weight")
        values = tensor.floats().reshape(-1)
        if recorded is None or stored is None or stored.type not in _RANGES or len(values) != 1 or not values[0] > 0:
            continue
        limit = float(values[0]) * _RANGES[stored.type]
        magnitudes = np.abs(reference[recorded].floats())
        magnitudes = magnitudes[np.isfinite(magnitudes)]
        ratios.append(float(magnitudes.max(initial=0.0)) / limit)
        clipped.append(float((magnitudes > limit).mean()) if magnitudes.size else 0.0)
        names.append(base)
        defaults.append(float(values[0]) == 1.0)
    if not ratios:
        return None
    worst = int(np.argmax(ratios))
    return CalibrationCoverage(
        sources=(*sources, Source(path=weights.path)),
        modules=len(ratios),
        exceeded=sum(ratio > _EXCEEDED for ratio in ratios),
        worst_ratio=ratios[worst],
        worst_module=names[worst],
        median_ratio=median(ratios),
        median_clipped_ratio=median(clipped),
        too_wide=sum(ratio < 1 / _TOO_WIDE for ratio in ratios),
        all_default=all(defaults),
    )
