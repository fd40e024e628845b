"""Weights of a GGUF file: block types hold their scales within, so they decode as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from diagnose.lowbit.codes import Codes, Indices
from diagnose.lowbit.encoded import Encoded
from diagnose.lowbit.formats import FORMATS, Scheme, mx
from diagnose.lowbit.readers.gguf_blocks import decode_rows
from diagnose.lowbit.tensors import Array, Floats, Tensor, rows_of

_THEORY = {
    "q4_0": ("int4", 32, True), "q4_1": ("int4", 32, False), "q5_0": ("int5", 32, True), "q5_1": ("int5", 32, False),
    "q8_0": ("int8", 32, True), "q4_k": ("int4", 32, False), "q5_k": ("int5", 32, False), "q6_k": ("int6", 16, True),
}  # fmt: skip
_ROTARY_ARCHITECTURES = frozenset({"llama", "mistral", "internlm2", "minicpm", "deci", "granite"})
"""Architectures of llama.cpp whose converters reorder the outputs of the query and key projections."""


def gguf_weight(tensor: Tensor, settings: Mapping[str, Any]) -> Encoded:
    """The weight that a tensor of a block type is."""
    rows, columns = prod(tensor.shape[:-1]), tensor.shape[-1]
    load = rows_of(tensor)
    heads = _rotary_heads(tensor.name, settings)
    return Encoded(
        tensor.name,
        "gguf",
        _theory(tensor.type),
        (rows, columns),
        Codes(load, 8, packed=False),
        "uint8",
        extra=lambda outputs, inputs: _values(tensor.type, load(), outputs, inputs, rows, heads),
        parts=[tensor.name],
    )


def _rotary_heads(name: str, settings: Mapping[str, Any]) -> int:
    architecture = settings.get("general.architecture")
    if architecture not in _ROTARY_ARCHITECTURES:
        return 0
    key = {"attn_q": "head_count", "attn_k": "head_count_kv"}.get(name.split(".")[-2] if "." in name else "")
    count = settings.get(f"{architecture}.attention.{key}") if key else None
    return count if isinstance(count, int) else 0


def _theory(kind: str) -> Scheme:
    if kind == "mxfp4":
        return mx("fp4-e2m1")
    name, width, symmetric = _THEORY[kind]
    return Scheme(FORMATS[name], (1, width), "float32", symmetric)


def _values(kind: str, stored: Array, outputs: Indices, inputs: Indices, rows: int, heads: int) -> Floats:
    """Decode the rows that are asked for: blocks are not taken apart into elements before."""
    if heads:
        head, inner = np.divmod(outputs, rows // heads)
        half = rows // heads // 2
        outputs = head * (rows // heads) + inner % half * 2 + inner // half
    needed, place = np.unique(outputs, return_inverse=True)
    return decode_rows(kind, stored[needed])[place.reshape(outputs.shape), inputs]
