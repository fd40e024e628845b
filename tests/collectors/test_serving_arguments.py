from __future__ import annotations

from pathlib import Path

from collectors.scan import scan_file
from collectors.serving_arguments import ServingArguments
from collectors.serving_settings import Settings, pairs
from tests.collectors.helpers import block, damaged

SCRIPT = """\
#!/bin/bash
# serves the chat model
export HF_HOME=/models
vllm serve acme/chat-70b \\
  --tensor-parallel-size 4 --max-num-seqs 256 \\
  --max-num-batched-tokens=8192 \\
  --no-enable-prefix-caching \\
  --kv-cache-dtype fp8
"""
POD = """\
        - --model-path=acme/moe
        - --tp-size=8
        - --chunked-prefill-size=-1
        - --mem-fraction-static=0.88
        - --cuda-graph-max-bs=64
        - "--disable-radix-cache"
"""
MEGATRON = """\
    --tensor-model-parallel-size 4 \\
    --pipeline-model-parallel-size 2 \\
    --micro-batch-size 1
"""


def test_a_script_tells_engine_and_settings() -> None:
    assert ServingArguments.resembles(SCRIPT.splitlines()) >= 0.5
    settings, engine = ServingArguments.parse(block(SCRIPT)).facts
    assert settings.values() == {
        "engine": "vllm",
        "max_running_requests": 256,
        "max_batched_tokens": 8192,
        "prefix_caching": False,
        "kv_cache_dtype": "fp8",
        "tensor_parallel_size": 4,
    }
    assert engine.values()["name"] == "vllm"


def test_arguments_of_a_pod_are_known_by_their_names() -> None:
    settings, engine = ServingArguments.parse(block(POD)).facts
    assert settings.values() == {
        "engine": "sglang",
        "chunked_prefill": False,
        "prefix_caching": False,
        "cuda_graph_max_batch": 64,
        "memory_utilization_ratio": 0.88,
        "tensor_parallel_size": 8,
    }
    assert engine.values() == {"name": "sglang", "model": "acme/moe"}


def test_arguments_of_training_are_not_taken() -> None:
    assert ServingArguments.resembles(MEGATRON.splitlines()) == 0.0


def test_damage_does_not_raise() -> None:
    for text in (*damaged(SCRIPT), *damaged(POD)):
        ServingArguments.resembles(text.splitlines())
        ServingArguments.parse(block(text))


def test_a_value_that_makes_no_sense_sets_nothing() -> None:
    settings = Settings()
    for name, value in (("max_num_seqs", "many"), ("gpu_memory_utilization", "9"), ("max_model_len", "$LEN")):
        settings.take(name, value)
    assert settings.values == {}


def test_pairs_keep_lists_together() -> None:
    assert list(pairs("f(a_b=[1, 2], cc='x y', 'd-e': 3)")) == [("a_b", "[1, 2]"), ("cc", "x y"), ("d-e", "3")]


def test_arguments_of_the_cases_are_read(corpus: Path) -> None:
    path = corpus / "cases" / "jitter-overload-queueing" / "server_args.txt"
    settings = next(fact for fact in scan_file(path, "args").facts if fact.kind == "serving-settings").values()
    assert (settings["max_running_requests"], settings["chunked_prefill"]) == (128, False)
