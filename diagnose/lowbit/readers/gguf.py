"""GGUF: a header of typed metadata and tensor entries, then aligned tensor data.

Source: the format's description, `docs/gguf.md` of ggml-org/ggml, versions 2 and 3, little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np

from diagnose.lowbit.readers.gguf_blocks import BLOCK_TYPES
from diagnose.lowbit.readers.safetensors import mapped
from diagnose.lowbit.tensors import Tensor, TensorError

_PLAIN: Mapping[int, np.dtype[Any]] = MappingProxyType(
    {
        0: np.dtype(np.float32),
        1: np.dtype(np.float16),
        24: np.dtype(np.int8),
        25: np.dtype(np.int16),
        26: np.dtype(np.int32),
        27: np.dtype(np.int64),
        28: np.dtype(np.float64),
        30: np.dtype(ml_dtypes.bfloat16),
    }
)
_SCALARS: Mapping[int, str] = MappingProxyType(
    {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
)
_STRING, _ARRAY = 8, 9
_MOST_STRING_BYTES, _MOST_ENTRIES = 64 << 20, 1 << 24
_KEPT_VALUES = 64
"""Longer arrays (vocabularies) are passed over."""


def read_gguf(path: Path) -> tuple[dict[str, Tensor], dict[str, Any], list[str]]:
    """Tensors, metadata, and sentences on tensors of types that are unknown here. Raises TensorError."""
    try:
        with path.open("rb") as file:
            return _read(path, file)
    except (struct.error, UnicodeDecodeError, OverflowError, MemoryError) as error:
        raise TensorError(f"{path}: the header of the GGUF file is cut off or damaged") from error


def _read(path: Path, file: BinaryIO) -> tuple[dict[str, Tensor], dict[str, Any], list[str]]:
    if file.read(4) != b"GGUF":
        raise TensorError(f"{path}: no GGUF file")
    version, tensors, entries = _scalar(file, "<I"), _scalar(file, "<Q"), _scalar(file, "<Q")
    if version in (2 << 24, 3 << 24):
        raise TensorError(f"{path}: big-endian GGUF is not read; write it anew as little-endian")
    if version not in (2, 3):
        raise TensorError(f"{path}: GGUF of version {version} is not read, only of 2 and 3; convert it anew")
    if max(tensors, entries) > _MOST_ENTRIES:
        raise OverflowError(tensors, entries)
    metadata = {_text(file): _value(file, _scalar(file, "<I")) for _ in range(entries)}
    described = [_entry(file) for _ in range(tensors)]
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or not 0 < alignment <= 1 << 20:
        raise TensorError(f"{path}: the alignment is damaged")
    begin = -(-file.tell() // alignment) * alignment
    size = path.stat().st_size
    found: dict[str, Tensor] = {}
    problems = []
    for name, shape, kind, offset in described:
        tensor, length = _tensor(path, name, shape, kind, begin + offset)
        if tensor is None:
            problems.append(f"{path}: {name} is of block type {kind}, which is not read")
        elif begin + offset + length > size:
            raise TensorError(f"{path}: the file ends before {name!r} does; it was cut off, or copied only in part")
        else:
            found[name] = tensor
    return found, metadata, problems


def _entry(file: BinaryIO) -> tuple[str, tuple[int, ...], int, int]:
    name = _text(file)
    dimensions = _scalar(file, "<I")
    if dimensions > 8:
        raise OverflowError(dimensions)
    shape = tuple(reversed([_scalar(file, "<Q") for _ in range(dimensions)]))
    return name, shape, _scalar(file, "<I"), _scalar(file, "<Q")


def _tensor(path: Path, name: str, shape: tuple[int, ...], kind: int, offset: int) -> tuple[Tensor | None, int]:
    if kind in _PLAIN:
        dtype = _PLAIN[kind]
        return (
            Tensor(name, shape, dtype.name, lambda: mapped(path, dtype, shape, offset), str(path)),
            prod(shape) * dtype.itemsize,
        )
    if kind not in BLOCK_TYPES or not shape or shape[-1] % BLOCK_TYPES[kind].values:
        return None, 0
    block = BLOCK_TYPES[kind]
    stored = (*shape[:-1], shape[-1] // block.values * block.bytes)
    load = lambda: mapped(path, np.dtype(np.uint8), stored, offset)  # noqa: E731
    return Tensor(name, shape, block.name, load, str(path)), prod(stored)


def _scalar(file: BinaryIO, code: str) -> Any:
    return struct.unpack(code, file.read(struct.calcsize(code)))[0]


def _text(file: BinaryIO) -> str:
    length = _scalar(file, "<Q")
    if length > _MOST_STRING_BYTES:
        raise OverflowError(length)
    data = file.read(length)
    if len(data) < length:
        raise OverflowError(length)
    return data.decode("utf-8", "replace")


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _text(file)
    if kind != _ARRAY:
        if kind not in _SCALARS:
            raise OverflowError(kind)
        return _scalar(file, _SCALARS[kind])
    inner, count = _scalar(file, "<I"), _scalar(file, "<Q")
    if inner == _ARRAY or count > _MOST_ENTRIES:
        raise OverflowError(count)
    if count <= _KEPT_VALUES:
        return [_value(file, inner) for _ in range(count)]
    if inner == _STRING:
        for _ in range(count):
            _text(file)
    elif inner in _SCALARS:
        file.seek(struct.calcsize(_SCALARS[inner]) * count, 1)
    else:
        raise OverflowError(inner)
    return None
