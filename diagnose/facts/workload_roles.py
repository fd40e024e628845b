"""Tells training from inference by the words that people and programs use: commands, images, names, partitions.

A word counts only where it stands alone (`train`, not `constraint`). The surest source that decides wins: a command
line says what runs, a partition only where somebody put it. Words of both in one source decide nothing, except that a
training command which names a serving engine (rollouts of reinforcement learning) trains.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

TRAINING, INFERENCE, INTERACTIVE, UNKNOWN = "training", "inference", "interactive", "unknown"

SOURCES = ("command", "image", "name", "label", "partition", "namespace")
"""Where words may stand, the surest first."""


class Role(NamedTuple):
    """What a workload does, where that is told, and in which words."""

    role: str
    told_by: str | None = None
    words: str | None = None


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z])(?:{'|'.join(patterns)})(?![a-z])", re.IGNORECASE)


_INFERENCE = _words(
    r"vllm",
    r"sglang",
    r"text-generation-(?:inference|launcher|server|router)",
    r"tgi",
    r"tritonserver",
    r"triton-server",
    r"trt-?llm(?:-serve)?",
    r"tensorrt[-_]?llm",
    r"lmdeploy",
    r"ollama",
    r"llama-server",
    r"k?serve",
    r"(?:model|llm)?-?serving",
    r"infer(?:ence)?",
    r"predictor",
    r"torchserve",
    r"mii",
    r"online",
    r"low-?latency",
)
_TRAINING = _words(
    r"torchrun",
    r"deepspeed",
    r"accelerate",
    r"megatron(?:-lm)?",
    r"(?:pre-?)?train(?:ing|er|s)?",
    r"pre_train",
    r"fine-?tun(?:e|ing)",
    r"finetuner?",
    r"sft",
    r"rlhf",
    r"grpo",
    r"dpo",
    r"axolotl",
    r"llama-?factory",
    r"pytorchjobs?",
    r"mpijobs?",
    r"horovod(?:run)?",
    r"torch\.distributed\.(?:run|launch)",
)
_INTERACTIVE = _words(r"jupyter(?:lab|hub)?(?:-\w+)?", r"notebook", r"interactive", r"code-server", r"vscode")
_CLIENT = _words(r"bench(?:mark)?(?:_serving)?", r"genai-perf", r"aiperf", r"perf_analyzer", r"loadgen", r"locust")


def role_of(texts: Mapping[str, str | None]) -> Role:
    """The role that texts by source (see SOURCES) tell; unknown where none decides."""
    for source in SOURCES:
        text = texts.get(source)
        if text and (role := _role(text, source)) is not None:
            return role
    return Role(UNKNOWN)


def _role(text: str, source: str) -> Role | None:
    if _CLIENT.search(text):
        # What drives a server with requests names the server, and is none.
        return None
    trains, infers = _TRAINING.search(text), _INFERENCE.search(text)
    if trains is not None and (infers is None or source == "command"):
        return Role(TRAINING, source, trains[0])
    if infers is not None and trains is None:
        return Role(INFERENCE, source, infers[0])
    interactive = _INTERACTIVE.search(text)
    return Role(INTERACTIVE, source, interactive[0]) if interactive is not None and trains is infers is None else None
