"""Codes in their packed storage, and the ways in which a writer and a reader may order them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from diagnose.lowbit.formats import NF4
from diagnose.lowbit.tensors import Array, Floats

Indices = NDArray[np.intp]

AWQ_ORDER = (0, 4, 1, 5, 2, 6, 3, 7)
"""Nibble of a 32-bit word at which each of eight consecutive outputs stands: AutoAWQ's `AWQ_REVERSE_ORDER`."""


def _place(order: tuple[int, ...]) -> Callable[[Indices, int, int], tuple[Indices, Indices]]:
    table = np.asarray(order)

    def locate(index: Indices, per: int, _: int) -> tuple[Indices, Indices]:
        # An order of two nibbles holds for every byte of a longer word.
        inner = index % len(table)
        return index // per, index % per - inner + table[inner]

    return locate


def _linear(index: Indices, per: int, _: int) -> tuple[Indices, Indices]:
    return index // per, index % per


def _reversed(index: Indices, per: int, _: int) -> tuple[Indices, Indices]:
    return index // per, per - 1 - index % per


def _split(index: Indices, per: int, length: int) -> tuple[Indices, Indices]:
    """The first part of the axis in the lowest bits of all words, the next in the next ones."""
    words = length // per
    return index % words, index // words


def _split_block(index: Indices, per: int, _: int) -> tuple[Indices, Indices]:
    """The same within blocks of 32 values, as GGUF has it."""
    words = 32 // per
    return index // 32 * words + index % words, index % 32 // words


ORDERS: Mapping[str, Callable[[Indices, int, int], tuple[Indices, Indices]]] = MappingProxyType(
    {
        "linear": _linear,
        "reversed": _reversed,
        "nibbles-swapped": _place((1, 0)),
        "awq": _place(AWQ_ORDER),
        "awq-inverse": _place((0, 2, 4, 6, 1, 3, 5, 7)),
        "halves": _split,
        "halves-of-32": _split_block,
    }
)
"""Where the value at an index of the packed axis stands: word and place in it."""


_WITHIN_WORD: Mapping[str, Callable[[int], list[int]]] = MappingProxyType(
    {"linear": lambda per: list(range(per)), "nibbles-swapped": lambda per: [at ^ 1 for at in range(per)]}
)
"""Place in its word of each of the values of a word, for the orders that keep within one."""


@dataclass(frozen=True)
class Codes:
    """Codes of a matrix (outputs, inputs), as they are stored."""

    load: Callable[[], Array]
    """The stored matrix: words of several codes, or one code an element."""
    bits: int
    order: str = "linear"
    packed: bool = True
    along_outputs: bool = False
    """Whether words hold consecutive outputs rather than inputs."""
    inputs_first: bool = False
    """Whether the stored matrix is (inputs, outputs), as GPTQ and AWQ have it."""
    _kept: list[Array] = field(default_factory=list, repr=False, compare=False)

    def stored(self) -> Array:
        """The stored matrix, mapped once."""
        if not self._kept:
            self._kept.append(self.load())
        return self._kept[0]

    def release(self) -> None:
        """Let go of the mapping."""
        self._kept.clear()

    @property
    def per(self) -> int:
        """Codes of a word."""
        return self.stored().dtype.itemsize * 8 // self.bits if self.packed else 1

    def at(self, outputs: Indices, inputs: Indices, order: str | None = None, turned: bool = False) -> Array:
        """Codes where two index arrays, broadcast together, point to.

        `order` takes the place of the stored order. `turned` reads words as if they held codes along the other axis:
        the same buffer, its shape otherwise.
        """
        words = self.stored()
        if not self.packed:
            return words[(inputs, outputs) if self.inputs_first else (outputs, inputs)]
        per = self.per
        if turned:
            words = words.reshape(self._turned_shape())
        along_outputs = self.along_outputs is not turned
        axis = int(along_outputs is self.inputs_first)
        word, place = ORDERS[order or self.order](outputs if along_outputs else inputs, per, words.shape[axis] * per)
        at = (word, inputs) if along_outputs else (outputs, word)
        shifts = (place * self.bits).astype(words.dtype)
        codes: Array = words[at[::-1] if self.inputs_first else at] >> shifts
        codes &= words.dtype.type((1 << self.bits) - 1)
        return codes

    def rows(self, outputs: Indices) -> Array:
        """Codes of whole rows in the stored order: the same as `at`, several times faster for usual orders."""
        words = self.stored()
        if not self.packed or self.order not in _WITHIN_WORD or self.along_outputs:
            wide = words.shape[int(not self.inputs_first)] * (1 if self.along_outputs else self.per)
            return self.at(outputs[:, None], np.arange(wide)[None, :])
        chosen = np.ascontiguousarray(words[:, outputs].T if self.inputs_first else words[outputs])
        shifts = np.asarray(_WITHIN_WORD[self.order](self.per), chosen.dtype) * chosen.dtype.type(self.bits)
        codes: Array = chosen[:, :, None] >> shifts
        codes &= chosen.dtype.type((1 << self.bits) - 1)
        return codes.reshape(len(outputs), -1)

    def _turned_shape(self) -> tuple[int, int]:
        """Of the same buffer with its words along the other axis."""
        first, second = self.stored().shape
        if self.along_outputs is self.inputs_first:
            return first // self.per, second * self.per
        return first * self.per, second // self.per

    def can_turn(self) -> bool:
        """Whether the buffer has a shape with the other axis packed."""
        return self.packed and self.stored().shape[int(self.along_outputs is not self.inputs_first)] % self.per == 0


def _table(dtype: type) -> Floats:
    return np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)


def _integers(bits: int, signed: bool) -> Floats:
    codes = np.arange(256) & ((1 << bits) - 1)
    return np.where(signed & (codes >> (bits - 1) > 0), codes - (1 << bits), codes).astype(np.float32)


def _codebook(values: tuple[float, ...]) -> Floats:
    return np.resize(np.asarray(values, np.float32), 256)


_BNB_FP4 = (0.0, 0.0052083333, 0.6666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25)

ELEMENTS: Mapping[str, Floats] = MappingProxyType(
    {
        **{f"uint{bits}": _integers(bits, False) for bits in (2, 4, 8)},
        **{f"int{bits}": _integers(bits, True) for bits in (2, 4, 8)},
        "e4m3fn": _table(ml_dtypes.float8_e4m3fn),
        "e4m3fnuz": _table(ml_dtypes.float8_e4m3fnuz),
        "e5m2": _table(ml_dtypes.float8_e5m2),
        "e5m2fnuz": _table(ml_dtypes.float8_e5m2fnuz),
        "e2m1": np.resize(np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32), 256),
        "nf4": _codebook(NF4),
        "bnb-fp4": _codebook((*_BNB_FP4, *(-value for value in _BNB_FP4))),
    }
)
"""What each code of at most eight bits stands for."""
