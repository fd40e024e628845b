"""safetensors: a JSON header after eight bytes of its length, then the tensors' bytes.

Read by its header and memory mapping, so that types that numpy lacks, and files larger than memory, are no matter.
Source: the format's description in the README of huggingface/safetensors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from diagnose.lowbit.tensors import Array, Tensor, TensorError
from diagnose.lowbit.types import SAFETENSORS, SUB_BYTE

_MOST_HEADER_BYTES = 100 << 20
"""As much as the format's own library accepts."""


def read_safetensors(path: Path) -> tuple[dict[str, Tensor], Mapping[str, str]]:
    """The tensors of one file in the order of their bytes, and its metadata. Raises TensorError."""
    size = path.stat().st_size
    header, begin = _header(path, size)
    metadata = header.pop("__metadata__", {})
    found = {}
    for name, entry in sorted(header.items(), key=lambda item: _offset(item[1])):
        tensor = _tensor(path, name, entry, begin, size)
        found[name] = tensor
    return found, metadata if isinstance(metadata, dict) else {}


def _header(path: Path, size: int) -> tuple[dict[str, Any], int]:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(_MOST_HEADER_BYTES, size - 8):
            raise TensorError(f"{path}: the header of a safetensors file is missing or damaged")
        try:
            header = json.loads(file.read(length))
        except (ValueError, RecursionError) as error:
            raise TensorError(f"{path}: the header is no JSON: {error}") from error
    if not isinstance(header, dict):
        raise TensorError(f"{path}: the header is no JSON object")
    return header, 8 + length


def _offset(entry: Any) -> int:
    offsets = entry.get("data_offsets") if isinstance(entry, dict) else None
    return offsets[0] if isinstance(offsets, list) and offsets and isinstance(offsets[0], int) else -1


def _tensor(path: Path, name: str, entry: Any, begin: int, size: int) -> Tensor:
    try:
        kind, shape = entry["dtype"], tuple(int(length) for length in entry["shape"])
        first, last = (int(offset) for offset in entry["data_offsets"])
    except (TypeError, KeyError, ValueError) as error:
        raise TensorError(f"{path}: the header's entry for {name!r} is damaged") from error
    if kind in SUB_BYTE:
        bits = prod(shape) * SUB_BYTE[kind]
        shape, dtype, stored = (-(-bits // 8),), np.dtype(np.uint8), kind.lower()
    elif kind in SAFETENSORS:
        dtype = SAFETENSORS[kind]
        stored = dtype.name
    else:
        raise TensorError(f"{path}: {name!r} is of type {kind!r}, which is unknown here")
    if min(shape, default=0) < 0 or last - first != prod(shape) * dtype.itemsize:
        raise TensorError(f"{path}: the header's entry for {name!r} contradicts itself")
    if first < 0 or begin + last > size:
        raise TensorError(f"{path}: the file ends before {name!r} does; it was cut off, or copied only in part")
    return Tensor(name, shape, stored, lambda: mapped(path, dtype, shape, begin + first), str(path))


def mapped(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int) -> Array:
    """A part of a file, mapped; read-only."""
    if prod(shape) == 0:
        return np.zeros(shape, dtype)
    bytes_ = np.memmap(path, np.uint8, mode="r", offset=offset, shape=(prod(shape) * dtype.itemsize,))
    return bytes_.view(np.ndarray).view(dtype).reshape(shape)
