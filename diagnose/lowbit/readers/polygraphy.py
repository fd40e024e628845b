"""Inputs and outputs that Polygraphy saves with `--save-inputs` and `--save-outputs`: JSON with arrays in base64.

An array stands as the bytes of a `.npy` file under the key `array`. Source: `polygraphy/json/serde.py` of
NVIDIA/TensorRT.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diagnose.lowbit.readers.numpy_files import array_of
from diagnose.lowbit.tensors import Array, Tensor, TensorError


def read_polygraphy(path: Path) -> dict[str, Tensor]:
    """The arrays by name: of the first runner and its first iteration where there are several. Raises TensorError."""
    try:
        document = json.loads(path.read_bytes())
        found: dict[str, Tensor] = {}
        for name, array in _arrays(document, ""):
            if name and name not in found:
                found[name] = Tensor(name, array.shape, array.dtype.name, lambda array=array: array, str(path))  # type: ignore[misc]
    except (ValueError, binascii.Error, RecursionError, EOFError) as error:
        raise TensorError(f"{path}: no saved outputs that can be read: {error}") from error
    if not found:
        raise TensorError(f"{path}: the JSON holds no arrays as Polygraphy saves them")
    return found


def _arrays(node: Any, name: str) -> Iterator[tuple[str, Array]]:
    if isinstance(node, list):
        for item in node:
            yield from _arrays(item, name)
    elif isinstance(node, dict):
        encoded = node.get("array")
        if isinstance(encoded, str):
            yield name, array_of(base64.b64decode(encoded))
            return
        for key, value in node.items():
            # Wrappers between a tensor's name and its array have keys of their own.
            yield from _arrays(value, name if key in _WRAPPERS else key)


_WRAPPERS = frozenset({"values", "arr", "outputs", "lst", "_dct", "dct"})
