from __future__ import annotations

import json
from typing import Any

import pytest

from collectors.quantisation_config import QuantisationConfigJson
from diagnose.facts.precision import QuantisationConfig
from tests.collectors.helpers import block, damaged, opened

COMPRESSED = {
    "architectures": ["SomeForCausalLM"],
    "quantization_config": {
        "quant_method": "compressed-tensors",
        "version": "0.9.1",
        "config_groups": {
            "group_0": {
                "targets": ["Linear"],
                "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": True},
                "input_activations": {"num_bits": 8, "type": "float", "dynamic": True, "strategy": "token"},
            }
        },
        "ignore": ["lm_head", "re:.*mlp.gate$"],
        "kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": False},
    },
    "num_experts": 64,
}
MODELOPT = {
    "producer": {"name": "modelopt", "version": "0.29.0"},
    "quantization": {
        "quant_algo": "NVFP4",
        "kv_cache_quant_algo": "FP8",
        "group_size": 16,
        "exclude_modules": ["lm_head"],
    },
}


def config(content: dict[str, Any]) -> QuantisationConfig:
    (fact,) = QuantisationConfigJson.parse(block(json.dumps(content, indent=1))).facts
    assert isinstance(fact, QuantisationConfig)
    return fact


def test_compressed_tensors_tells_formats_granularity_and_ignored_layers() -> None:
    fact = config(COMPRESSED)
    assert (fact.method, fact.weight_format, fact.activation_format) == ("compressed-tensors", "int4", "fp8")
    assert (fact.granularity, fact.group_size, fact.symmetric) == ("group", 128, True)
    assert (fact.activation_scheme, fact.kv_cache_format, fact.kv_cache_dynamic) == ("dynamic", "fp8", False)
    assert (fact.output_layer_quantised, fact.router_quantised) == (False, False)
    assert (fact.ignored_count, fact.producer, fact.producer_version) == (2, "llm-compressor", "0.9.1")


def test_router_that_is_not_ignored_is_quantised() -> None:
    content = json.loads(json.dumps(COMPRESSED))
    content["quantization_config"]["ignore"] = ["lm_head"]
    assert config(content).router_quantised is True
    del content["num_experts"]
    assert config(content).router_quantised is None


def test_modelopt_names_algorithms() -> None:
    fact = config(MODELOPT)
    assert (fact.method, fact.weight_format, fact.activation_format) == ("modelopt", "nvfp4", "nvfp4")
    assert (fact.kv_cache_format, fact.group_size, fact.producer_version) == ("fp8", 16, "0.29.0")


@pytest.mark.parametrize(("form", "zero"), [("gptq", 7), ("gptq_v2", 8), ("marlin", None)])
def test_gptq_format_tells_the_zero_point_of_symmetric_weights(form: str, zero: int | None) -> None:
    fact = config({"bits": 4, "sym": True, "checkpoint_format": form, "quant_method": "gptq", "group_size": 64})
    assert (fact.stored_zero_point, fact.granularity, fact.group_size) == (zero, "group", 64)


def test_asymmetric_weights_have_no_one_zero_point() -> None:
    assert config({"bits": 4, "sym": False, "checkpoint_format": "gptq", "group_size": -1}).stored_zero_point is None


def test_gptq_without_groups_is_per_channel() -> None:
    fact = config({"bits": 3, "group_size": -1, "desc_act": True})
    assert (fact.granularity, fact.group_size, fact.desc_act, fact.weight_format) == ("channel", None, True, "int3")


def test_awq_states_symmetry_by_its_zero_point() -> None:
    fact = config({"w_bit": 4, "q_group_size": 128, "zero_point": True, "version": "GEMM"})
    assert (fact.method, fact.symmetric, fact.group_size) == ("awq", False, 128)


def test_block_scaled_fp8() -> None:
    content = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
    fact = config({"quantization_config": content})
    assert (fact.weight_format, fact.granularity, fact.group_size) == ("fp8", "block", 128)
    assert fact.activation_scheme == "dynamic"


def test_one_line_opens_and_many_lines_resemble() -> None:
    text = json.dumps({"bits": 4, "group_size": 128, "desc_act": False})
    assert opened(QuantisationConfigJson, text) == [text]
    assert QuantisationConfigJson.resembles(json.dumps(MODELOPT, indent=2).splitlines()) > 0.5
    assert QuantisationConfigJson.resembles(['{"a": 1,', '"bits": 3}']) == 0.0


def test_damage_is_survived() -> None:
    for text in damaged(json.dumps(COMPRESSED)):
        QuantisationConfigJson.parse(block(text))


@pytest.mark.parametrize("part", ["config_groups", "ignore", "kv_cache_scheme", "version"])
@pytest.mark.parametrize("value", [None, 3, "x", [1, {}], {"a": [None]}])
def test_any_shape_is_survived(part: str, value: object) -> None:
    content = json.loads(json.dumps(COMPRESSED))
    content["quantization_config"][part] = value
    QuantisationConfigJson.parse(block(json.dumps(content)))
