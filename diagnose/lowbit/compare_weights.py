"""A checkpoint beside the original: every weight examined, the outcome as facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from diagnose.facts import Fact
from diagnose.facts import lowbit as facts
from diagnose.lowbit.checkpoint import Checkpoint, cast_of, open_checkpoint
from diagnose.lowbit.comparison import (
    Comparison,
    Progress,
    error_fact,
    finite,
    pairing_fact,
    point_of,
    summary,
    usual_place,
)
from diagnose.lowbit.encoded import Encoded, Reading
from diagnose.lowbit.formats import expected_sqnr_db
from diagnose.lowbit.hypotheses import Hypothesis
from diagnose.lowbit.metrics import Metrics, compare
from diagnose.lowbit.names import named
from diagnose.lowbit.pairing import Pair, pair
from diagnose.lowbit.reference import decoded, is_quantised
from diagnose.lowbit.sampling import sample_rows
from diagnose.lowbit.scales import scale_facts
from diagnose.lowbit.tensors import Tensor, TensorError, TensorSet, as_floats
from diagnose.lowbit.weight_facts import Compared, weight_checks, weight_readings
from diagnose.lowbit.weights import FLOOR_MARGIN_DB, Examiner, Original, WeightResult, sqnr_of_all

_SAME = 0.95
"""Cosine from which on two weights are one."""
_CHANGED = 0.01
_PROBED_ROWS = 8


def compare_checkpoints(
    reference: TensorSet,
    low: TensorSet,
    mapping: Mapping[str, str] | None = None,
    progress: Progress = lambda _: None,
    every_element: bool = False,
) -> Comparison:
    """Examine all weights that both have. Raises TensorError where they have none in common, or are exchanged."""
    checkpoint, original = open_checkpoint(low), open_checkpoint(reference)
    if is_quantised(original):
        if not is_quantised(checkpoint):
            raise TensorError(
                f"{reference.path} is quantised and {low.path} is not: name the original first, then its quantised form"
            )
        reference = decoded(original)
    return _Comparing(reference, checkpoint, mapping, progress, every_element).run()


def _measured(result: WeightResult) -> Metrics:
    """The measures of a weight; units of the last place mean nothing for decoded values."""
    sqnr = finite(result.sqnr_db)
    return replace(result.metrics, elements=result.elements, sqnr_db=sqnr, median_ulp=None, over_one_ulp_ratio=None)


class _Comparing:
    def __init__(
        self,
        reference: TensorSet,
        checkpoint: Checkpoint,
        mapping: Mapping[str, str] | None,
        progress: Progress,
        every_element: bool,
    ) -> None:
        self.reference, self.checkpoint, self.progress = reference, checkpoint, progress
        self.every_element = every_element
        shapes = {name: tensor.shape for name, tensor in reference.items()}
        self.pairing = pair(shapes, checkpoint.shapes(), mapping)
        if not self.pairing.pairs:
            raise TensorError(
                f"no weight of {reference.path} is found in {checkpoint.tensors.path} by its name and shape; "
                "name the pairs with --mapping"
            )
        self.by_module: dict[tuple[str, str], list[Pair]] = defaultdict(list)
        for found in self.pairing.pairs:
            told = named(found.low)
            self.by_module[told.module, told.parameter].append(found)
        self.problems = [*reference.problems, *checkpoint.problems, *self.pairing.mismatched]

    def run(self) -> Comparison:
        examiner = Examiner(self._head_rows())
        compared: list[Compared] = []
        for at, found in enumerate(self.pairing.pairs):
            self.progress(f"{at + 1} of {len(self.pairing.pairs)} weights: {found.low}")
            try:
                result = self._examine(examiner, found)
            except (ValueError, IndexError, KeyError, TypeError) as error:
                self.problems.append(f"{found.low}: its parts do not fit together: {error}")
                continue
            if result is not None:
                compared.append(Compared(found, result))
        if not compared:
            raise TensorError(f"no weight of {self.checkpoint.tensors.path} could be examined: {self.problems[0]}")
        compared.sort(key=lambda item: usual_place(named(item.pair.reference[0])))
        errors = [self._error(at, item) for at, item in enumerate(compared)]
        sources = errors[0].sources
        quantised = [item for item in compared if item.result.scheme != "same"]
        features: list[Fact] = [
            summary("weights", errors),
            *weight_checks(quantised, sources),
            *weight_readings(quantised, sources),
            *scale_facts(self.checkpoint.tensors),
            pairing_fact(self.pairing, sources),
        ]
        sound = {
            (told.layer, told.module): item.result.at_floor and item.result.found is None
            for item in compared
            if (told := named(item.pair.low)).parameter == "weight"
        }
        return Comparison("weights", errors, features, [point_of(fact) for fact in errors], self.problems, sound)

    def _head_rows(self) -> int:
        settings = {**self.reference.settings, **self.checkpoint.tensors.settings}
        size, heads = settings.get("hidden_size"), settings.get("num_attention_heads")
        rows = settings.get("head_dim") or (
            size // heads if isinstance(size, int) and isinstance(heads, int) and heads else 0
        )
        return rows if isinstance(rows, int) and 0 < rows <= 1024 else 0

    def _examine(self, examiner: Examiner, found: Pair) -> WeightResult | None:
        tensors = [self.reference[name] for name in found.reference]
        encoded = self.checkpoint.encoded.get(found.low)
        if encoded is None:
            return self._plain(found, tensors)
        original = Original(tensors, encoded.shape, found.part)
        others = [
            self.checkpoint.encoded[other.low]
            for other in self.by_module[named(found.low).module, named(found.low).parameter]
            if other.low != found.low and other.low in self.checkpoint.encoded
        ]
        result = examiner.examine(encoded, original, others, lambda: self._smoothed(found, encoded))
        if not result.at_floor and result.found is None:
            result = self._other_layer(result, encoded, found)
        elif self.every_element:
            result = replace(
                result, sqnr_db=sqnr_of_all(encoded, original), elements=encoded.shape[0] * encoded.shape[1]
            )
        encoded.release()
        return result

    def _plain(self, found: Pair, tensors: Sequence[Tensor]) -> WeightResult | None:
        """A weight that is stored as it is, or in a smaller floating type."""
        tensor = self.checkpoint.plain[found.low]
        matrix = tensor.matrix()
        if not matrix.size or not (
            np.issubdtype(matrix.dtype, np.number) or tensor.type.startswith(("float", "bfloat"))
        ):
            return None
        original = Original(tensors, (matrix.shape[0], matrix.shape[1]), found.part)
        outputs = sample_rows(*matrix.shape)
        reference = original.rows(outputs)
        metrics = compare(reference, as_floats(matrix[outputs]))
        scheme = cast_of(tensors[0], tensor)
        expected = None if scheme is None else expected_sqnr_db(reference, scheme)
        name = "same" if scheme is None else "cast"
        result = WeightResult(
            found.low, name, tensor.type if scheme is None else scheme.format.name, "none", reference.size,
            metrics.sqnr_db, expected, FLOOR_MARGIN_DB, metrics,
        )  # fmt: skip
        norm = "norm" in found.low
        if norm and not result.at_floor:
            return replace(result, note="smoothed")  # scaled with the weights that follow; judged by those
        return result

    def _smoothed(self, found: Pair, encoded: Encoded) -> bool:
        """Whether a norm of the layer differs from the original's, as where AWQ or SmoothQuant moved scales into it."""
        if encoded.scheme == "awq":
            return True
        layer = named(found.low).layer
        for other in self.pairing.pairs:
            if named(other.low).layer != layer or "norm" not in other.low or other.low not in self.checkpoint.plain:
                continue
            before, after = self.reference[other.reference[0]].floats(), self.checkpoint.plain[other.low].floats()
            if before.shape == after.shape and float(np.abs(after - before).max()) > _CHANGED * float(
                np.abs(before).max()
            ):
                return True
        return False

    def _other_layer(self, result: WeightResult, encoded: Encoded, found: Pair) -> WeightResult:
        """Whether the weight is that of another layer or module."""
        outputs = sample_rows(*encoded.shape)[:_PROBED_ROWS]
        values = encoded.read(outputs[:, None], np.arange(encoded.shape[1])[None, :])
        told = named(found.low)
        for other in self.pairing.pairs:
            about = named(other.low)
            if other.low == found.low or other.part or (about.layer is None) != (told.layer is None):
                continue
            tensors = [self.reference[name] for name in other.reference]
            if len(tensors) > 1 or tensors[0].shape != encoded.shape:
                continue
            reference = Original(tensors, encoded.shape).rows(outputs)
            metrics = compare(reference, values)
            if metrics.cosine is not None and metrics.cosine > _SAME:
                layer = f"layer {about.layer}" if about.layer is not None else ""
                says = f"the weights are those of {' '.join(part for part in (layer, about.module) if part)}"
                hypothesis = Hypothesis("weights-of-other-layer", "other-layer", says, Reading())
                return replace(result, found=hypothesis, found_sqnr_db=metrics.sqnr_db)
        return result

    def _error(self, at: int, item: Compared) -> facts.TensorError:
        name, result = item.pair.reference[0], item.result
        merged = item.pair.part is not None or len(item.pair.reference) > 1
        expected = result.expected_sqnr_db
        lost = (
            None if expected is None or result.sqnr_db is None or result.note is not None else expected - result.sqnr_db
        )
        return error_fact(
            (self.reference[name].path, self.checkpoint.tensors.path),
            (name, item.pair.low),
            named(item.pair.low if merged else name),
            _measured(result),
            position=at,
            role="weight",
            format=result.format,
            expected_sqnr_db=expected,
            gap_db=finite(lost),
        )
