"""Tensors among the inputs of an analysis: captures and checkpoints whose roles are plain are compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from diagnose.facts import Fact
from diagnose.lowbit.checkpoint import is_checkpoint, open_checkpoint
from diagnose.lowbit.compare_activations import compare_activations
from diagnose.lowbit.compare_weights import compare_checkpoints
from diagnose.lowbit.readers.open import CAPTURE, open_tensors
from diagnose.lowbit.scales import scale_facts
from diagnose.lowbit.tensors import TensorError, TensorSet

_SCHEMA = "diagnose.capture/1"
_MOST_FOLDERS = 2000


@dataclass
class TensorFindings:
    """Facts, and what could not be compared, as path and sentence."""

    facts: list[Fact] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)


def tensor_findings(paths: Sequence[str], progress: Callable[[str], None]) -> TensorFindings:
    """Compare the captures, or the checkpoint and its original, that stand beneath the paths.

    Captures say in their manifest which run they are. Of checkpoints the one with quantised weights is the low one.
    Nothing is compared where there are several of a role. A quantised checkpoint alone gives facts on its scales.
    """
    found = TensorFindings()
    captures: dict[str, list[Path]] = {}
    checkpoints: list[TensorSet] = []
    for folder in _folders(paths):
        role = _role(folder)
        if role is not None:
            captures.setdefault(role, []).append(folder)
        elif _holds_checkpoint(folder):
            try:
                tensors = open_tensors(folder)
            except TensorError as error:
                found.problems.append((str(folder), str(error)))
                continue
            if is_checkpoint(tensors):
                checkpoints.append(tensors)
    quantised = [tensors for tensors in checkpoints if open_checkpoint(tensors).encoded]
    originals = [tensors for tensors in checkpoints if tensors not in quantised]
    try:
        _compare(captures, quantised, originals, progress, found)
    except TensorError as error:
        found.problems.append((paths[0], str(error)))
    return found


def _compare(
    captures: dict[str, list[Path]],
    quantised: Sequence[TensorSet],
    originals: Sequence[TensorSet],
    progress: Callable[[str], None],
    found: TensorFindings,
) -> None:
    sound: Mapping[tuple[int | None, str], bool] = {}
    if len(quantised) == 1 and len(originals) == 1:
        comparison = compare_checkpoints(originals[0], quantised[0], progress=progress)
        found.facts += comparison.facts
        found.problems += [(quantised[0].path, problem) for problem in comparison.problems]
        sound = comparison.sound
    else:
        for tensors in quantised:
            found.facts += scale_facts(tensors)
    references, lows = captures.get("reference", []), captures.get("low-bit", [])
    if len(references) == 1 and len(lows) == 1:
        noise = captures.get("second-reference", [])
        comparison = compare_activations(
            open_tensors(references[0]),
            open_tensors(lows[0]),
            noise=open_tensors(noise[0]) if noise else None,
            weights=quantised[0] if len(quantised) == 1 else None,
            progress=progress,
            sound_weights=sound,
        )
        found.facts += comparison.facts
        found.problems += [(str(lows[0]), problem) for problem in comparison.problems]
    elif references or lows:
        told = f"{len(references)} captures of a reference and {len(lows)} of a low-bit run: one of each is compared"
        found.problems.append((str((references or lows)[0]), told))


def _folders(paths: Sequence[str]) -> Iterator[Path]:
    """Folders named, and those beneath, not followed through links."""
    left = _MOST_FOLDERS
    for name in paths:
        path = Path(name)
        if not path.is_dir():
            continue
        for folder in (path, *sorted(inner for inner in path.rglob("*") if inner.is_dir() and not inner.is_symlink())):
            left -= 1
            if left < 0:
                return
            yield folder


def _role(folder: Path) -> str | None:
    """The role that a capture's manifest states; None for other folders."""
    path = folder / CAPTURE
    try:
        if not path.is_file() or path.stat().st_size > 64 << 20:
            return None
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or content.get("schema") != _SCHEMA:
        return None
    return str(content.get("role"))


def _holds_checkpoint(folder: Path) -> bool:
    return any(folder.glob("*.safetensors"))
