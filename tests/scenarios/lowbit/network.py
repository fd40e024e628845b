"""A small decoder of today's kind in numpy: rotary attention, gated feed-forward, norms with a few large channels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
Product = Callable[[str, Array], Array]
"""Name of a projection and its input (tokens, inputs) to its output (tokens, outputs)."""

VOCABULARY = 384
PROJECTIONS = (
    "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj",
    "mlp.down_proj",
)  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """Sizes of a model."""

    layers: int
    width: int
    heads: int
    inner: int


SHAPES = (Shape(4, 256, 4, 512), Shape(6, 128, 2, 384), Shape(8, 128, 4, 256))
SMALL = Shape(2, 128, 2, 256)
"""For tests, which must be quick."""


@dataclass(frozen=True)
class Engine:
    """How a run computes beside its products."""

    rotary_base: float = 10_000.0
    stream: str = "float32"
    """Type that hidden states are rounded to."""
    without_norm_from: int | None = None
    """First layer whose norm before the feed-forward is left out."""


def weights_of(shape: Shape, seed: int, outlier: float = 5.0) -> dict[str, Array]:
    """Random weights in bfloat16, with outputs of different size; norms have a few channels `outlier` times larger."""
    rng = np.random.default_rng(seed)

    def matrix(high: int, wide: int) -> Array:
        sizes = np.exp(rng.normal(0, 0.3, (high, 1)))
        values: Array = rng.standard_normal((high, wide)) * sizes / wide**0.5
        return values.astype(ml_dtypes.bfloat16)

    def norm() -> Array:
        found = np.exp(rng.normal(0, 0.15, shape.width))
        found[rng.choice(shape.width, 3, replace=False)] *= outlier
        return found.astype(ml_dtypes.bfloat16)

    width, inner = shape.width, shape.inner
    sizes = dict.fromkeys(PROJECTIONS[:4], (width, width))
    sizes |= {"mlp.gate_proj": (inner, width), "mlp.up_proj": (inner, width), "mlp.down_proj": (width, inner)}
    found = {"model.embed_tokens.weight": matrix(VOCABULARY, width)}
    for layer in range(shape.layers):
        base = f"model.layers.{layer}"
        found[f"{base}.input_layernorm.weight"] = norm()
        found |= {f"{base}.{name}.weight": matrix(*size) for name, size in sizes.items()}
        found[f"{base}.post_attention_layernorm.weight"] = norm()
    found["model.norm.weight"] = norm()
    found["lm_head.weight"] = matrix(VOCABULARY, width)
    return found


def forward(
    weights: Mapping[str, Array], shape: Shape, ids: Array, product: Product, engine: Engine | None = None
) -> dict[str, Array]:
    """Inputs and outputs of every projection, outputs of every block, in the order of computation."""
    engine = engine or Engine()
    seen: dict[str, Array] = {"inputs.input_ids": ids.astype(np.int64)}

    def rounded(values: Array) -> Array:
        return values.astype(_TYPES[engine.stream]).astype(np.float32)

    def linear(name: str, values: Array) -> Array:
        seen[f"{name}.input"] = values
        seen[f"{name}.output"] = result = rounded(product(name, values))
        return result

    def normal(name: str, hidden: Array) -> Array:
        gains = weights[f"{name}.weight"].astype(np.float32)
        return rounded(hidden / np.sqrt(np.square(hidden).mean(axis=-1, keepdims=True) + 1e-6) * gains)

    hidden = rounded(weights["model.embed_tokens.weight"].astype(np.float32)[ids])
    seen["model.embed_tokens.output"] = hidden
    with np.errstate(over="ignore", invalid="ignore"):
        for layer in range(shape.layers):
            base = f"model.layers.{layer}"
            into = normal(f"{base}.input_layernorm", hidden)
            q, k, v = (linear(f"{base}.self_attn.{name}_proj", into) for name in "qkv")
            mixed = _attention(q, k, v, shape.heads, engine.rotary_base)
            hidden = rounded(hidden + linear(f"{base}.self_attn.o_proj", rounded(mixed)))
            bare = engine.without_norm_from is not None and layer >= engine.without_norm_from
            into = hidden if bare else normal(f"{base}.post_attention_layernorm", hidden)
            gate, up = linear(f"{base}.mlp.gate_proj", into), linear(f"{base}.mlp.up_proj", into)
            inner = rounded(gate / (1 + np.exp(-np.clip(gate, -60, 60))) * up)
            hidden = rounded(hidden + linear(f"{base}.mlp.down_proj", inner))
            seen[f"{base}.output"] = hidden
        linear("lm_head", normal("model.norm", hidden))
    return seen


_TYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def _attention(q: Array, k: Array, v: Array, heads: int, base: float) -> Array:
    tokens, width = q.shape
    size = width // heads
    angles = np.arange(tokens)[:, None] / base ** (np.arange(size // 2) / (size // 2))[None, :]

    def split(values: Array) -> Array:
        return values.reshape(tokens, heads, size).transpose(1, 0, 2)

    def turned(values: Array) -> Array:
        left, right = np.split(split(values), 2, axis=-1)
        return np.concatenate(
            [left * np.cos(angles) - right * np.sin(angles), left * np.sin(angles) + right * np.cos(angles)], axis=-1
        )

    scores = turned(q) @ turned(k).transpose(0, 2, 1) / size**0.5
    scores = np.where(np.tril(np.ones((tokens, tokens), bool)), scores, -1e30)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    mixed: Array = (shares @ split(v)).transpose(1, 0, 2).reshape(tokens, width)
    return mixed


def exact(weights: Mapping[str, Array]) -> Product:
    """Products as they are, in float32."""
    full = {name: value.astype(np.float32) for name, value in weights.items()}
    return lambda name, values: values @ full[f"{name}.weight"].T


def prompt(seed: int, tokens: int = 40) -> Array:
    """Token ids that begin with the same one, as texts do."""
    ids = np.random.default_rng(seed).integers(5, VOCABULARY, tokens)
    ids[0] = 1
    return ids
