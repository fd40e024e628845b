"""The quantised weights of a checkpoint: which tensors belong together, and how they say that they are read.

Conventions by the projects' own code: AutoGPTQ and GPTQModel (`qweight`, zero points stored less one in the first
format), AutoAWQ (order of nibbles), compressed-tensors (`pack_to_int32`: offset binary, lowest bits first;
`nvfp4-pack-quantized`: the global scale divides), NVIDIA Model Optimizer (`weight_scale_2` multiplies), DeepSeek
(`weight_scale_inv` multiplies), bitsandbytes (`quant_state`: high nibble first), gpt-oss (`_blocks` and `_scales`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from diagnose.lowbit.codes import Codes
from diagnose.lowbit.encoded import Encoded, theory
from diagnose.lowbit.formats import FORMATS, OF_DTYPE, Scheme, mx
from diagnose.lowbit.gguf_weights import gguf_weight
from diagnose.lowbit.readers.gguf_blocks import BY_NAME
from diagnose.lowbit.tensors import Array, Tensor, TensorSet, rows_of

_ELEMENTS = {
    "float8_e4m3fn": "e4m3fn", "float8_e4m3fnuz": "e4m3fnuz", "float8_e5m2": "e5m2", "float8_e5m2fnuz": "e5m2fnuz",
    "int8": "int8", "uint8": "uint8",
}  # fmt: skip
SCALE_ENDINGS = (
    "weight_scale_inv", "weight_scale", "weight_scale_2", "weight_global_scale", "input_scale", "input_global_scale",
    "k_scale", "v_scale", "kv_scale", "q_scale", "prob_scale", "k_proj.output_scale", "v_proj.output_scale", "scales",
    "qzeros", "g_idx", "weight_zero_point", "weight_shape", "weight_g_idx", "absmax", "quant_map", "SCB",
    "weight_format", "nested_absmax", "nested_quant_map", "act_scale", "output_scale",
)  # fmt: skip
"""Ends of the names of tensors that are no weights but belong to the quantisation."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint's weights: quantised ones taken apart, others as they are."""

    tensors: TensorSet
    encoded: Mapping[str, Encoded]
    """By the name that the weight has in the original."""
    plain: Mapping[str, Tensor]
    method: str | None
    """`quant_method` of the settings."""
    problems: list[str]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """All weights with their shapes."""
        found: dict[str, tuple[int, ...]] = {name: one.shape for name, one in self.encoded.items()}
        return found | {name: one.shape for name, one in self.plain.items()}


def is_checkpoint(tensors: TensorSet) -> bool:
    """Whether the set holds parameters rather than activations."""
    endings = (".weight", ".qweight", ".weight_packed", "_blocks", "_scales", ".bias", *SCALE_ENDINGS)
    return sum(name.endswith(endings) or ".quant_state." in name for name in tensors) * 2 > len(tensors)


def open_checkpoint(tensors: TensorSet) -> Checkpoint:
    """Find the quantised weights. What cannot be taken apart becomes a problem."""
    config = tensors.settings.get("quantization_config")
    settings = config if isinstance(config, dict) else {}
    finder = _Finder(tensors, settings)
    encoded: dict[str, Encoded] = {}
    problems = list(tensors.problems)
    used: set[str] = set()
    for name in tensors:
        try:
            found = finder.find(name)
        except (KeyError, ValueError, TypeError, IndexError, ZeroDivisionError) as error:
            problems.append(f"{name}: its parts do not fit together: {error}")
            continue
        if found is not None:
            encoded[found.name] = found
            used.update(found.parts)
    plain = {
        name: tensor
        for name, tensor in tensors.items()
        if name not in used and not name.endswith(SCALE_ENDINGS) and ".quant_state." not in name
    }
    method = settings.get("quant_method") or settings.get("quant_algo")
    return Checkpoint(tensors, encoded, plain, str(method) if method else None, problems)


