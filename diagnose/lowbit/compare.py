"""Two inputs to their comparison: of checkpoints or of recorded activations, whichever they hold."""

from __future__ import annotations

from pathlib import Path

from diagnose.lowbit.checkpoint import is_checkpoint
from diagnose.lowbit.compare_activations import compare_activations
from diagnose.lowbit.compare_weights import compare_checkpoints
from diagnose.lowbit.comparison import Comparison, Progress
from diagnose.lowbit.pairing import read_mapping
from diagnose.lowbit.readers.open import open_tensors
from diagnose.lowbit.tensors import TensorError


def compare_inputs(
    reference: Path,
    low: Path,
    mapping: Path | None = None,
    noise: Path | None = None,
    weights: Path | None = None,
    low_format: str | None = None,
    every_element: bool = False,
    progress: Progress = lambda _: None,
) -> Comparison:
    """Open both and compare them. Raises TensorError with what is wrong."""
    progress(f"opening {reference}")
    one, other = open_tensors(reference), open_tensors(low)
    names = read_mapping(mapping) if mapping is not None else None
    if is_checkpoint(other) and is_checkpoint(one):
        if noise is not None or weights is not None:
            raise TensorError("--noise and --weights go with recorded activations, and these are checkpoints")
        return compare_checkpoints(one, other, names, progress, every_element)
    if is_checkpoint(other) or is_checkpoint(one):
        raise TensorError("one of the two is a checkpoint and the other holds recorded activations")
    return compare_activations(
        one,
        other,
        names,
        None if noise is None else open_tensors(noise),
        None if weights is None else open_tensors(weights),
        low_format,
        progress,
    )
