from __future__ import annotations

import pytest

from collectors.precision_words import about_kv_cache, is_low, precision_of, role_of


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("Llama-3-8B-Instruct-GPTQ", "int4"),
        ("org/Model-7B-FP8-dynamic", "fp8"),
        ("model-NVFP4", "nvfp4"),
        ("run_w8a8", "int8"),
        ("fp8_e4m3", "fp8"),
        ("fp8_e5m2", "fp8-e5m2"),
        ("q4_K_M.gguf", "int4"),
        ("logits_bf16.npz", "bf16"),
        ("Model-FP8-vs-bf16", "fp8"),
        ("Model-8B-Instruct", None),
        ("int8_per_token_head", "int8"),
        ("halfway", None),
    ],
)
def test_formats_are_told_by_names(name: str, precision: str | None) -> None:
    assert precision_of(name) == precision


def test_only_formats_below_16_bits_are_low() -> None:
    assert is_low("fp8")
    assert not is_low("bf16")
    assert not is_low(None)


def test_kv_cache_is_a_word_of_its_own() -> None:
    assert about_kv_cache("lm_eval_fp8_kv.txt")
    assert not about_kv_cache("Mkv-7B")


@pytest.mark.parametrize(
    ("path", "content", "role"),
    [
        ("runs/out_reference.log", (), "reference"),
        ("runs/suspect.jsonl", (), "low-bit"),
        ("runs/eval-bf16.json", (), "reference"),
        ("runs/eval-int4.json", (), "low-bit"),
        ("bf16/tokenizer_config.json", (), "reference"),
        ("after/tokenizer_config.json", (), "low-bit"),
        ("archive.tar!fp8/generation_config.json", (), "low-bit"),
        ("some-long-name-about-fp8-things/tokenizer_config.json", (), None),
        ("results.json", (), None),
        ("out-bf16.json", ("Model-FP8",), "low-bit"),
    ],
)
def test_role_is_told_by_content_then_file_then_folder(path: str, content: tuple[str, ...], role: str | None) -> None:
    found = role_of(path, *content)
    assert found.role == role
    assert (found.told_by is None) == (role is None)