def first_setting(settings: Any, *keys: str) -> Any:
    """The first value under any of the keys, at any depth."""
    if isinstance(settings, dict):
        for key in keys:
            if settings.get(key) is not None:
                return settings[key]
        settings = list(settings.values())
    if isinstance(settings, list):
        for value in settings:
            if isinstance(value, dict | list) and (found := first_setting(value, *keys)) is not None:
                return found
    return None


class _Finder:
    def __init__(self, tensors: TensorSet, settings: Mapping[str, Any]) -> None:
        self.tensors, self.settings = tensors, settings
        bits = first_setting(settings, "bits", "w_bit", "num_bits")
        self.bits = bits if bits in (2, 4, 8) else 4
        group = first_setting(settings, "group_size", "q_group_size")
        self.group = group if isinstance(group, int) and 0 < group <= 1 << 16 else 0

    def find(self, name: str) -> Encoded | None:
        base, _, ending = name.rpartition(".")
        tensor = self.tensors[name]
        if tensor.type in BY_NAME:
            return gguf_weight(tensor, self.tensors.settings)
        if ending == "qweight" and f"{base}.scales" in self.tensors:
            return self._gptq_or_awq(base)
        if ending == "weight_packed":
            return self._packed(base)
        if name.endswith("_blocks") and tensor.type == "uint8" and f"{name[:-7]}_scales" in self.tensors:
            return self._blocks(name)
        if ending == "weight":
            return self._weight(base, tensor)
        return None

    def _part(self, name: str) -> Tensor | None:
        return self.tensors.get(name)

    def _parts(self, *names: str) -> list[str]:
        return [name for name in names if name in self.tensors]

    # GPTQ and AWQ

    def _gptq_or_awq(self, base: str) -> Encoded:
        weight, scales = self.tensors[f"{base}.qweight"], self.tensors[f"{base}.scales"]
        zeros, groups = self._part(f"{base}.qzeros"), self._part(f"{base}.g_idx")
        outputs, words = scales.shape[1], weight.shape
        awq = words[1] != outputs
        per = 32 // self.bits
        inputs = words[0] if awq else words[0] * per
        order = "awq" if awq and self.bits == 4 else "linear"
        second = str(first_setting(self.settings, "checkpoint_format", "version") or "") in ("gptq_v2", "v2")
        offset = 0.0 if awq or second else 1.0
        return Encoded(
            f"{base}.weight",
            "awq" if awq else "gptq",
            theory(f"uint{self.bits}", (1, self._width(inputs, scales.shape[0])), symmetric=False),
            (outputs, inputs),
            Codes(_words(weight), self.bits, order, along_outputs=awq, inputs_first=True),
            f"uint{self.bits}",
            scales.load,
            scale_inputs_first=True,
            group=self._misfit(inputs, scales.shape[0]),
            zeros=None
            if zeros is None
            else Codes(_words(zeros), self.bits, order, along_outputs=True, inputs_first=True),
            zero_offset=offset if zeros is not None else 2.0 ** (self.bits - 1),
            input_groups=None if groups is None or not _reordered(groups, scales.shape[0]) else groups.load,
            parts=self._parts(*(f"{base}.{end}" for end in ("qweight", "qzeros", "scales", "g_idx"))),
        )

    def _width(self, inputs: int, groups: int) -> int:
        return -(-inputs // groups) if groups > 1 else 0

    def _misfit(self, inputs: int, groups: int) -> int:
        """The group size of the settings, where the number of scales speaks for another."""
        if not self.group or groups <= 1 or -(-inputs // self.group) == groups:
            return 0
        return self.group

    # compressed-tensors

    def _packed(self, base: str) -> Encoded:
        packed, scales = self.tensors[f"{base}.weight_packed"], self.tensors[f"{base}.weight_scale"]
        parts = self._parts(
            *(f"{base}.weight_{end}" for end in ("packed", "scale", "shape", "zero_point", "g_idx", "global_scale"))
        )
        if packed.type == "uint8":
            overall = self._part(f"{base}.weight_global_scale")
            return self._fp4(f"{base}.weight", packed, scales, "compressed-tensors", overall, "divide", parts)
        zeros, groups = self._part(f"{base}.weight_zero_point"), self._part(f"{base}.weight_g_idx")
        per = 32 // self.bits
        outputs, inputs = packed.shape[0], packed.shape[1] * per
        if (shape := self._part(f"{base}.weight_shape")) is not None:
            inputs = min(int(shape.load()[1]), inputs)
        middle = 2.0 ** (self.bits - 1)
        return Encoded(
            f"{base}.weight",
            "compressed-tensors",
            theory(f"uint{self.bits}", (1, self._width(inputs, scales.shape[-1])), symmetric=zeros is None),
            (outputs, inputs),
            Codes(_words(packed), self.bits),
            f"uint{self.bits}",
            scales.load,
            group=self._misfit(inputs, scales.shape[-1]),
            zeros=None if zeros is None else _stored_zeros(zeros, self.bits),
            zero_offset=middle if zeros is None or zeros.type == "int8" else 0.0,
            input_groups=None if groups is None or not _reordered(groups, scales.shape[-1]) else groups.load,
            parts=parts,
        )

    def _fp4(
        self, name: str, packed: Tensor, scales: Tensor, scheme: str, overall: Tensor | None, use: str, parts: list[str]
    ) -> Encoded:
        """Two E2M1 codes a byte: NVFP4 with E4M3 scales and a factor for the tensor, or MXFP4."""
        outputs, inputs = prod(packed.shape[:-1]), packed.shape[-1] * 2
        nv = scales.type.startswith("float8_e4m3")
        scheme_of = Scheme(FORMATS["fp4-e2m1"], (1, inputs // scales.shape[-1]), "e4m3" if nv else "e8m0")
        return Encoded(
            name,
            scheme if scheme != "fp4" else ("nvfp4" if nv else "mx"),
            scheme_of,
            (outputs, inputs),
            Codes(rows_of(packed), 4),
            "e2m1",
            rows_of(scales),
            overall=None if overall is None else float(np.asarray(overall.load(), np.float32).reshape(-1)[0]),
            overall_use=use,
            parts=parts,
        )

    def _blocks(self, name: str) -> Encoded:
        base = name.removesuffix("_blocks")
        blocks, scales = self.tensors[name], self.tensors[f"{base}_scales"]
        outputs, inputs = prod(blocks.shape[:-2]), blocks.shape[-2] * blocks.shape[-1] * 2
        return Encoded(
            base,
            "mx",
            mx("fp4-e2m1"),
            (outputs, inputs),
            Codes(lambda: blocks.load().reshape(outputs, inputs // 2), 4),
            "e2m1",
            rows_of(scales),
            parts=[name, f"{base}_scales"],
        )

    # One code an element, or bitsandbytes

    def _weight(self, base: str, weight: Tensor) -> Encoded | None:
        state = next(
            (name for name in self.tensors if name.startswith(f"{base}.weight.quant_state.")), None
        ) if weight.type == "uint8" else None  # fmt: skip
        if state is not None:
            return self._bitsandbytes(base, weight, state)
        if weight.type not in _ELEMENTS or len(weight.shape) < 2:
            return None
        for ending, scheme in (("SCB", "bitsandbytes"), ("weight.SCB", "bitsandbytes")):
            scales = self._part(f"{base}.{ending}")
            if scales is not None:
                return self._single(base, weight, scales, scheme, [f"{base}.{ending}"], 1 / 127)
        for ending in ("weight_scale_inv", "weight_scale", "scale"):
            scales = self._part(f"{base}.{ending}")
            if scales is None:
                continue
            second = self._part(f"{base}.weight_scale_2")
            if weight.type == "uint8":
                parts = self._parts(f"{base}.weight", f"{base}.{ending}", f"{base}.weight_scale_2")
                return self._fp4(f"{base}.weight", weight, scales, "fp4", second, "multiply", parts)
            scheme = (
                "compressed-tensors" if first_setting(self.settings, "quant_method") == "compressed-tensors" else "fp8"
            )
            return self._single(base, weight, scales, "int8" if weight.type == "int8" else scheme, [f"{base}.{ending}"])
        return self._single(base, weight, None, "cast", []) if weight.type != "uint8" else None

    def _single(
        self, base: str, weight: Tensor, scales: Tensor | None, scheme: str, parts: list[str], factor: float = 1.0
    ) -> Encoded:
        outputs, inputs = prod(weight.shape[:-1]), weight.shape[-1]
        grid = (1, 1) if scales is None else _grid(scales, outputs)
        block = (0 if grid[0] == 1 else -(-outputs // grid[0]), 0 if grid[1] == 1 else -(-inputs // grid[1]))
        element = _ELEMENTS[weight.type]
        power_of_two = scales is not None and scales.type in ("uint8", "float8_e8m0fnu")
        kind = "none" if scales is None else "e8m0" if power_of_two else "float32"
        load = None if scales is None else (lambda: scales.load().reshape(grid))
        return Encoded(
            f"{base}.weight",
            "mx" if power_of_two else scheme,
            theory(element, block, kind),
            (outputs, inputs),
            Codes(rows_of(weight), 8, packed=False),
            element,
            load,
            scale_factor=factor,
            parts=[f"{base}.weight", *parts],
        )

    def _bitsandbytes(self, base: str, weight: Tensor, state: str) -> Encoded:
        document = json.loads(bytes(self.tensors[state].load()))
        outputs, inputs = (int(size) for size in document["shape"])
        block = int(document["blocksize"])
        name = f"{base}.weight"
        table = self._part(f"{name}.quant_map")
        kind = str(document.get("quant_type", "nf4"))
        absmax = self.tensors[f"{name}.absmax"]
        nested = self._part(f"{name}.nested_absmax")

        def scales() -> Array:
            values = absmax.load()
            if nested is not None:
                codes = self.tensors[f"{name}.nested_quant_map"].floats()[values]
                size = int(document["nested_blocksize"])
                values = codes * np.repeat(nested.floats(), size)[: len(codes)] + float(document["nested_offset"])
            return values.reshape(outputs, -1)

        if inputs % block:
            raise ValueError(f"blocks of {block} do not fit rows of {inputs}")
        return Encoded(
            name,
            "bitsandbytes",
            theory("nf4" if kind == "nf4" else "bnb-fp4", (1, block)),
            (outputs, inputs),
            Codes(lambda: weight.load().reshape(outputs, inputs // 2), 4, "nibbles-swapped"),
            "nf4" if kind == "nf4" else "bnb-fp4",
            scales,
            table=tuple(float(value) for value in table.floats()) if table is not None else (),
            parts=[found for found in self.tensors if found == name or found.startswith(f"{name}.")],
        )


def _words(tensor: Tensor) -> Callable[[], Array]:
    return lambda: tensor.load().view(np.uint32)


def _stored_zeros(zeros: Tensor, bits: int) -> Codes:
    if zeros.type == "int8":
        return Codes(lambda: zeros.load().reshape(zeros.shape[0], -1), 8, packed=False)
    return Codes(_words(zeros), bits, along_outputs=True)


def _grid(scales: Tensor, outputs: int) -> tuple[int, int]:
    """Scales as rows and columns of blocks: one for each output, for the tensor, or for each block."""
    count = prod(scales.shape)
    if count == 1:
        return 1, 1
    if len(scales.shape) == 1:
        return (count, 1) if outputs % count == 0 else (1, count)
    return prod(scales.shape[:-1]), scales.shape[-1]


def _reordered(groups: Tensor, count: int) -> bool:
    """Whether the inputs of groups are not simply consecutive. Raises ValueError for groups that have no scales."""
    order = groups.load()
    if order.size and not 0 <= int(order.min()) <= int(order.max()) < count:
        raise ValueError(f"{groups.name} names groups up to {int(order.max())}, and there are scales of {count}")
    return bool((order[1:] < order[:-1]).any())


def cast_of(reference: Tensor, low: Tensor) -> Scheme | None:
    """The scheme of a weight that was merely stored in a smaller floating type."""
    name = OF_DTYPE.get(low.type)
    if name is None or low.type == reference.type or not low.type.startswith(("float", "bfloat")):
        return None
    return Scheme(FORMATS[name], scale="none")
