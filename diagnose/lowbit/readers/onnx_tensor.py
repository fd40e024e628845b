"""`TensorProto` files (`output_0.pb`), as ONNX Runtime's tests and tools save inputs and outputs.

Read by the wire format of protocol buffers, so that the ONNX package is not needed. Source: `onnx.proto`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from diagnose.lowbit.tensors import Array, Tensor, TensorError
from diagnose.lowbit.types import ONNX

_DIMS, _TYPE, _NAME, _RAW, _EXTERNAL = 1, 2, 8, 9, 13
_REPEATED: dict[int, np.dtype[Any]] = {4: np.dtype("<f4"), 10: np.dtype("<f8")}
_VARINTS = (5, 7, 11)


def read_onnx_tensor(path: Path) -> Tensor:
    """The tensor of a file; its name is the file's where it has none. Raises TensorError."""
    try:
        name, values = _parse(path.read_bytes())
    except (IndexError, ValueError, KeyError) as error:
        raise TensorError(f"{path}: no ONNX tensor that can be read") from error
    return Tensor(name or path.stem, values.shape, values.dtype.name, lambda: values, str(path))


def _parse(data: bytes) -> tuple[str, Array]:
    shape: list[int] = []
    kind, name, raw = 0, "", b""
    numbers: list[Array] = []
    for field, value in _fields(data):
        if field == _DIMS:
            shape += _varints(value) if isinstance(value, bytes) else [value]
        elif field == _TYPE and isinstance(value, int):
            kind = value
        elif field == _NAME and isinstance(value, bytes):
            name = value.decode("utf-8", "replace")
        elif field == _RAW and isinstance(value, bytes):
            raw = value
        elif field == _EXTERNAL:
            raise ValueError("external data")
        elif field in _REPEATED and isinstance(value, bytes):
            numbers.append(np.frombuffer(value, _REPEATED[field]))
        elif field in _VARINTS:
            numbers.append(np.array(_varints(value) if isinstance(value, bytes) else [value], np.uint64).view(np.int64))
    dtype = ONNX[kind]
    if raw or not numbers:
        values: Array = np.frombuffer(raw, dtype)
    elif dtype.itemsize <= 2 and dtype.kind not in "iub" and numbers[0].dtype == np.int64:
        # Floats of 16 and 8 bits stand in int32_data by their bits.
        values = np.concatenate(numbers).astype(f"u{dtype.itemsize}").view(dtype)
    else:
        values = np.concatenate(numbers).astype(dtype)
    if values.size != prod(shape):
        raise ValueError("size")
    return name, values.reshape(shape)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        length = {1: 8, 5: 4}.get(wire)
        if length is None:
            if wire != 2:
                raise ValueError("wire type")
            length, at = _varint(data, at)
        if at + length > len(data):
            raise IndexError(at)
        yield key >> 3, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value & (1 << 64) - 1, at
        if shift > 63:
            raise ValueError("number")


def _varints(data: bytes) -> list[int]:
    values, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        values.append(value)
    return values
