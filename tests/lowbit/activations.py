"""A small pre-norm transformer in numpy whose products can be quantised, and recordings of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.lowbit.checkpoints import save

Array = np.ndarray[Any, Any]
VOCABULARY = 200
Product = Callable[[str, Array, Array], Array]


def exact(_: str, inputs: Array, weight: Array) -> Array:
    return inputs @ weight.T


def reversed_sums(inputs: Array, weight: Array) -> Array:
    """The same product, summed in the other order."""
    product: Array = inputs[:, ::-1] @ np.ascontiguousarray(weight[:, ::-1]).T
    return product


def model(layers: int = 8, width: int = 128, seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    found = {"embed_tokens": rng.standard_normal((VOCABULARY, width)).astype(np.float32)}
    for layer in range(layers):
        for name, shape in {
            "self_attn.v_proj": (width, width), "self_attn.o_proj": (width, width),
            "mlp.up_proj": (2 * width, width), "mlp.down_proj": (width, 2 * width),
        }.items():  # fmt: skip
            found[f"layers.{layer}.{name}"] = (rng.standard_normal(shape) / shape[1] ** 0.5).astype(np.float32)
    found["lm_head"] = (rng.standard_normal((VOCABULARY, width)) / width**0.5).astype(np.float32)
    return found


def run(weights: Mapping[str, Array], tokens: Array, product: Product = exact) -> dict[str, Array]:
    """Inputs and outputs of every product and block, in order."""
    seen: dict[str, Array] = {"inputs.input_ids": tokens}

    def linear(name: str, inputs: Array) -> Array:
        seen[f"model.{name}.input"] = inputs
        seen[f"model.{name}.output"] = outputs = product(name, inputs, weights[name]).astype(np.float32)
        return outputs

    def norm(hidden: Array) -> Array:
        normed: Array = hidden / np.sqrt(np.square(hidden).mean(axis=-1, keepdims=True) + 1e-6)
        return normed

    hidden = weights["embed_tokens"][tokens]
    seen["model.embed_tokens.output"] = hidden
    for layer in range(sum(name.endswith("up_proj") for name in weights)):
        base = f"layers.{layer}"
        mixed = np.cumsum(linear(f"{base}.self_attn.v_proj", norm(hidden)), axis=0)
        hidden = hidden + linear(f"{base}.self_attn.o_proj", norm(mixed))
        hidden = hidden + linear(f"{base}.mlp.down_proj", np.maximum(linear(f"{base}.mlp.up_proj", norm(hidden)), 0))
        seen[f"model.{base}.output"] = hidden
    seen["lm_head.input"] = norm(hidden)
    seen["lm_head.output"] = product("lm_head", norm(hidden), weights["lm_head"]).astype(np.float32)
    return seen


def write(folder: Path, seen: Mapping[str, Array], role: str, **stated: str) -> Path:
    folder.mkdir()
    save(folder / "tensors-00000.safetensors", seen)
    manifest = {"schema": "diagnose.capture/1", "role": role, "order": list(seen), **stated}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def tokens(count: int = 32, seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(0, VOCABULARY, count)
