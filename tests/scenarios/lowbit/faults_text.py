"""Faults that show in texts: settings, logs, scores and tables, as tools print them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.scenarios.lowbit.faults_weights import Fault
from tests.scenarios.lowbit.run import Runs


def lm_eval(value: float, error: float) -> str:
    """The table at the end of an evaluation."""
    return (
        "|Tasks|Version|     Filter     |n-shot|  Metric   |   |Value |   |Stderr|\n"
        "|-----|------:|----------------|-----:|-----------|---|-----:|---|-----:|\n"
        f"|gsm8k|      3|strict-match    |     5|exact_match|↑  |{value:.4f}|±  |{error:.4f}|\n"
    )


def sampling(runs: Runs, severity: int) -> None:
    runs.with_tensors = False
    high = {"temperature": 0.0, "top_p": 1.0}
    low = ({"temperature": 0.0, "top_p": 1.0, "repetition_penalty": 1.05}, {"temperature": 0.3, "top_p": 1.0},
           {"temperature": 0.8, "top_p": 0.9, "do_sample": True})[severity]  # fmt: skip
    runs.files["reference/generation_config.json"] = json.dumps(high, indent=2)
    runs.files["suspect/generation_config.json"] = json.dumps(low, indent=2)
    texts = [f"The result of step {number} is {number * 7}." for number in range(4)]
    others = [text.replace("result", "outcome") if number % (3 - severity) == 0 else text
              for number, text in enumerate(texts)]  # fmt: skip
    for name, said in (("reference/texts.jsonl", texts), ("suspect/texts.jsonl", others)):
        runs.files[name] = "".join(json.dumps({"id": at, "text": text}) + "\n" for at, text in enumerate(said))


def kv_scales(runs: Runs, severity: int) -> None:
    runs.with_tensors = False
    low = (0.70, 0.60, 0.21)[severity]
    runs.files["eval_bf16_kv.txt"] = lm_eval(0.81, 0.0108)
    runs.files["eval_fp8_kv.txt"] = lm_eval(low, 0.0126)
    if severity < 2:
        runs.files["server.log"] = (
            "INFO 05-01 17:08:51 [core.py:93] Initializing a V1 LLM engine\n"
            "WARNING 05-01 17:08:53 [kv_cache.py:123] Using KV cache scaling factor 1.0 for fp8_e4m3. If this is "
            "unintended, verify that k/v_scale scaling factors are properly set in the checkpoint.\n"
        )


def emulated(runs: Runs, severity: int) -> None:
    runs.with_tensors = False
    if severity == 0:
        runs.files["gemm.csv"] = "dtype,m,n,k,tflops\nbf16,8192,8192,8192,248\nfp8,8192,8192,8192,236\n"
    elif severity == 1:
        runs.files["config.json"] = json.dumps({"quantization_config": runs.config}, indent=1)
        runs.files["nvidia-smi-L.txt"] = (
            "$ nvidia-smi -L\nGPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0a1b2c3d-1111-2222-3333-444455556666)\n"
        )
    else:
        runs.files["server.log"] = (
            "WARNING 05-30 07:43:37 [marlin.py:300] Your GPU does not have native support for FP8 computation but FP8 "
            "quantization is being used. Weight-only FP8 compression will be used leveraging the Marlin kernel.\n"
        )


def strict_tolerance(runs: Runs, severity: int) -> None:
    runs.with_tensors = False
    mean = (4e-5, 3e-4, 9e-4)[severity]
    runs.files["polygraphy.log"] = (
        "[I] Accuracy Comparison | onnxrt-runner-N0-05/13/26-22:35:48 vs. trt-fp16-N0-05/13/26-22:35:50\n"
        "[I]     Comparing Output: 'logits' (dtype=float32, shape=(1, 9)) with 'logits' (dtype=float32, shape=(1, 9))\n"
        "[I]         Tolerance: [abs=1e-05, rel=1e-05] | Checking elemwise error\n"
        f"[I]             Absolute Difference | Stats: mean={mean}, std-dev=0.1, median={mean}, max={mean * 9}\n"
        f"[I]             Relative Difference | Stats: mean={mean * 4}, std-dev=0.1, median={mean * 3}, max=0.1\n"
        "[E]         FAILED | Output: 'logits' | Difference exceeds tolerance (rel=1e-05, abs=1e-05)\n"
    )


TEXT_FAULTS: Mapping[str, tuple[tuple[str, str, Fault], ...]] = {
    "sampling-mismatch": (("settings", "fp8", sampling),),
    "kv-cache-scales-missing": (("scale of 1", "fp8", kv_scales),),
    "emulated-low-bit": (("FP8 on Ampere", "fp8", emulated),),
    "comparison-setup-error": (("tolerance", "fp8", strict_tolerance),),
}
"""Cause to its ways: name, scheme, and what it does."""


def innocent_files(runs: Runs) -> None:
    """What lies beside runs without a fault: a remark that means nothing, and scores within their errors."""
    value = 0.72 + 0.01 * float(runs.rng.normal())
    runs.files["eval_bf16.txt"] = lm_eval(value, 0.0124)
    runs.files["eval_fp8.txt"] = lm_eval(value + 0.008 * float(runs.rng.normal()), 0.0124)
    runs.files["server.log"] = (
        "INFO 05-01 17:08:51 [config.py:12] Using fp8 data type to store kv cache. It reduces the GPU memory footprint "
        "and boosts the performance. Meanwhile, it may cause accuracy drop without a proper scaling factor\n"
    )
    ids = [int(one) for one in runs.ids]
    for name in ("reference/ids.jsonl", "suspect/ids.jsonl"):
        runs.files[name] = json.dumps({"id": 0, "prompt_token_ids": ids}) + "\n"
