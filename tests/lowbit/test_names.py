from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.lowbit.names import named, pattern_of


@pytest.mark.parametrize(
    ("name", "layer", "module", "role"),
    [
        ("model.layers.3.self_attn.k_proj.weight", 3, "self_attn.k_proj", "weight"),
        ("module.model.layers.3.self_attn.k_proj.output", 3, "self_attn.k_proj", "output"),
        ("blk.3.attn_k.weight", 3, "self_attn.k_proj", "weight"),
        ("layers.3.attention.wk.weight", 3, "self_attn.k_proj", "weight"),
        ("Module.layers.0.mlp.down_proj.Linear.forward.0.input.0", 0, "mlp.down_proj", "input"),
        ("transformer.h.11.ln_1.output", 11, "input_layernorm", "output"),
        ("token_embd.weight", None, "embed_tokens", "weight"),
        ("output.weight", None, "lm_head", "weight"),
        ("logits", None, "logits", "logits"),
        ("lm_head.output", None, "lm_head", "logits"),
        ("model.layers.7.output", 7, "", "output"),
        ("inputs.input_ids", None, "inputs.input_ids", "tokens"),
    ],
)
def test_names_of_several_projects_are_taken_apart(name: str, layer: int | None, module: str, role: str) -> None:
    told = named(name)

    assert (told.layer, told.module, told.role) == (layer, module, role)


@given(st.text(max_size=60))
def test_anything_is_a_name(text: str) -> None:
    assert named(text).role in ("weight", "input", "output", "logits", "tokens")


def test_runs_of_layers_are_joined() -> None:
    assert pattern_of([3, 4, 5, 9], "k_proj", 32) == "layers 3..5, 9 k_proj"
    assert pattern_of([0, 1], "k_proj", 2) == "all layers k_proj"
    assert pattern_of([4], "k_proj", 32) == "layer 4 k_proj"
    assert pattern_of([None], "lm_head", 1) == "lm_head"
    assert pattern_of([0, 2, 4, 6, 8, 10], "x", 32) == "layers 0, 2, 4, 6 and 2 more x"
