"""A reference that is itself quantised: its weights as the numbers that they stand for.

Models are published in FP8 or as Q8_0, and compared with a smaller form of theirs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from diagnose.lowbit.checkpoint import Checkpoint
from diagnose.lowbit.encoded import Encoded
from diagnose.lowbit.tensors import Floats, Tensor, TensorSet


def is_quantised(checkpoint: Checkpoint) -> bool:
    """Whether any of the weights is more than a smaller type of number."""
    return any(_has_scales(encoded) for encoded in checkpoint.encoded.values())


def decoded(checkpoint: Checkpoint) -> TensorSet:
    """The weights as float32, each decoded when it is asked for; what is not quantised stays as it is."""
    tensors = dict(checkpoint.plain)
    for name, encoded in checkpoint.encoded.items():
        stored = checkpoint.tensors[encoded.parts[0]]
        tensors[name] = _decoded(encoded, stored) if _has_scales(encoded) else stored
    return replace(checkpoint.tensors, tensors=tensors, problems=checkpoint.problems)


def _has_scales(encoded: Encoded) -> bool:
    return encoded.scales is not None or encoded.extra is not None


def _decoded(encoded: Encoded, stored: Tensor) -> Tensor:
    def load() -> Floats:
        values = encoded.rows(np.arange(encoded.shape[0]))
        encoded.release()
        return values

    return Tensor(encoded.name, encoded.shape, "float32", load, stored.path)
