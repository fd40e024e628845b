"""A quantised weight of a checkpoint, and ways to read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from diagnose.lowbit.codes import ELEMENTS, Codes, Indices
from diagnose.lowbit.formats import FORMATS, Scheme
from diagnose.lowbit.tensors import Array, Floats, as_floats


@dataclass(frozen=True)
class Reading:
    """How to read an encoded weight otherwise than its checkpoint says. The defaults read it as said."""

    element: str | None = None
    """Another type of element, by its name in `codes.ELEMENTS`."""
    order: str | None = None
    """Another order of the codes in their words."""
    zero_order: str | None = None
    """The same for packed zero points."""
    turned: bool = False
    """Words hold codes along the other axis."""
    transposed: bool = False
    """The matrix is stored with outputs and inputs exchanged."""
    reshaped: bool = False
    """The same, with the shape of the matrix as it should be: only the buffer is in the other order."""
    rows: str | None = None
    """Another order of the outputs: `rotary`, `rotary-inverse`, `halves-swapped`."""
    head_rows: int = 0
    """Outputs of a head, for the rotary orders."""
    scale_index: str | None = None
    """Which scale belongs to which element: see `_scale_index`."""
    scale_use: str | None = None
    """`multiply`, `divide` or `ignore`."""
    scale_factor: float = 1.0
    scale_type: str | None = None
    """Another type of the bits of the scales."""
    scale_from: Encoded | None = None
    """Take the scales of this weight."""
    zero: str | None = None
    """`plus-one`, `minus-one`, `ignore`, `doubled`, `middle` of the codes."""
    overall_use: str | None = None
    """As `scale_use`, for the factor of the whole tensor."""
    input_order: bool = True
    """Whether the order of the inputs that the checkpoint holds (`g_idx`) is used."""


AS_SAID = Reading()


@dataclass(frozen=True)
class Encoded:
    """Where the parts of a quantised weight (outputs, inputs) are, and how its checkpoint says that they are read."""

    name: str
    scheme: str
    """`gptq`, `awq`, ..."""
    theory: Scheme
    """Format and granularity."""
    shape: tuple[int, int]
    codes: Codes
    element: str
    scales: Callable[[], Array] | None = None
    """Matrix of scales; None where there are none."""
    scale_inputs_first: bool = False
    """Whether the matrix of scales is (inputs, outputs)."""
    group: int = 0
    """Inputs of a group as the settings say, where that differs from what the shapes say."""
    scale_use: str = "multiply"
    scale_factor: float = 1.0
    zeros: Codes | None = None
    zero_offset: float = 0.0
    """Added to stored zero points; the zero point itself where none are stored."""
    overall: float | None = None
    """A factor of the whole tensor."""
    overall_use: str = "multiply"
    input_groups: Callable[[], Array] | None = None
    """Group of each input (`g_idx`)."""
    table: tuple[float, ...] = ()
    """The checkpoint's own table of elements."""
    extra: Callable[[Indices, Indices], Floats] | None = None
    """Decodes by itself, for block types that hold their scales within."""
    parts: Sequence[str] = ()
    """Names of the tensors that it is made of."""
    _kept: list[Floats] = field(default_factory=list, repr=False, compare=False)

    def scale_matrix(self, kind: str | None = None) -> Floats:
        """Scales as (outputs, inputs) blocks; `kind` gives their bits another type."""
        if self.scales is None:
            return np.ones((1, 1), np.float32)
        if kind is None and self._kept:
            return self._kept[0]
        stored = self.scales()
        matrix = stored.reshape(len(stored), -1) if stored.ndim else stored.reshape(1, 1)
        if kind is not None:
            matrix = np.ascontiguousarray(matrix).view(scale_type(kind))
        elif matrix.dtype == np.uint8:
            matrix = matrix.view(ml_dtypes.float8_e8m0fnu)
        values = as_floats(matrix.T if self.scale_inputs_first else matrix)
        if kind is None:
            self._kept.append(values)
        return values

    def release(self) -> None:
        """Let go of everything mapped or read."""
        self.codes.release()
        if self.zeros is not None:
            self.zeros.release()
        self._kept.clear()

    def read(self, outputs: Indices, inputs: Indices, reading: Reading = AS_SAID) -> Floats:
        """Values where two index arrays, broadcast together, point to."""
        outputs, inputs = self._moved(outputs, inputs, reading)
        if self.extra is not None:
            return self.extra(outputs, inputs) * np.float32(reading.scale_factor)
        codes = self.codes.at(outputs, inputs, reading.order, reading.turned)
        table = self._table() if reading.element is None else ELEMENTS[reading.element]
        values = table[codes.view(np.uint8) if codes.dtype.itemsize == 1 else codes]
        source = reading.scale_from or self
        scales = source.scale_matrix(reading.scale_type)
        row, column = self._scale_index(outputs, inputs, scales.shape, reading)
        values = values - self._zero(row, column, reading)
        with np.errstate(all="ignore"):
            values = _applied(
                values,
                self._scale_at(scales, row, column, outputs, inputs, reading),
                reading.scale_use or self.scale_use,
            )
            values = values * np.float32(self.scale_factor * reading.scale_factor)
            if self.overall is not None:
                values = _applied(values, np.float32(self.overall), reading.overall_use or self.overall_use)
        result: Floats = values.astype(np.float32, copy=False)
        return result

    def rows(self, outputs: Indices) -> Floats:
        """Values of whole rows, read as said: the same as `read`, faster where groups are of consecutive inputs."""
        wide = self.shape[1]
        inputs = np.arange(wide)[None, :]
        grid = self.scale_matrix().shape
        if self.extra is not None or self.input_groups is not None or self.group or wide % grid[1]:
            return self.read(outputs[:, None], inputs)
        codes = self.codes.rows(outputs)[:, :wide]
        if self.element.startswith("uint"):
            values = codes.astype(np.float32)
        else:
            values = self._table()[codes.view(np.uint8) if codes.dtype.itemsize == 1 else codes]
        values = values.reshape(len(outputs), grid[1], wide // grid[1])
        row, column = outputs[:, None] // -(-self.shape[0] // grid[0]), np.arange(grid[1])[None, :]
        zero = self._zero(row, column, AS_SAID)
        values -= zero[:, :, None] if isinstance(zero, np.ndarray) else zero
        factor = np.float32(self.scale_factor)
        with np.errstate(all="ignore"):
            if self.overall is not None:
                factor = _applied(factor, np.float32(self.overall), self.overall_use)
            scales = _applied(np.float32(1), self.scale_matrix()[row, column], self.scale_use) * factor
            values *= scales[:, :, None]
        return values.reshape(len(outputs), wide)

    def _table(self) -> Floats:
        return np.resize(np.asarray(self.table, np.float32), 256) if self.table else ELEMENTS[self.element]

    def _moved(self, outputs: Indices, inputs: Indices, reading: Reading) -> tuple[Indices, Indices]:
        high, wide = self.shape
        if reading.rows == "halves-swapped":
            outputs = (outputs + high // 2) % high
        elif reading.rows is not None:
            head, inner = np.divmod(outputs, reading.head_rows)
            half = reading.head_rows // 2
            inner = inner % 2 * half + inner // 2 if reading.rows == "rotary" else inner % half * 2 + inner // half
            outputs = head * reading.head_rows + inner
        if reading.transposed:
            return inputs, outputs
        if reading.reshaped:
            return np.divmod(inputs * high + outputs, wide)
        return outputs, inputs

    def _scale_index(
        self, outputs: Indices, inputs: Indices, grid: tuple[int, ...], reading: Reading
    ) -> tuple[Indices, Indices]:
        """Row and column of the scale of each element."""
        high, wide = -(-self.shape[0] // grid[0]), -(-self.shape[1] // grid[1])
        how = reading.scale_index or ""
        column = inputs // wide
        if how.startswith("group-"):
            column = np.minimum(inputs // int(how[6:]), grid[1] - 1)
        elif self.group and how != "by-shape":
            column = np.minimum(inputs // self.group, grid[1] - 1)
        if self.input_groups is not None and reading.input_order:
            column = self.input_groups()[inputs].astype(np.intp)
        row = outputs // high
        if how == "strided":
            column = inputs % grid[1]
        elif how in ("next", "previous"):
            column = (column + (1 if how == "next" else -1)) % grid[1]
        elif how.startswith("outputs-rolled-"):
            row = (row + grid[0] * int(how[-1]) // 8) % grid[0]
        elif how.startswith("inputs-rolled-"):
            column = (column + grid[1] * int(how[-1]) // 8) % grid[1]
        elif how == "other-axis-of-blocks":
            row, column = column, row
        return row, column

    def _scale_at(
        self, scales: Floats, row: Indices, column: Indices, outputs: Indices, inputs: Indices, reading: Reading
    ) -> Floats:
        if reading.scale_index == "other-axis":
            if scales.shape[1] == 1:
                row, column = inputs, np.zeros_like(inputs)
            else:
                # The buffer holds as many scales for groups that run along the outputs.
                flat = scales.T.reshape(1, -1) if self.scale_inputs_first else scales.reshape(1, -1)
                place = outputs // (self.shape[1] // scales.shape[1]) * self.shape[1] + inputs
                scales, row, column = flat, np.zeros_like(place), place
        elif reading.scale_index == "other-order":
            flat = scales.T.reshape(1, -1) if self.scale_inputs_first else scales.reshape(1, -1)
            place = row * scales.shape[1] + column if self.scale_inputs_first else column * scales.shape[0] + row
            scales, row, column = flat, np.zeros_like(place), place
        chosen: Floats = scales[row, column]
        return chosen

    def _zero(self, row: Indices, column: Indices, reading: Reading) -> Floats | np.float32:
        how = reading.zero
        middle = 2.0 ** (self.codes.bits - 1)
        if how == "ignore":
            return np.float32(0)
        if how == "middle":
            return np.float32(middle)
        zero: Floats | np.float32 = np.float32(self.zero_offset)
        if self.zeros is not None:
            zero = self.zeros.at(row, column, reading.zero_order).astype(np.float32) + np.float32(self.zero_offset)
        if how == "doubled":
            return zero * np.float32(2)
        return zero + np.float32({"plus-one": 1, "minus-one": -1}.get(how or "", 0))


def _applied(values: Any, scales: Any, use: str) -> Any:
    if use == "ignore":
        return values
    return values / scales if use == "divide" else values * scales


def scale_type(name: str) -> np.dtype[Any]:
    """numpy's type for the name of one that scales may have."""
    found: np.dtype[Any] = np.dtype(_SCALE_TYPES.get(name, name))
    return found


_SCALE_TYPES: dict[str, Any] = {
    "e8m0": ml_dtypes.float8_e8m0fnu,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "bfloat16": ml_dtypes.bfloat16,
}


def format_of(element: str) -> str:
    """Name of the format of an element's type."""
    return {
        "e4m3fn": "fp8-e4m3", "e4m3fnuz": "fp8-e4m3fnuz", "e5m2": "fp8-e5m2", "e5m2fnuz": "fp8-e5m2fnuz",
        "e2m1": "fp4-e2m1", "bnb-fp4": "fp4-e2m1",
    }.get(element, element.removeprefix("u"))  # fmt: skip


def theory(element: str, block: tuple[int, int], scale: str = "float32", symmetric: bool = True) -> Scheme:
    """The scheme that an element's type and granularity make."""
    return Scheme(FORMATS[format_of(element)], block, scale, symmetric)
