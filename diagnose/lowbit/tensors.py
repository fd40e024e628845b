"""Sets of named tensors that are read only when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Array = NDArray[Any]


class TensorError(Exception):
    """A set of tensors cannot be read; the text says why and what would help."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor. `load` gives its stored values, mapped into memory where the file allows, anew at each call.

    A mapping lives as long as the array, so that memory stays that of the tensors in use.
    """

    name: str
    shape: tuple[int, ...]
    type: str
    """Name of the stored type as numpy and ml_dtypes spell it, or a block type of GGUF such as `q4_k`."""
    load: Callable[[], Array]
    path: str
    """File that holds it."""

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    def matrix(self) -> Array:
        """The stored values as rows of the last axis; a vector is one column, so that its elements are channels."""
        values = self.load()
        if values.ndim == 0:
            return values.reshape(1, 1)
        return values.reshape(prod(values.shape[:-1]), values.shape[-1]) if values.ndim > 1 else values.reshape(-1, 1)

    def floats(self) -> Floats:
        """All values as float32."""
        return as_floats(self.load())


_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def as_floats(values: Array) -> Floats:
    """Values of any numeric type as float32; beyond its range they become infinite."""
    if values.dtype == np.float32:
        return values
    if values.dtype == _BFLOAT16:
        # The upper half of a float32: several times faster than the conversion that the type itself offers.
        return (values.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(np.float32)


def rows_of(tensor: Tensor) -> Callable[[], Array]:
    """The tensor as a matrix, leading axes (experts) taken together."""

    def load() -> Array:
        values = tensor.load()
        return values.reshape(prod(values.shape[:-1]), values.shape[-1])

    return load


@dataclass(frozen=True)
class TensorSet(Mapping[str, Tensor]):
    """Tensors by name, in the order of computation as far as the input tells it."""

    path: str
    tensors: Mapping[str, Tensor]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`config.json` beside a checkpoint, or the metadata of the file."""
    order: Sequence[str] | None = None
    """Names in the order of computation, where a manifest tells it."""
    problems: Sequence[str] = ()
    """Sentences on what could not be read."""

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)
