"""The scales of a checkpoint by their role, as facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from diagnose.facts import Source
from diagnose.facts.lowbit import QuantisationScales
from diagnose.lowbit.tensors import Tensor, TensorSet, as_floats

_LOOKED_AT = 4096
_KEYS_AND_VALUES = ("k_proj.output_scale", "v_proj.output_scale")
_SMALLEST_NORMAL = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float8_e4m3fn": 2.0**-6}


def static_scales(tensors: TensorSet) -> Iterator[tuple[str, str, Tensor]]:
    """Names of scales with their role: `weight`, `activation` or `kv-cache`."""
    for name, tensor in tensors.items():
        ending = name.rpartition(".")[2]
        if ending in ("k_scale", "v_scale", "kv_scale") or name.endswith(
            ("k_proj.output_scale", "v_proj.output_scale")
        ):
            yield name, "kv-cache", tensor
        elif ending in ("input_scale", "act_scale", "input_global_scale"):
            yield name, "activation", tensor
        elif ending in ("weight_scale", "weight_scale_inv", "scales", "SCB"):
            yield name, "weight", tensor


def scale_facts(tensors: TensorSet) -> Iterator[QuantisationScales]:
    """One fact for each role that the checkpoint has scales of."""
    roles: dict[str, list[Tensor]] = defaultdict(list)
    for _, role, tensor in static_scales(tensors):
        roles[role].append(tensor)
    for role, found in roles.items():
        yield _fact(tensors, role, found)


def _fact(tensors: TensorSet, role: str, found: list[Tensor]) -> QuantisationScales:
    looked = zero = nonfinite = negative = denormal = ones = 0
    least, most, example = np.inf, -np.inf, None
    distinct: set[float] = set()
    for tensor in found:
        stored = tensor.load().reshape(-1)
        values = as_floats(stored[:: max(len(stored) // _LOOKED_AT, 1)])
        if tensor.type == "uint8":  # exponents
            values = np.exp2(values - 127)
        finite = values[np.isfinite(values)]
        all_one = bool(len(values)) and bool((values == 1).all())
        bad = int((values == 0).sum()) + len(values) - len(finite)
        looked, ones = looked + len(values), ones + all_one
        zero, nonfinite = zero + int((values == 0).sum()), nonfinite + len(values) - len(finite)
        negative += int((values < 0).sum())
        denormal += int(((values != 0) & (np.abs(values) < _SMALLEST_NORMAL.get(tensor.type, 0))).sum())
        if len(finite):
            least, most = min(least, float(finite.min())), max(most, float(finite.max()))
        if len(distinct) < 2:
            distinct.update(float(value) for value in np.unique(values)[:2])
        if example is None and (all_one or bad):
            example = tensor.name
    return QuantisationScales(
        sources=(Source(path=tensors.path),),
        role=role,
        tensors=len(found),
        value_count=looked,
        type=found[0].type,
        all_one=ones,
        all_same=len(distinct) == 1 and len(found) > 1,
        zero_count=zero,
        nonfinite_count=nonfinite,
        negative_count=negative,
        denormal_count=denormal,
        minimum=least if least < np.inf else None,
        maximum=most if most > -np.inf else None,
        example=example,
    )
