from __future__ import annotations

import pytest

from diagnose.facts.workload_roles import INFERENCE, INTERACTIVE, TRAINING, UNKNOWN, role_of


@pytest.mark.parametrize(
    ("texts", "role", "told_by"),
    [
        ({"command": "python3 -m vllm.entrypoints.openai.api_server --model m"}, INFERENCE, "command"),
        ({"command": "torchrun --nproc-per-node 8 run.py"}, TRAINING, "command"),
        ({"command": "python train.py --rollout-engine vllm"}, TRAINING, "command"),
        ({"image": "vllm-openai:v0.9", "name": "train-helper"}, INFERENCE, "image"),
        ({"name": "qwen-sft-3"}, TRAINING, "name"),
        ({"name": "bash", "partition": "low-latency"}, INFERENCE, "partition"),
        ({"name": "jupyter-alice"}, INTERACTIVE, "name"),
        ({"name": "constraint-solver", "partition": "gpu"}, UNKNOWN, None),
        ({"name": "train-and-serve"}, UNKNOWN, None),
        ({"command": "genai-perf profile -m vllm"}, UNKNOWN, None),
        ({}, UNKNOWN, None),
    ],
)
def test_words_that_stand_alone_tell_the_role(texts: dict[str, str], role: str, told_by: str | None) -> None:
    found = role_of(texts)
    assert (found.role, found.told_by) == (role, told_by)
