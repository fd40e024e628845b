from __future__ import annotations

import pytest

from collectors.precision_log import PrecisionLog
from diagnose.facts.precision import PrecisionNotice
from tests.collectors.helpers import damaged, feed

MARLIN = (
    "WARNING 05-30 07:43:37 [marlin.py:300] Your GPU does not have native support for FP8 computation but FP8 "
    "quantization is being used. Weight-only FP8 compression will be used leveraging the Marlin kernel."
)


def notices(text: str) -> list[PrecisionNotice]:
    return [fact for fact in feed(PrecisionLog, text).facts if isinstance(fact, PrecisionNotice)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (MARLIN, "weight-only-fallback"),
        ("INFO Using fp8 data type to store kv cache. It reduces the GPU memory footprint", "kv-cache-quantised"),
        ("WARNING kv_cache.py:104 Using KV cache scaling factor 1.0 for fp8_e4m3. If unintended", "kv-scale-one"),
        ("Using FP8 KV cache but no scaling factors provided. Defaulting to 1.0.", "kv-scales-default"),
        ("INFO Loaded KV cache scaling factors from /m/kv.json", "kv-scales-loaded"),
        (
            "does not support native MXFP4/MXFP6 computation. Simulated weight dequantization and activation",
            "emulation",
        ),
        ("DeepGemm is enabled but the scale_fmt of checkpoint is not ue8m0.", "scale-format"),
        ("In NVFP4 linear, the global scale for input or weight are different for parallel layers", "scales-differ"),
        ("w1_weight_scale_2 must match w3_weight_scale_2. Accuracy may be affected.", "scales-differ"),
        ("Currently, the 4-bit gptq_gemm kernel for GPTQ is buggy. Please switch to gptq_marlin.", "buggy-kernel"),
        ("WARNING Casting torch.bfloat16 to torch.float16.", "cast-to-fp16"),
        ("RuntimeError: probability tensor contains either `inf`, `nan` or element < 0", "overflow"),
    ],
)
def test_what_engines_say_has_a_code(text: str, code: str) -> None:
    (fact,) = notices(text)
    assert fact.code == code


def test_repeated_lines_are_counted() -> None:
    (fact,) = notices(f"{MARLIN}\nother\n{MARLIN}\n")
    assert (fact.count, fact.format, fact.sources[0].line) == (2, "fp8", 1)


@pytest.mark.parametrize(
    "text",
    [
        "INFO Loading weights in torch.float16",
        "validation loss has nan values filtered: 0",
        "falling back to eager attention",
        "INFO KV cache size: 4096 blocks",
    ],
)
def test_innocent_lines_say_nothing(text: str) -> None:
    assert notices(text) == []


def test_damage_is_survived() -> None:
    for text in damaged(MARLIN):
        notices(text)
