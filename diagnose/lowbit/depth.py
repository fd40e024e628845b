"""The error of activations over the depth of a model: how it grows, where it begins, which modules add it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2, log10
from statistics import median

from diagnose.facts import Source
from diagnose.facts.lowbit import DepthProfile, ErrorConcentration, LayerLocalError, TensorError
from diagnose.lowbit.names import pattern_of

_FEWEST_LAYERS = 4
_FLAT = 1.5
_JUMP, _JUMP_SHARE, _JUMP_OVER_OTHERS = 1.5, 0.5, 4.0
"""A jump is so large a step, holds so much of all growth (as a logarithm), and is so many times the median step."""
_BLOW_UP = 0.25
"""Doublings a layer, over the second half: twice in four layers."""
_SLOWING = 0.5
_INPUT = 0.01
"""Relative error of the embedding's output from which on the runs did not see the same input."""
_AT_OUTPUT = 5.0
_DIVERGING = 3.0
GAP_DB = 6.0
"""So far below the theory an error is no matter of the distribution."""
_CATEGORIES = {
    "lm_head": "head", "embed_tokens": "embedding", "mlp.gate_proj": "gate", "mlp.gate": "router", "router": "router",
    "o_proj": "attention-output", "norm": "norm", "down_proj": "down",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """The error after one layer."""

    layer: int
    tensor: str
    ratio: float
    expected: float | None


def layer_steps(errors: Sequence[TensorError]) -> list[Step]:
    """One step a layer: the output of the block where it was recorded, else the last output within."""
    outputs: dict[int, list[TensorError]] = defaultdict(list)
    for fact in errors:
        if fact.layer is not None and fact.role == "output" and fact.relative_l2_ratio is not None:
            outputs[fact.layer].append(fact)
    whole = [layer for layer, found in outputs.items() if any(fact.module == "" for fact in found)]
    steps = []
    for layer, found in sorted(outputs.items()):
        chosen = found
        if len(whole) * 2 >= len(outputs):
            chosen = [fact for fact in found if fact.module == ""]
        if chosen:
            last = max(chosen, key=lambda fact: fact.position)
            expected = None if last.expected_sqnr_db is None else 10 ** (-last.expected_sqnr_db / 20)
            steps.append(Step(layer, last.tensor, last.relative_l2_ratio or 0.0, expected))
    return steps


def depth_profile(
    errors: Sequence[TensorError], local: Sequence[LayerLocalError], sources: tuple[Source, ...]
) -> DepthProfile | None:
    """The profile, where activations of at least two layers differ."""
    steps = layer_steps(errors)
    if len(steps) < 2 or max(step.ratio for step in steps) == 0.0:
        return None
    ratios = [max(step.ratio, 1e-9) for step in steps]
    growth = [after / before for before, after in pairwise(ratios)]
    largest = max(range(len(growth)), key=growth.__getitem__)
    total = log2(ratios[-1] / ratios[0])
    share = log2(growth[largest]) / total if total > 0.1 else None
    diverging = _first_local(local, errors) or _first_diverging(steps, ratios, growth)
    return DepthProfile(
        sources=sources,
        shape=_shape(errors, ratios, growth, share),
        layers=len(steps),
        first_relative_l2_ratio=ratios[0],
        middle_relative_l2_ratio=ratios[len(ratios) // 2],
        last_relative_l2_ratio=ratios[-1],
        first_diverging_layer=None if diverging is None else diverging[0],
        first_diverging_tensor=None if diverging is None else diverging[1],
        step_ratio=growth[largest],
        step_layer=steps[largest + 1].layer,
        step_share=share,
        doublings_per_layer=_slope([log2(ratio) for ratio in ratios]),
    )


def _shape(errors: Sequence[TensorError], ratios: Sequence[float], growth: Sequence[float], share: float | None) -> str:
    if _before_layers(errors) > max(_INPUT, ratios[0] / 3):
        return "from-input"
    final = next((fact for fact in reversed(errors) if fact.role == "logits"), None)
    if final is not None and (final.relative_l2_ratio or 0.0) > _AT_OUTPUT * ratios[-1]:
        return "at-output"
    if len(ratios) < _FEWEST_LAYERS:
        return "short"
    if _is_jump(growth, growth.index(max(growth))) and (share is None or share >= _JUMP_SHARE):
        return "jump"
    if max(ratios) / min(ratios) < _FLAT:
        return "flat"
    half = len(ratios) // 2
    late = _slope([log2(ratio) for ratio in ratios[half:]])
    if late >= _BLOW_UP and log2(ratios[-1] / ratios[half]) >= 1:
        return "late-blow-up"
    if ratios[-1] - ratios[half] < _SLOWING * (ratios[half] - ratios[0]):
        return "saturation"
    return "steady"


def _is_jump(growth: Sequence[float], at: int) -> bool:
    """Whether the step after a layer stands out from the others."""
    others = [abs(log2(step)) for where, step in enumerate(growth) if where != at]
    usual = median(others) if others else 0.0
    return growth[at] >= _JUMP and log2(growth[at]) >= _JUMP_OVER_OTHERS * usual


def _before_layers(errors: Sequence[TensorError]) -> float:
    """Error of what goes into the first layer: of the embedding's output, or of the layer's own input."""
    for fact in errors:
        embedding = fact.layer is None and fact.role == "output"
        into = fact.role == "input" and fact.layer == 0
        if embedding or into:
            return fact.relative_l2_ratio or 0.0
        if fact.layer is not None:
            break
    return 0.0


def _slope(values: Sequence[float]) -> float:
    """Least-squares slope over equal steps."""
    count = len(values)
    if count < 2:
        return 0.0
    centre, mean = (count - 1) / 2, sum(values) / count
    across = sum((at - centre) ** 2 for at in range(count))
    return sum((at - centre) * (value - mean) for at, value in enumerate(values)) / across


def _first_local(local: Sequence[LayerLocalError], errors: Sequence[TensorError]) -> tuple[int, str] | None:
    """The first module that adds far more than its format costs, where inputs and outputs were recorded."""
    for fact in local:
        if fact.layer is not None and fact.origin == "local" and fact.gap_db is not None and fact.gap_db >= GAP_DB:
            return fact.layer, next(error.tensor for error in errors if error.position == fact.position)
    return None


def _first_diverging(steps: Sequence[Step], ratios: Sequence[float], growth: Sequence[float]) -> tuple[int, str] | None:
    """The first layer that stands out: of the format's cost, or of the steps between layers."""
    first = steps[0]
    if first.expected is not None and ratios[0] >= _DIVERGING * first.expected:
        return first.layer, first.tensor
    for at, step in enumerate(steps[1:]):
        if _is_jump(growth, at) and ratios[at + 1] > max(ratios[: at + 1]):
            return step.layer, step.tensor
    return None


def concentrations(local: Sequence[LayerLocalError], sources: tuple[Source, ...]) -> Iterator[ErrorConcentration]:
    """Groups of modules that add at least half of all error and are at most a third of the modules."""
    told = [fact for fact in local if fact.error_share_ratio is not None]
    if len(told) < _FEWEST_LAYERS:
        return
    groups: dict[str, list[LayerLocalError]] = defaultdict(list)
    layers = {fact.layer for fact in told if fact.layer is not None}
    last = max(layers, default=0)
    for fact in told:
        groups[f"module {fact.module}"].append(fact)
        groups[f"one {fact.position}"].append(fact)
        if fact.layer is not None and len(layers) > _FEWEST_LAYERS:
            groups[f"layer {fact.layer}"].append(fact)
            if fact.layer in (0, last):
                groups["ends"].append(fact)
    best = None
    for key, found in groups.items():
        share = sum(fact.error_share_ratio or 0.0 for fact in found)
        part = len(found) / len(told)
        if share >= 0.5 and part <= 1 / 3 and (best is None or share / part > best[0]):
            best = (share / part, key, found, share, part)
    if best is None:
        return
    _, key, found, share, part = best
    others = [fact.local_sqnr_db for fact in told if fact not in found and fact.local_sqnr_db is not None]
    own = [fact.local_sqnr_db for fact in found if fact.local_sqnr_db is not None]
    if not own or not others:
        return
    module = found[0].module or ""
    yield ErrorConcentration(
        sources=sources,
        pattern=_pattern(key, found, len(layers), last),
        category="ends" if key == "ends" else None if key.startswith("layer") else _category(module),
        modules=len(found),
        modules_share_ratio=part,
        error_share_ratio=share,
        median_sqnr_db=median(own),
        others_median_sqnr_db=median(others),
    )


def _pattern(key: str, found: Sequence[LayerLocalError], layers: int, last: int) -> str:
    if key == "ends":
        return f"layers 0, {last}"
    if key.startswith("layer"):
        return key
    return pattern_of([fact.layer for fact in found], found[0].module or "", layers)


def _category(module: str) -> str | None:
    return next((name for word, name in _CATEGORIES.items() if word in module), None)


def subtracted_db(output: float | None, inherited: float | None) -> float | None:
    """SQNR of what is added to an inherited error: powers subtract. None where nothing is added."""
    if output is None:
        return None
    added = 10 ** (-output / 10) - (0.0 if inherited is None else 10 ** (-inherited / 10))
    return -10 * log10(added) if added > 10 ** (-output / 10) * 1e-3 else None
