"""One quantised weight beside the original: as it is said to be read, and, where that fails, otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, log10

import numpy as np

from diagnose.lowbit.codes import Indices
from diagnose.lowbit.encoded import Encoded, Reading
from diagnose.lowbit.formats import FORMATS, Scheme, expected_sqnr_db, quantised, sqnr_db
from diagnose.lowbit.hypotheses import Hypothesis, hypotheses
from diagnose.lowbit.metrics import Metrics, compare
from diagnose.lowbit.sampling import FEWEST_ROWS, sample_rows
from diagnose.lowbit.scale_fit import fitted
from diagnose.lowbit.tensors import Floats, Tensor, as_floats

_SCREEN_ELEMENTS, _PIECE_ELEMENTS = 1 << 14, 1 << 20
FLOOR_MARGIN_DB = 3.0
"""So close to the theory a weight is at its floor: scales may be optimised or rounded."""
CALIBRATED_MARGIN_DB = 6.0
"""For integers of few bits: GPTQ and AWQ give up error of weights for less error of outputs."""
_LEAST_GAIN_DB = 3.0
"""A reading must gain as much; no wrong reading of a sound weight gains anything."""
_SUSPICIOUS_DB = 2.0
"""From this gap on other readings are tried."""
_BLOCK_ROWS = 4
_FINITE = 0.99
_CONFIRMED = 4
"""Readings that are tried on the whole sample after the screening."""
_FORMAT_OF_ELEMENT = {"e5m2": "fp8-e5m2", "e5m2fnuz": "fp8-e5m2", "e4m3fn": "fp8-e4m3", "e4m3fnuz": "fp8-e4m3"}
"""Formats that have another floor than the one that the checkpoint names."""


class Original:
    """Rows of the reference of one weight: of several tensors laid end to end, or of a part of one."""

    def __init__(self, tensors: Sequence[Tensor], shape: tuple[int, int], part: tuple[int, int] | None = None) -> None:
        self._matrices = [
            tensor.matrix() if len(tensor.shape) > 1 else tensor.load().reshape(1, -1) for tensor in tensors
        ]
        self._first = part[0] if part else 0
        self._transposed = len(tensors) == 1 and part is None and self._matrices[0].shape == shape[::-1] != shape
        self._begins = np.cumsum([0, *(len(matrix) for matrix in self._matrices)])

    def rows(self, outputs: Indices) -> Floats:
        """Whole rows as float32."""
        if self._transposed:
            return np.ascontiguousarray(as_floats(self._matrices[0][:, outputs]).T)
        if len(self._matrices) == 1:
            return as_floats(self._matrices[0][outputs + self._first])
        which = np.searchsorted(self._begins, outputs, side="right") - 1
        rows = [self._matrices[at][row - self._begins[at]] for at, row in zip(which, outputs, strict=True)]
        return as_floats(np.stack(rows))

    def largest(self) -> float:
        """Largest magnitude of all, read in pieces."""
        return max(float(np.abs(as_floats(matrix[at : at + 256])).max(initial=0))
                   for matrix in self._matrices for at in range(0, len(matrix), 256))  # fmt: skip


@dataclass(frozen=True)
class WeightResult:
    """What one weight showed."""

    name: str
    scheme: str
    format: str
    granularity: str
    elements: int
    """Elements looked at."""
    sqnr_db: float | None
    expected_sqnr_db: float | None
    margin_db: float
    metrics: Metrics
    """Of the sample, read as said."""
    found: Hypothesis | None = None
    found_sqnr_db: float | None = None
    note: str | None = None
    """`smoothed`: input channels were scaled and the layer before makes up for it."""
    finer: str | None = None
    """A finer granularity, and what it would gain."""
    finer_gain_db: float = 0.0

    @property
    def at_floor(self) -> bool:
        """Whether it is as close to the original as its format allows, read as said."""
        return self.note == "smoothed" or reaches(self.sqnr_db, self.expected_sqnr_db, self.margin_db)


def reaches(sqnr: float | None, expected: float | None, margin: float) -> bool:
    """Whether an SQNR is within a margin of the expected one; None stands for no error."""
    return sqnr is None or (expected is not None and sqnr >= expected - margin)


class Examiner:
    """Examines the weights of a checkpoint one by one; remembers which readings explained others before."""

    def __init__(self, head_rows: int = 0) -> None:
        self._head_rows = head_rows
        self._known: list[Hypothesis] = []

    def examine(
        self,
        encoded: Encoded,
        original: Original,
        others: Sequence[Encoded] = (),
        smoothed: Callable[[], bool] = lambda: False,
    ) -> WeightResult:
        """Compare a sample of rows. `smoothed` tells whether the layer before makes up for scaled input channels."""
        outputs = sample_rows(*encoded.shape)
        reference = original.rows(outputs)
        inputs = np.arange(encoded.shape[1])
        trial = _Trial(encoded, reference, outputs, inputs)
        as_said = encoded.rows(outputs)
        metrics = compare(reference, as_said)
        measured = metrics.sqnr_db if not metrics.nan_count + metrics.inf_count else -inf
        theory = encoded.theory
        expected = _expected(theory, reference, original, encoded.shape[0])
        margin = CALIBRATED_MARGIN_DB if theory.format.dtype is None and theory.format.bits <= 4 else FLOOR_MARGIN_DB
        finer, gain = _finer(theory, reference, expected)
        result = WeightResult(
            encoded.name, encoded.scheme, theory.format.name, theory.granularity, reference.size,
            measured, expected, margin, metrics, finer=finer, finer_gain_db=gain,
        )  # fmt: skip
        if reaches(measured, expected, _SUSPICIOUS_DB) or expected is None:
            return result
        best = self._best(trial, others)
        if best is not None:
            hypothesis, sqnr = best
            floor: float | None = expected
            if hypothesis.block is not None:
                # The sample holds only some of the values that share a scale by this reading.
                floor = expected_sqnr_db(reference, replace(theory, block=hypothesis.block))
            elif (other := _FORMAT_OF_ELEMENT.get(hypothesis.reading.element or "")) is not None:
                # A coarser format has a lower floor than the one that the checkpoint names.
                floor = expected_sqnr_db(reference, replace(theory, format=FORMATS[other]))
            allowed = margin if hypothesis.block is None else CALIBRATED_MARGIN_DB
            if reaches(sqnr, floor, allowed) and _gain(measured, sqnr) >= _LEAST_GAIN_DB:
                self._remember(hypothesis)
                return replace(result, found=hypothesis, found_sqnr_db=sqnr, expected_sqnr_db=floor)
        if result.at_floor:
            return result
        scaled = fitted(encoded, reference, as_said)
        before = scaled.unsmoothed
        if reaches(sqnr_db(before, as_said), expected_sqnr_db(before, theory), margin) and smoothed():
            return replace(result, note="smoothed")
        gained = _gain(measured, scaled.sqnr_db)
        if scaled.found is not None and reaches(scaled.sqnr_db, expected, margin) and gained >= _LEAST_GAIN_DB:
            return replace(result, found=scaled.found, found_sqnr_db=scaled.sqnr_db)
        return result

    def _best(self, trial: _Trial, others: Sequence[Encoded]) -> tuple[Hypothesis, float | None] | None:
        small = trial.smaller()
        candidates: Iterable[Hypothesis] = (
            *(known for known in self._known if known.reading.scale_from is None),
            *hypotheses(trial.encoded, others, self._head_rows),
        )
        scored = []
        for at, hypothesis in enumerate(candidates):
            sqnr = small.sqnr(hypothesis.reading)
            scored.append((-(inf if sqnr is None else sqnr), at, hypothesis))
            if hypothesis.reading.scale_from is not None:
                hypothesis.reading.scale_from.release()
        confirmed = []
        for _, at, hypothesis in sorted(scored, key=lambda item: item[:2])[:_CONFIRMED]:
            sqnr = trial.sqnr(hypothesis.reading)
            # Of readings that do equally well the simpler one, which comes first.
            confirmed.append((round(-(inf if sqnr is None else sqnr), 1), at, hypothesis, sqnr))
        if not confirmed:
            return None
        _, _, hypothesis, sqnr = min(confirmed, key=lambda item: item[:2])
        return hypothesis, sqnr

    def _remember(self, hypothesis: Hypothesis) -> None:
        if hypothesis.id not in {known.id for known in self._known}:
            self._known.append(hypothesis)


class _Trial:
    """A sample of a weight and its original, to read in any way."""

    def __init__(self, encoded: Encoded, reference: Floats, outputs: Indices, inputs: Indices) -> None:
        self.encoded, self.reference = encoded, reference
        self.outputs, self.inputs = outputs, inputs

    def read(self, reading: Reading) -> Floats:
        """The sample by a reading."""
        return self.encoded.read(self.outputs[:, None], self.inputs[None, :], reading)

    def sqnr(self, reading: Reading) -> float | None:
        """Its SQNR; -inf where the reading makes no sense for the weight."""
        try:
            values = self.read(reading)
        except (IndexError, ValueError):
            return -inf
        finite = np.isfinite(values)
        if finite.mean() < _FINITE:
            return -inf
        # The code of E4M3's negative zero is NaN in the FNUZ kind.
        return sqnr_db(self.reference, np.where(finite, values, 0))

    def smaller(self) -> _Trial:
        """A part of the sample: rows spread over it, inputs from all over the width."""
        rows = np.linspace(0, len(self.outputs) - 1, min(len(self.outputs), FEWEST_ROWS)).astype(np.intp)
        count = min(len(self.inputs), _SCREEN_ELEMENTS // len(rows))
        columns = np.linspace(0, len(self.inputs) - 1, count).astype(np.intp)
        return _Trial(self.encoded, self.reference[np.ix_(rows, columns)], self.outputs[rows], self.inputs[columns])


def _gain(before: float | None, after: float | None) -> float:
    """Gain in dB, where None stands for no error."""
    if before is None:
        return 0.0
    return inf if after is None else after - before


def _expected(theory: Scheme, reference: Floats, original: Original, high: int) -> float | None:
    finite = np.where(np.isfinite(reference), reference, 0)
    rows, _ = theory.block
    if rows > 1:
        # Rows of the sample are far apart; some whole rows of blocks stand for all.
        firsts = np.unique(np.linspace(0, max(high // rows - 1, 0), _BLOCK_ROWS).astype(np.intp)) * rows
        outputs = (firsts[:, None] + np.arange(rows)).reshape(-1)
        blocks = original.rows(outputs[outputs < high])
        return expected_sqnr_db(np.where(np.isfinite(blocks), blocks, 0), theory)
    if theory.block == (0, 0) and theory.format.dtype is None and theory.scale != "none":
        # The step of a tensor goes by its largest value, which may be in a row that is not in the sample.
        padded = np.zeros((len(finite) + 1, finite.shape[1]), np.float32)
        padded[:-1], padded[-1, 0] = finite, original.largest()
        return sqnr_db(finite, quantised(padded, theory)[:-1])
    return expected_sqnr_db(finite, theory)


def _finer(theory: Scheme, reference: Floats, expected: float | None) -> tuple[str | None, float]:
    """What a scale for each output, or for each group, would gain over one for more."""
    if expected is None or theory.format.dtype is not None or theory.scale == "none":
        return None, 0.0
    if theory.block == (0, 0):
        finer = replace(theory, block=(1, 0))
    elif theory.block == (1, 0) and theory.format.bits <= 4 and reference.shape[1] > 128:
        finer = replace(theory, block=(1, 128))
    else:
        return None, 0.0
    better = expected_sqnr_db(reference, finer)
    return finer.granularity, 0.0 if better is None else better - expected


def sqnr_of_all(encoded: Encoded, original: Original) -> float | None:
    """SQNR over every element, row by row in pieces."""
    high, wide = encoded.shape
    step = max(_PIECE_ELEMENTS // max(wide, 1), 1)
    signal = noise = 0.0
    for first in range(0, high, step):
        outputs = np.arange(first, min(first + step, high))
        reference, low = original.rows(outputs).reshape(-1), encoded.rows(outputs).reshape(-1)
        low -= reference
        signal += float(reference @ reference)
        noise += float(low @ low)
    if noise == 0.0:
        return None
    return 10 * log10(signal / noise) if signal > 0.0 and noise < inf else -inf
