"""Inputs of a model's call: what they are called, their hash, and how a later run gets them again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from diagnose.capture.errors import CaptureError
from diagnose.capture.manifest import Manifest, read_manifest
from diagnose.capture.torch_module import torch

PREFIX = "inputs."
"""Begins the names under which inputs are stored."""


def tensors_of(arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors among a call's arguments, by name; the first positional one with integers is called `input_ids`."""
    kind = torch().Tensor
    found = {name: value for name, value in named.items() if isinstance(value, kind)}
    for at, value in enumerate(arguments):
        if isinstance(value, kind):
            whole = not value.is_floating_point() and not value.is_complex()
            name = "input_ids" if whole and "input_ids" not in found else f"input_{at}"
            found[name] = value
    return found


def input_hash(tensor: Any) -> str:
    """SHA-256 of shape and values. Floats of another type but the same values hash alike, as float32."""
    plain = tensor.detach().cpu()
    plain = plain.float() if plain.is_floating_point() else plain.long()
    digest = hashlib.sha256(repr(tuple(plain.shape)).encode())
    digest.update(plain.contiguous().numpy().tobytes())
    return digest.hexdigest()


def stored_inputs(folder: Path) -> Iterator[dict[str, Any]]:
    """The inputs of each recorded call, in order."""
    from safetensors import safe_open

    manifest = read_manifest(folder)
    places: dict[str, str] = {}
    for file in manifest.files:
        with safe_open(folder / Path(file).name, framework="pt") as opened:
            places |= {name: file for name in opened.keys() if name.startswith(PREFIX)}  # noqa: SIM118
    for at, hashes in enumerate(manifest.inputs):
        call: dict[str, Any] = {}
        for name in hashes:
            stored = stored_name(name, at)
            if stored not in places:
                raise CaptureError(f"{folder} lacks the input {name} of call {at}")
            with safe_open(folder / places[stored], framework="pt") as opened:
                call[name] = opened.get_tensor(stored)
        yield call


def stored_name(name: str, call: int) -> str:
    """Name under which an input of a call is stored: the input's own name stands last, as comparisons look for it."""
    return f"{PREFIX}{name}" if call == 0 else f"{PREFIX}{call}.{name}"


def check_same(reference: Manifest, call: int, hashes: Mapping[str, str]) -> None:
    """Raise CaptureError where a call's inputs are not those of the reference."""
    if call >= len(reference.inputs):
        raise CaptureError(f"the reference recorded {len(reference.inputs)} calls, and this is call {call + 1}")
    expected = reference.inputs[call]
    for name in sorted(expected.keys() & hashes.keys()):
        if expected[name] != hashes[name]:
            raise CaptureError(
                f"the input {name} of call {call} is not that of the reference: take it from Recorder.inputs()"
            )
    if not expected.keys() & hashes.keys():
        raise CaptureError(f"call {call} has none of the reference's inputs: {', '.join(sorted(expected))}")
