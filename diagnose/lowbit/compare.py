"""Two inputs to their comparison: of checkpoints or of recorded activations, whichever they hold."""

from __future__ import annotations

from dataclasses import replace
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
    original: Path | None = None,
    low_format: str | None = None,
    every_element: bool = False,
    progress: Progress = lambda _: None,
) -> Comparison:
    """Open both and compare them. Raises TensorError with what is wrong.

    `weights` is the checkpoint of a recorded low run, `original` that of the reference: both are compared as well.
    """
    progress(f"opening {reference}")
    one, other = open_tensors(reference), open_tensors(low)
    names = read_mapping(mapping) if mapping is not None else None
    if is_checkpoint(other) and is_checkpoint(one):
        if noise is not None or weights is not None or original is not None:
            raise TensorError("--noise, --weights and --original go with recorded activations; these are checkpoints")
        return compare_checkpoints(one, other, names, progress, every_element)
    if is_checkpoint(other) or is_checkpoint(one):
        weighty, recorded = (low, reference) if is_checkpoint(other) else (reference, low)
        raise TensorError(
            f"{weighty} is a checkpoint and {recorded} holds recorded activations: compare two checkpoints, or "
            "two runs with the checkpoint as --weights"
        )
    if original is not None and weights is None:
        raise TensorError("--original is compared with --weights, which is missing")
    low_weights = None if weights is None else open_tensors(weights)
    checked = None
    if original is not None and low_weights is not None:
        checked = compare_checkpoints(open_tensors(original), low_weights, None, progress, every_element)
    found = compare_activations(
        one,
        other,
        names,
        None if noise is None else open_tensors(noise),
        low_weights,
        low_format,
        progress,
        {} if checked is None else checked.sound,
    )
    if checked is None:
        return found
    # The table stays that of the activations; what the weights showed stands beside it.
    return replace(found, features=[*found.features, *checked.features], problems=[*found.problems, *checked.problems])
