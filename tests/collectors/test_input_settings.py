from __future__ import annotations

import json
from typing import Any

from collectors.input_settings import GenerationConfigJson, InputSettingsJson
from diagnose.facts.precision import InputSettings, SamplingSettings
from tests.collectors.helpers import block, damaged

TOKENIZER = {
    "add_bos_token": True,
    "bos_token": {"content": "<s>", "lstrip": False},
    "chat_template": "{% for m in messages %}" + "x" * 300,
    "tokenizer_class": "LlamaTokenizer",
    "name_or_path": "/somewhere",
}
PREPROCESSOR = {"image_mean": [0.5, 0.5, 0.5], "size": {"width": 224, "height": 224}, "rescale_factor": 0.5}


def settings(content: dict[str, Any], path: str = "bf16/tokenizer_config.json") -> InputSettings:
    (fact,) = InputSettingsJson.parse(block(json.dumps(content, indent=2), path=path)).facts
    assert isinstance(fact, InputSettings)
    return fact


def test_tokenizer_settings_that_change_the_input() -> None:
    fact = settings(TOKENIZER)
    found = dict(fact.settings)
    assert (fact.sort, fact.role) == ("tokenizer", "reference")
    assert set(found) == {"add_bos_token", "bos_token", "chat_template"}
    assert (found["add_bos_token"], found["bos_token"]) == ("true", "<s>")
    assert "323 characters" in found["chat_template"]


def test_chat_templates_of_one_length_differ_by_their_hash() -> None:
    other = {**TOKENIZER, "chat_template": TOKENIZER["chat_template"][:-1] + "y"}  # type: ignore[index]
    assert dict(settings(TOKENIZER).settings)["chat_template"] != dict(settings(other).settings)["chat_template"]


def test_preprocessor_settings() -> None:
    fact = settings(PREPROCESSOR)
    assert fact.sort == "preprocessor"
    assert dict(fact.settings)["size"] == '{"height": 224, "width": 224}'


def test_generation_settings_keep_what_is_absent_absent() -> None:
    text = json.dumps({"temperature": 0.6, "top_p": 0.9, "do_sample": True, "eos_token_id": [2]}, indent=1)
    (fact,) = GenerationConfigJson.parse(block(text, path="suspect/generation_config.json")).facts
    assert isinstance(fact, SamplingSettings)
    assert (fact.temperature, fact.top_p, fact.do_sample, fact.role) == (0.6, 0.9, True, "low-bit")
    assert (fact.top_k, fact.seed) == (None, None)


def test_requests_and_results_are_no_generation_config() -> None:
    assert not GenerationConfigJson.told_by('{"temperature": 0, "top_p": 1, "prompt": "hello"}')
    assert not GenerationConfigJson.told_by('{"temperature": 0, "gpu": 3}')


def test_damage_is_survived() -> None:
    for text in damaged(json.dumps({**TOKENIZER, **PREPROCESSOR})):
        InputSettingsJson.parse(block(text))
        GenerationConfigJson.parse(block(text))
