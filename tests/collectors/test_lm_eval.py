from __future__ import annotations

import json

import pytest

from collectors.lm_eval import LmEvalExpectation, LmEvalJson, LmEvalTable
from diagnose.facts import Fact
from diagnose.facts.precision import EvaluationResult
from tests.collectors.helpers import block, damaged, opened

TABLE = """\
| Tasks  |Version|     Filter     |n-shot|  Metric   |   |Value |   |Stderr|
|--------|------:|----------------|-----:|-----------|---|-----:|---|-----:|
|gsm8k   |      3|flexible-extract|     5|exact_match|↑  |0.7521|±  |0.0119|
|        |       |strict-match    |     5|exact_match|↑  |0.7468|±  |0.0120|
|wikitext|      2|none            |     0|word_perplexity|↓|8.4459|±  |   N/A|
"""
RESULTS = {
    "results": {
        "gsm8k": {"alias": "gsm8k", "exact_match,strict-match": 0.71, "exact_match_stderr,strict-match": 0.0125},
        "hellaswag": {"acc,none": 0.6, "acc_stderr,none": "N/A"},
    },
    "n-samples": {"gsm8k": {"original": 1319, "effective": 1319}},
    "config": {"model": "vllm", "model_args": "pretrained=org/Model-8B,kv_cache_dtype=fp8_e4m3"},
}
YAML = """\
model_name: "org/Model-8B-Instruct-W4A16"
tasks:
- name: "gsm8k"
  metrics:
  - name: "exact_match,strict-match"
    value: 0.684
limit: 250
num_fewshot: 5
"""


def results(facts: list[Fact]) -> list[EvaluationResult]:
    return [fact for fact in facts if isinstance(fact, EvaluationResult)]


def test_rows_of_the_table_take_the_task_above() -> None:
    found = results(LmEvalTable.parse(block(TABLE, path="eval_bf16.txt")).facts)
    assert [(fact.task, fact.metric, fact.value, fact.stderr) for fact in found] == [
        ("gsm8k", "exact_match,flexible-extract", 0.7521, 0.0119),
        ("gsm8k", "exact_match,strict-match", 0.7468, 0.0120),
        ("wikitext", "word_perplexity", 8.4459, None),
    ]
    assert [fact.higher_is_better for fact in found] == [True, True, False]
    assert {fact.role for fact in found} == {"reference"}


def test_json_results_tell_what_is_in_low_bits() -> None:
    gsm8k, hellaswag = results(LmEvalJson.parse(block(json.dumps(RESULTS))).facts)
    assert (gsm8k.items, gsm8k.stderr, gsm8k.differs_in, gsm8k.precision) == (1319, 0.0125, "kv-cache", "fp8")
    assert (hellaswag.metric, hellaswag.stderr, hellaswag.role) == ("acc", None, "low-bit")


def test_expected_scores_in_yaml() -> None:
    (fact,) = results(LmEvalExpectation.parse(block(YAML)).facts)
    assert (fact.task, fact.value, fact.items, fact.precision) == ("gsm8k", 0.684, 250, "int4")


def test_each_opens_its_own() -> None:
    assert len(opened(LmEvalTable, TABLE)) == 1
    assert opened(LmEvalExpectation, YAML) == ['model_name: "org/Model-8B-Instruct-W4A16"']
    assert LmEvalJson.resembles(json.dumps(RESULTS, indent=2).splitlines()) > 0.5


@pytest.mark.parametrize("text", [TABLE, json.dumps(RESULTS), YAML])
def test_damage_is_survived(text: str) -> None:
    for part in damaged(text):
        for collector in (LmEvalTable, LmEvalJson, LmEvalExpectation):
            collector.parse(block(part))
