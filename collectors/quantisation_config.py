"""Quantisation configs: `quantize_config.json`, `config.json` with `quantization_config`, `hf_quant_config.json`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from collectors.base import Block, Parsed
from collectors.json_document import JsonDocument
from collectors.json_text import items, mapping, whole
from diagnose.facts.precision import QuantisationConfig

_MOST_IGNORED = 512
_LONGEST_NAME = 200
_OUTPUT_LAYER = re.compile(r"(?:^|[.*:^\\])(?:lm_head|output_layer|embed_out)(?:$|[^a-z_])")
_ROUTER = re.compile(r"\.gate(?:$|[^a-z_])|router|mlp\\?\.gate\b")
_MOE = re.compile(r'"(?:num_experts|num_local_experts|n_routed_experts)"')
_MODELOPT = {
    "FP8": ("fp8", "fp8"),
    "FP8_PER_CHANNEL_PER_TOKEN": ("fp8", "fp8"),
    "FP8_PB_WO": ("fp8", None),
    "NVFP4": ("nvfp4", "nvfp4"),
    "NVFP4_AWQ": ("nvfp4", "nvfp4"),
    "W4A16_NVFP4": ("nvfp4", None),
    "W4A16_AWQ": ("int4", None),
    "W4A8_AWQ": ("int4", "fp8"),
    "W8A16": ("int8", None),
    "INT8_SQ": ("int8", "int8"),
    "W8A8_SQ_PER_CHANNEL": ("int8", "int8"),
    "MXFP4": ("mxfp4", None),
    "MXFP8": ("mxfp8", "mxfp8"),
}
"""Algorithm to formats of weights and activations, as modelopt names them."""


class QuantisationConfigJson(JsonDocument):
    """One fact for each config."""

    kind: ClassVar[str] = "quantisation-config"
    literals: ClassVar[tuple[bytes, ...]] = (b'"quant_method"', b'"bits"', b'"quant_algo"', b'"w_bit"')

    @classmethod
    def told_by(cls, text: str) -> bool:
        """The key that names the method, or GPTQ's and AWQ's own files, which may lack it."""
        if '"quant_method"' in text or '"quant_algo"' in text or '"quantization_config"' in text:
            return True
        return ('"bits"' in text or '"w_bit"' in text) and any(
            word in text for word in ('"group_size"', '"q_group_size"', '"desc_act"', '"sym"', '"zero_point"')
        )

    @classmethod
    def read(cls, block: Block, content: dict[str, Any]) -> Parsed:
        """The config, whichever file it is part of."""
        nested = mapping(content.get("quantization_config")) or mapping(content.get("compression_config"))
        moe = _MOE.search("\n".join(block.texts())) is not None
        if nested:
            values = _values(nested, moe)
        elif mapping(content.get("quantization")):
            values = _modelopt(mapping(content["quantization"]), mapping(content.get("producer")), moe)
        else:
            values = _values(content, moe)
        if values is None:
            return Parsed()
        return Parsed([QuantisationConfig(subject=block.subject(), sources=(block.source(),), **values)])


def _values(config: Mapping[str, Any], moe: bool) -> dict[str, Any] | None:
    method = str(config.get("quant_method") or "").lower().replace("_", "-")
    if method in ("compressed-tensors", "sparseml"):
        return _compressed_tensors(config, moe)
    if method == "modelopt" or "quant_algo" in config:
        return _modelopt(config, mapping(config.get("producer")), moe)
    if method == "fp8" or method == "fbgemm-fp8":
        return _fp8(config, moe, method)
    if method == "bitsandbytes" or "load_in_4bit" in config or "load_in_8bit" in config:
        four = config.get("load_in_4bit") is True
        return {
            "method": "bitsandbytes",
            "weight_format": "int4" if four else "int8",
            "activation_format": None if four else "int8",
            "activation_scheme": "none" if four else "dynamic",
            "bits": 4 if four else 8,
            **_ignored(items(config.get("llm_int8_skip_modules"), str), moe),
        }
    if method in ("mxfp4", "quark", "hqq", "aqlm", "torchao"):
        return {
            "method": method,
            "weight_format": "mxfp4" if method == "mxfp4" else None,
            **_ignored(items(config.get("modules_to_not_convert") or config.get("exclude"), str), moe),
        }
    return _integer(config, moe, method)


def _integer(config: Mapping[str, Any], moe: bool, method: str) -> dict[str, Any] | None:
    """GPTQ and AWQ, which write the same few values under two sets of names."""
    bits = whole(config.get("bits", config.get("w_bit")))
    if bits is None or not 1 <= bits <= 16:
        return None
    awq = method == "awq" or "zero_point" in config or "w_bit" in config
    group = whole(config.get("group_size", config.get("q_group_size")))
    if group is None and config.get("group_size", config.get("q_group_size")) == -1:
        group = -1
    symmetric = _flag(config.get("sym"))
    if symmetric is None and awq and isinstance(config.get("zero_point"), bool):
        symmetric = not config["zero_point"]
    form = config.get("checkpoint_format")
    meta = mapping(config.get("meta"))
    producer = next(iter(items(meta.get("quantizer"), str)), None)
    name = "awq" if awq else "gptq"
    return {
        "method": method or name,
        "weight_format": f"int{bits}",
        "activation_scheme": "none",
        "bits": bits,
        "group_size": group if group is not None and group > 0 else None,
        "granularity": None if group is None else "group" if group > 0 else "channel",
        "symmetric": symmetric,
        "desc_act": _flag(config.get("desc_act")),
        "checkpoint_format": str(form)[:40] if isinstance(form, str) else None,
        "stored_zero_point": _stored_zero(name, form, bits, symmetric),
        "producer": producer.split(":")[0][:60] if producer else None,
        "producer_version": producer.split(":")[1][:40] if producer and ":" in producer else None,
        "output_layer_quantised": _flag(config.get("lm_head")),
        **_ignored(items(config.get("modules_to_not_convert"), str), moe),
    }


def _stored_zero(name: str, form: object, bits: int, symmetric: bool | None) -> int | None:
    """GPTQ's first format stores zero points less one, which its readers add again; the second stores them plainly."""
    if name != "gptq" or symmetric is not True or not isinstance(form, str):
        return None
    middle = 1 << (bits - 1)
    return {"gptq": middle - 1, "gptq_v2": middle}.get(form.lower())


