from __future__ import annotations

import json

import pytest

from collectors.run_outputs import RunOutputs, degenerate
from diagnose.facts.precision import GeneratedText, LogprobSequence, SamplingSettings, TokenSequence
from tests.collectors.helpers import block, damaged, opened

IDS = '{"id": "a", "prompt_token_ids": [1, 5, 9]}\n{"id": "b", "prompt_token_ids": [[1, 7]]}\n'
TEXTS = (
    '{"prompt": "q", "text": "It is four.", "sampling_params": {"temperature": 0.0, "top_p": 1.0}}\n'
    '{"prompt": "r", "text": "!!!!!!!!!!!!!!!!", "sampling_params": {"temperature": 0.0}}\n'
)
VLLM = {"index": 0, "prompt_logprobs": [None, {"5": {"logprob": -0.1, "rank": 1}, "8": {"logprob": -2.5}}]}
CHAT = {
    "id": "x",
    "choices": [
        {
            "message": {"content": "Four"},
            "logprobs": {
                "content": [
                    {
                        "token": "Four",
                        "logprob": -0.2,
                        "top_logprobs": [{"token": "4", "logprob": -1.8}, {"token": "Four", "logprob": -0.2}],
                    }
                ]
            },
        }
    ],
}


def test_token_ids_by_prompt() -> None:
    facts = RunOutputs.parse(block(IDS, path="ids_fp8.jsonl")).facts
    assert [(fact.prompt, fact.ids, fact.role) for fact in facts if isinstance(fact, TokenSequence)] == [
        ("a", (1, 5, 9), "low-bit"),
        ("b", (1, 7), "low-bit"),
    ]


def test_texts_are_summed_up_with_their_sampling() -> None:
    facts = RunOutputs.parse(block(TEXTS)).facts
    (text,) = (fact for fact in facts if isinstance(fact, GeneratedText))
    (sampling,) = (fact for fact in facts if isinstance(fact, SamplingSettings))
    assert (text.outputs, text.degenerate, text.greedy, text.role) == (2, 1, True, None)
    assert (sampling.temperature, sampling.top_p) == (0.0, 1.0)


@pytest.mark.parametrize(("record", "expected"), [
    (VLLM, (("5", -0.1), ("8", -2.5))),
    (CHAT, (("Four", -0.2), ("4", -1.8))),
])  # fmt: skip
def test_log_probabilities_best_first(record: dict[str, object], expected: tuple[tuple[str, float], ...]) -> None:
    facts = RunOutputs.parse(block(json.dumps(record))).facts
    (fact,) = (fact for fact in facts if isinstance(fact, LogprobSequence))
    assert fact.top == (expected,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!!!!!!!!!!!!", True),
        ("no no no no no no no no no", True),
        ("!!!", False),
        ("yes", False),
        ("The answer is 4. The answer is 4.", False),
        ("", False),
    ],
)
def test_degenerate_texts_say_one_thing(text: str, expected: bool) -> None:
    assert degenerate(text) is expected


def test_logs_and_benchmarks_are_no_outputs() -> None:
    text = (
        '{"level": "info", "text": "started", "id": 3}\n{"text": "only text"}\n'
        '{"ttft": 0.1, "output_tokens": 3, "text": "x"}\n'
    )
    assert opened(RunOutputs, text) == []
    assert len(opened(RunOutputs, IDS)) == 2


def test_broken_line_is_named() -> None:
    parsed = RunOutputs.parse(block(IDS + '{"id": "c", "prompt_token_'))
    assert parsed.problems == ["line 3: the JSON is damaged or incomplete"]


def test_damage_is_survived() -> None:
    for text in damaged(IDS + TEXTS + json.dumps(CHAT) + "\n" + json.dumps(VLLM)):
        RunOutputs.parse(block(text))
