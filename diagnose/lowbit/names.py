"""What the names of tensors say: layer, module, role; and the same module under another project's name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

_PREFIX = re.compile(
    r"^(?:module|base_model|_orig_mod|_fsdp_wrapped_module|language_model|transformer|gpt_neox|backbone|llm|model"
    r"|text_model|Module|Cell|decoder)[./](?!\d)",
)
_MSPROBE = re.compile(r"\.[A-Z]\w*\.forward\.\d+")
_ROLE = re.compile(
    r"[.:/_]?(input|output|inputs|outputs|input_args|forward_input|forward_output)(?:[.:_]\d+)*$", re.IGNORECASE
)
_LAYER = re.compile(r"(?:^|[./_])(?:layers?|h|blocks?|blk|resblocks)[./_](\d+)(?:[./_]|$)")
_NUMBER = re.compile(r"(?:^|[./])(\d+)(?:[./]|$)")
_LOGITS = re.compile(r"(?:^|[./])(?:lm_head|logits|score|output)$")
_TOKENS = re.compile(r"(?:^|[./_])(?:input_?ids|token_?ids|tokens|position_ids)$", re.IGNORECASE)

SYNONYMS: Mapping[str, str] = MappingProxyType(
    {
        "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj", "attn_qkv": "self_attn.qkv_proj", "attn_q_norm": "self_attn.q_norm",
        "attn_k_norm": "self_attn.k_norm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj", "ffn_gate_inp": "mlp.gate", "attn_norm": "input_layernorm",
        "ffn_norm": "post_attention_layernorm", "token_embd": "embed_tokens", "output_norm": "norm",
        "output": "lm_head", "tok_embeddings": "embed_tokens", "attention.wq": "self_attn.q_proj",
        "attention.wk": "self_attn.k_proj", "attention.wv": "self_attn.v_proj", "attention.wo": "self_attn.o_proj",
        "attention_norm": "input_layernorm", "feed_forward.w1": "mlp.gate_proj",
        "feed_forward.w2": "mlp.down_proj", "feed_forward.w3": "mlp.up_proj",
        "self_attn.W_pack": "self_attn.qkv_proj", "self_attention.query_key_value": "self_attn.qkv_proj",
        "attention.query_key_value": "self_attn.qkv_proj", "self_attn.query_key_value": "self_attn.qkv_proj",
        "attention.wqkv": "self_attn.qkv_proj", "self_attn.out_proj": "self_attn.o_proj",
        "self_attention.dense": "self_attn.o_proj", "mlp.w13": "mlp.gate_up_proj",
        "mlp.dense_h_to_4h": "mlp.gate_up_proj", "mlp.dense_4h_to_h": "mlp.down_proj",
        "attention.dense": "self_attn.o_proj", "wte": "embed_tokens", "embed_in": "embed_tokens",
        "final_layernorm": "norm", "ln_f": "norm", "ln_1": "input_layernorm", "ln_2": "post_attention_layernorm",
    }
)  # fmt: skip
"""Modules of Meta's, GGUF's, Megatron's and GPT-NeoX's names by that of Hugging Face's Llama."""

FUSED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "self_attn.qkv_proj": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        "mlp.gate_up_proj": ("mlp.gate_proj", "mlp.up_proj"),
    }
)
"""Modules that engines merge, with their parts in order."""


@dataclass(frozen=True, slots=True)
class Named:
    """A name taken apart."""

    layer: int | None
    module: str
    """Without the layer and what stands before it: `self_attn.k_proj`, `lm_head`."""
    role: str
    """`weight` (any parameter), `input`, `output`, `logits` or `tokens`."""
    parameter: str = ""
    """For parameters the last part: `weight`, `bias`."""

    @property
    def key(self) -> tuple[int | None, str, str, str]:
        """What equal tensors of two sets have in common."""
        return self.layer, self.module, self.role, self.parameter


@cache
def named(name: str) -> Named:
    """Take a name apart. Anything is a name."""
    rest = _MSPROBE.sub("", name.replace("/", "."))
    rest = re.sub(r"\.(?:npy|bin)$", "", rest)
    while (shorter := _PREFIX.sub("", rest)) != rest:
        rest = shorter
    if _TOKENS.search(rest):
        return Named(None, rest, "tokens")
    role, parameter = "output", ""
    if match := re.search(r"\.(weight|bias|scales?|zero_point)$", rest):
        role, parameter, rest = "weight", match[1], rest[: match.start()]
    elif (match := _ROLE.search(rest)) and match.start() > 0:
        role = "input" if "input" in match[1].lower() else "output"
        rest = rest[: match.start()]
    layer_match = _LAYER.search(rest) or _NUMBER.search(rest)
    layer = None
    if layer_match:
        layer = int(layer_match[1])
        rest = rest[layer_match.end() :]
    module = rest.strip(".")
    module = SYNONYMS.get(module, module)
    if role == "output" and layer is None and _LOGITS.search(module):
        role = "logits"
    return Named(layer, module, role, parameter)


def module_class(module: str) -> str:
    """A module without the number of its expert: what patterns over layers name."""
    return re.sub(r"(?<=experts\.)\d+", "*", module)


def pattern_of(layers: list[int | None], module: str, all_layers: int) -> str:
    """`layers 3..31 self_attn.k_proj`; runs of layers are joined, at most four are named."""
    numbers = sorted({layer for layer in layers if layer is not None})
    if not numbers:
        return module
    if len(numbers) == all_layers and all_layers > 1:
        return f"all layers {module}"
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [str(first) if first == last else f"{first}..{last}" for first, last in runs]
    shown = ", ".join(texts[:4]) + (f" and {len(texts) - 4} more" if len(texts) > 4 else "")
    return f"layer{'s' if len(numbers) > 1 else ''} {shown} {module}".rstrip()
