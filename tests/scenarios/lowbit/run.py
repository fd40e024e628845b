"""Two runs of a model, one of them in few bits, as a fault may change them; and the files that they leave."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tests.lowbit.checkpoints import is_projection, save
from tests.scenarios.lowbit import rounding
from tests.scenarios.lowbit.network import Engine, Product, Shape, exact, forward, prompt, weights_of
from tests.scenarios.lowbit.storage import SCHEMES, read_as_stored

Array = np.ndarray[Any, Any]
Change = Callable[[str, Array, Array], Array]
"""Name, input and output of a product to what the engine gives."""


@dataclass
class Runs:
    """A reference and a low-bit run before they are computed; faults change the fields."""

    shape: Shape
    scheme: str
    seed: int
    rng: np.random.Generator
    weights: dict[str, Array]
    stored: dict[str, Array]
    config: dict[str, Any]
    ids: Array
    low_ids: Array
    rounds: dict[str, rounding.Rounding] = field(default_factory=dict)
    """Rounding of inputs by projection, where it is not the scheme's."""
    changes: list[Change] = field(default_factory=list)
    reference_engine: Engine = field(default_factory=Engine)
    low_engine: Engine = field(default_factory=lambda: Engine(stream="bfloat16"))
    product: Callable[[Mapping[str, Array]], Product] | None = None
    """How the low run multiplies, where its sums are at fault."""
    second: Callable[[Mapping[str, Array]], Product] | None = None
    """Another high-precision run."""
    files: dict[str, str] = field(default_factory=dict)
    """Texts beside the tensors."""
    with_tensors: bool = True
    with_checkpoint: bool = True
    said_format: str | None = None
    """What the low run is said to compute in, where it is not the scheme."""

    @property
    def quantised(self) -> bool:
        """Whether there is a scheme at all; `bf16` and `fp16` are casts."""
        return self.scheme in SCHEMES

    def projections(self) -> list[str]:
        """Names of the weights that schemes quantise."""
        return [name for name in self.weights if is_projection(name)]


def clean_runs(shape: Shape, scheme: str, seed: int, outlier: float = 5.0) -> Runs:
    """Runs without a fault. `scheme` is one of SCHEMES, or `bf16`, `fp16`."""
    weights = weights_of(shape, seed, outlier)
    stored: dict[str, Array] = dict(weights)
    config: dict[str, Any] = {}
    if scheme in SCHEMES:
        stored, config = SCHEMES[scheme][0](weights), json.loads(json.dumps(SCHEMES[scheme][2]))
    if scheme == "nvfp4":
        seen = forward(weights, shape, prompt(seed + 77), exact(weights))
        for name in (name for name in weights if is_projection(name)):
            base = name.removesuffix(".weight")
            most = 448 * 6 / np.abs(seen[f"{base}.input"]).max()
            stored[f"{base}.input_global_scale"] = np.array([most], np.float32)
    ids = prompt(seed)
    rng = np.random.default_rng(seed + 1)
    stream = "float16" if scheme == "fp16" else "bfloat16"
    return Runs(
        shape, scheme, seed, rng, weights, stored, config, ids, ids, low_engine=Engine(stream=stream),
        with_checkpoint=scheme in SCHEMES,
    )  # fmt: skip


def write(runs: Runs, folder: Path) -> None:
    """Checkpoints, captures and texts under a folder."""
    for name, text in runs.files.items():
        path = folder / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if not runs.with_tensors:
        return
    checkpoint(folder / "original", runs.weights, {})
    if runs.with_checkpoint:
        checkpoint(folder / "quantised", runs.stored, {"quantization_config": runs.config})
    high = forward(runs.weights, runs.shape, runs.ids, exact(runs.weights), runs.reference_engine)
    _capture(folder / "reference", high, "reference", "float32")
    _capture(folder / "low", _low(runs), "low-bit", runs.low_engine.stream)
    if runs.second is not None:
        again = forward(runs.weights, runs.shape, runs.ids, runs.second(runs.weights), Engine(stream="bfloat16"))
        _capture(folder / "second", again, "second-reference", "bfloat16")


def _low(runs: Runs) -> dict[str, Array]:
    names = list(runs.weights)
    weights = read_as_stored(runs.scheme, runs.stored, names) if runs.quantised else dict(runs.weights)
    multiply = (runs.product or exact)(weights)
    usual = rounding.OF_SCHEME.get(runs.scheme, rounding.unchanged)

    def product(name: str, values: Array) -> Array:
        values_in = runs.rounds.get(name, usual)(values) if is_projection(f"{name}.weight") else values
        result = multiply(name, values_in)
        for change in runs.changes:
            result = change(name, values_in, result)
        return result

    return forward(weights, runs.shape, runs.low_ids, product, runs.low_engine)


def checkpoint(folder: Path, tensors: Mapping[str, Array], settings: Mapping[str, Any]) -> None:
    """A checkpoint's folder."""
    folder.mkdir(parents=True)
    save(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLM"], **settings}))


def _capture(folder: Path, seen: Mapping[str, Array], role: str, kind: str) -> None:
    folder.mkdir(parents=True)
    types = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
    with np.errstate(over="ignore"):
        tensors = {
            name: value if value.dtype == np.int64 else value.astype(types[kind]) for name, value in seen.items()
        }
    save(folder / "tensors-00000.safetensors", tensors)
    manifest = {
        "schema": "diagnose.capture/1", "role": role, "model": "LlamaForCausalLM", "dtype": kind, "order": list(seen),
        "positions": 0, "files": ["tensors-00000.safetensors"],
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