def _fp8(config: Mapping[str, Any], moe: bool, method: str) -> dict[str, Any]:
    block = config.get("weight_block_size")
    scheme = config.get("activation_scheme")
    form = str(config.get("fmt") or "").lower()
    return {
        "method": method,
        "weight_format": "fp8-e5m2" if form == "e5m2" else "fp8",
        "activation_format": "fp8",
        "activation_scheme": scheme if scheme in ("static", "dynamic") else "dynamic" if block else None,
        "bits": 8,
        "group_size": next(items(block, int), None),
        "granularity": "block" if block else "tensor",
        "symmetric": True,
        **_ignored(items(config.get("modules_to_not_convert") or config.get("ignored_layers"), str), moe),
    }


def _compressed_tensors(config: Mapping[str, Any], moe: bool) -> dict[str, Any]:
    groups = [group for group in mapping(config.get("config_groups")).values() if isinstance(group, dict)]
    group = groups[0] if groups else {}
    weights, inputs = mapping(group.get("weights")), mapping(group.get("input_activations"))
    kv = mapping(config.get("kv_cache_scheme"))
    size = whole(weights.get("group_size"))
    dynamic = inputs.get("dynamic")
    strategy = {"tensor_group": "group", "attn_head": "channel"}.get(
        str(weights.get("strategy")), weights.get("strategy")
    )
    targets = " ".join(text for item in groups for text in items(item.get("targets"), str))
    values = {
        "method": "compressed-tensors",
        "weight_format": _tensor_format(weights),
        "activation_format": _tensor_format(inputs) if inputs else None,
        # `local` scales of blocks are computed at run time under a calibrated global one.
        "activation_scheme": "none" if not inputs else "static" if dynamic in (False, "local") else "dynamic",
        "bits": whole(weights.get("num_bits")),
        "group_size": size,
        "granularity": strategy if strategy in ("tensor", "channel", "group", "block", "token") else None,
        "symmetric": _flag(weights.get("symmetric")),
        "kv_cache_format": _tensor_format(kv) if kv else None,
        "kv_cache_dynamic": _flag(kv.get("dynamic")),
        "producer": "llm-compressor" if "version" in config else None,
        "producer_version": str(config["version"])[:40] if isinstance(config.get("version"), str) else None,
        **_ignored(items(config.get("ignore"), str), moe),
    }
    if "lm_head" in targets:
        values["output_layer_quantised"] = True
    return values


def _tensor_format(scheme: Mapping[str, Any]) -> str | None:
    bits = whole(scheme.get("num_bits"))
    if bits is None:
        return None
    if scheme.get("type") != "float":
        return f"int{bits}" if bits <= 16 else None
    size = whole(scheme.get("group_size"))
    if bits == 4:
        return "nvfp4" if size == 16 else "mxfp4"
    return "mxfp8" if bits == 8 and size == 32 else {8: "fp8", 6: "fp6"}.get(bits)


def _modelopt(config: Mapping[str, Any], producer: Mapping[str, Any], moe: bool) -> dict[str, Any] | None:
    algorithm = config.get("quant_algo")
    if not isinstance(algorithm, str) and algorithm is not None:
        return None
    weights, activations = _MODELOPT.get(str(algorithm).upper(), (None, None))
    kv = config.get("kv_cache_quant_algo")
    version = producer.get("version")
    ignored = config.get("exclude_modules", config.get("ignore"))
    # The one format whose activations need no calibrated scale in a checkpoint of modelopt is the dynamic one.
    scheme = "dynamic" if activations and "PER_TOKEN" in str(algorithm) else "static" if activations else "none"
    size = whole(config.get("group_size"))
    return {
        "method": "modelopt",
        "weight_format": weights,
        "activation_format": activations,
        "activation_scheme": scheme if weights else None,
        "bits": {"nvfp4": 4, "mxfp4": 4, "int4": 4}.get(weights, 8) if weights else None,
        "group_size": size if size and size > 0 else None,
        "kv_cache_format": {"FP8": "fp8", "INT8": "int8", "NVFP4": "nvfp4"}.get(str(kv).upper()),
        "producer": str(producer.get("name"))[:60] if producer.get("name") else None,
        "producer_version": version[:40] if isinstance(version, str) else None,
        **_ignored(items(ignored, str), moe),
    }


def _ignored(patterns: Any, moe: bool) -> dict[str, Any]:
    """Ignored modules, and whether output layer and router are among them. Without any list nothing can be said."""
    names = [name[:_LONGEST_NAME] for name in patterns]
    if not names:
        return {}
    return {
        "ignored_layers": tuple(names[:_MOST_IGNORED]),
        "ignored_count": len(names),
        "output_layer_quantised": not any(_OUTPUT_LAYER.search(name) for name in names),
        "router_quantised": not any(_ROUTER.search(name) for name in names) if moe else None,
    }


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
