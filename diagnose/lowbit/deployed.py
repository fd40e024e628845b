"""What a model's low precision means for its weights and its activations, by the name of the format."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from diagnose.lowbit.checkpoint import first_setting, open_checkpoint
from diagnose.lowbit.formats import FORMATS, NVFP4, Scheme, combined_db, expected_sqnr_db, mx, quantised, sqnr_db
from diagnose.lowbit.tensors import Floats, TensorSet


@dataclass(frozen=True, slots=True)
class Deployed:
    """Schemes of a product's two operands; None for an operand that stays as it is."""

    name: str
    weights: Scheme | None
    activations: Scheme | None


def _scheme(name: str, block: tuple[int, int]) -> Scheme:
    return Scheme(FORMATS[name], block)


def _cast(name: str) -> Scheme:
    return Scheme(FORMATS[name], scale="none")


_ROWS, _GROUPS = (1, 0), (1, 128)

DEPLOYED: Mapping[str, Deployed] = MappingProxyType(
    {
        found.name: found
        for found in (
            Deployed("fp16", _cast("fp16"), _cast("fp16")),
            Deployed("bf16", _cast("bf16"), _cast("bf16")),
            Deployed("fp8-e4m3", _scheme("fp8-e4m3", _ROWS), _scheme("fp8-e4m3", _ROWS)),
            Deployed("fp8-e5m2", _scheme("fp8-e5m2", _ROWS), _scheme("fp8-e5m2", _ROWS)),
            Deployed("fp8-block", _scheme("fp8-e4m3", _GROUPS), _scheme("fp8-e4m3", _GROUPS)),
            Deployed("int8", _scheme("int8", _ROWS), _scheme("int8", _ROWS)),
            Deployed("int8-tensor", _scheme("int8", (0, 0)), _scheme("int8", (0, 0))),
            Deployed("int8-weights", _scheme("int8", _ROWS), None),
            Deployed("int4", _scheme("int4", _GROUPS), None),
            Deployed("int4-channel", _scheme("int4", _ROWS), None),
            Deployed("nf4", _scheme("nf4", (1, 64)), None),
            Deployed("int4-int4", _scheme("int4", _ROWS), _scheme("int4", _ROWS)),
            Deployed("int4-fp8", _scheme("int4", _GROUPS), _scheme("fp8-e4m3", _ROWS)),
            Deployed("mxfp8", mx("fp8-e4m3"), mx("fp8-e4m3")),
            Deployed("mxfp6", mx("fp6-e2m3"), mx("fp6-e2m3")),
            Deployed("mxfp4", mx("fp4-e2m1"), mx("fp4-e2m1")),
            Deployed("nvfp4", NVFP4, NVFP4),
        )
    }
)
"""By the names that `--format-of-low` and a capture's manifest may give."""

_WORDS = (
    (r"nvfp4", "nvfp4"), (r"mxfp4", "mxfp4"), (r"mxfp6", "mxfp6"), (r"mxfp8", "mxfp8"), (r"w4a8", "int4-fp8"),
    (r"w4a4", "int4-int4"), (r"fp8.*block", "fp8-block"), (r"e5m2", "fp8-e5m2"), (r"fp8|e4m3|float8", "fp8-e4m3"),
    (r"nf4|bitsandbytes-?4", "nf4"), (r"w8a16|int8.?weight", "int8-weights"), (r"w8a8|int8", "int8"),
    (r"w4a16|int4|gptq|awq|4bit", "int4"), (r"bf16|bfloat16", "bf16"), (r"fp16|float16|half", "fp16"),
)  # fmt: skip


def deployed(name: str | None) -> Deployed | None:
    """The schemes that a name stands for, spelled in any of the usual ways; None where it says nothing."""
    if not name:
        return None
    if name in DEPLOYED:
        return DEPLOYED[name]
    told = name.lower()
    return next((DEPLOYED[found] for word, found in _WORDS if re.search(word, told)), None)


def of_checkpoint(tensors: TensorSet) -> Deployed | None:
    """The schemes of a checkpoint's most frequent quantised weights.

    Floating formats and 8-bit integers quantise activations too, unless the checkpoint's settings say otherwise.
    """
    schemes = Counter(found.theory for found in open_checkpoint(tensors).encoded.values())
    if not schemes:
        return None
    theory = schemes.most_common(1)[0][0]
    settings = tensors.settings.get("quantization_config")
    groups = settings.get("config_groups") if isinstance(settings, dict) else None
    weights_only = groups is not None and first_setting(groups, "input_activations") is None
    if (theory.format.bits <= 6 and theory.format.dtype is None) or theory.format.codebook or weights_only:
        return Deployed(theory.format.name, theory, None)
    activations = theory if theory.scale in ("e8m0", "e4m3") else Scheme(theory.format, _ROWS)
    return Deployed(theory.format.name, theory, activations)


@cache
def _of_weights(scheme: Scheme) -> float | None:
    """What the scheme costs weights: they are near enough to normally distributed."""
    return expected_sqnr_db(np.random.default_rng(0).standard_normal((64, 1024)).astype(np.float32), scheme)


def expected_of_output(used: Deployed, inputs: Floats | None, stored: str | None = None) -> float | None:
    """SQNR that a product's output has when its operands are quantised: their error powers add.

    `inputs` are recorded inputs (tokens, channels); without them those of a normal distribution stand for them.
    `stored` is the type that the output is rounded to.
    """
    parts = [] if used.weights is None else [_of_weights(used.weights)]
    if used.activations is not None:
        parts.append(_of_weights(used.activations) if inputs is None else expected_sqnr_db(inputs, used.activations))
    if stored in ("float16", "bfloat16"):
        parts.append(_of_weights(_cast("fp16" if stored == "float16" else "bf16")))
    return combined_db(*parts)


def loss_of_normal_channels(used: Deployed, inputs: Floats, outlying: NDArray[np.bool_]) -> tuple[float, float] | None:
    """SQNR of the channels that are no outliers: as the format leaves them beside the outliers, and without those."""
    if used.activations is None or not outlying.any() or outlying.all():
        return None
    normal = inputs[:, ~outlying]
    beside = sqnr_db(normal, quantised(inputs, used.activations)[:, ~outlying])
    alone = expected_sqnr_db(normal, used.activations)
    if beside is None or alone is None:
        return None
    return beside, alone
