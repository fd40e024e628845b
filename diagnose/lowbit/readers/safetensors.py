"""safetensors: a JSON header after eight bytes of its length, then the tensors' bytes.

Read by its header and memory mapping, so that types that numpy lacks, and files larger than memory, are no matter.
Source: the format's description in the README of huggingface/safetensors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from diagnose.lowbit.tensors import Array, Tensor, TensorError
from diagnose.lowbit.types import SAFETENSORS, SUB_BYTE

MOST_HEADER_BYTES = 100 << 20
"""As much as the format's own library accepts."""
_MOST_AXES = 64
"""As many as numpy has."""
_MOST_ELEMENTS = 1 << 56


def read_safetensors(path: Path) -> tuple[dict[str, Tensor], Mapping[str, str]]:
    """The tensors of one file in the order of their bytes, and its metadata. Raises TensorError."""
    size = path.stat().st_size
    header, begin = _header(path, size)
    metadata = header.pop("__metadata__", {})
    found = {}
    last = 0
    for name, entry in sorted(header.items(), key=lambda item: _offsets(item[1])):
        found[name] = _tensor(path, name, entry, begin, size)
        first, end = _offsets(entry)
        if first < last:
            raise TensorError(f"{path}: the header lays {name!r} over another tensor")
        last = end
    return found, metadata if isinstance(metadata, dict) else {}


def _header(path: Path, size: int) -> tuple[dict[str, Any], int]:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(MOST_HEADER_BYTES, size - 8):
            raise TensorError(f"{path}: the header of a safetensors file is missing or damaged")
        try:
            header = json.loads(file.read(length))
        except (ValueError, RecursionError) as error:
            raise TensorError(f"{path}: the header is no JSON: {error}") from error
    if not isinstance(header, dict):
        raise TensorError(f"{path}: the header is no JSON object")
    return header, 8 + length


def _offsets(entry: Any) -> tuple[int, int]:
    offsets = entry.get("data_offsets") if isinstance(entry, dict) else None
    return (offsets[0], offsets[1]) if _whole(offsets) and len(offsets) == 2 else (-1, -1)


def _whole(numbers: Any) -> TypeGuard[list[int]]:
    return isinstance(numbers, list) and all(type(number) is int for number in numbers)


def _tensor(path: Path, name: str, entry: Any, begin: int, size: int) -> Tensor:
    first, last = _offsets(entry)
    told = entry if isinstance(entry, dict) else {}
    kind, shape = told.get("dtype"), tuple(told["shape"]) if _whole(told.get("shape")) else None
    if not isinstance(kind, str) or shape is None or len(shape) > _MOST_AXES:
        raise TensorError(f"{path}: the header's entry for {name!r} is damaged")
    if kind in SUB_BYTE:
        bits = prod(shape) * SUB_BYTE[kind]
        shape, dtype, stored = (-(-bits // 8),), np.dtype(np.uint8), kind.lower()
    elif kind in SAFETENSORS:
        dtype = SAFETENSORS[kind]
        stored = dtype.name
    else:
        raise TensorError(f"{path}: {name!r} is of type {kind!r}, which is unknown here")
    if min(shape, default=0) < 0 or prod(max(length, 1) for length in shape) >= _MOST_ELEMENTS:
        raise TensorError(f"{path}: the header's entry for {name!r} is damaged")
    if last - first != prod(shape) * dtype.itemsize:
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
