from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collectors.benchmark_json import BenchmarkJson
from collectors.inputs import FileResult, Status
from collectors.scan import scan_file
from diagnose.facts.series import Requests
from tests.collectors.helpers import damaged

SUMMARY: dict[str, Any] = {
    "date": "20260304-050607",
    "backend": "vllm",
    "model_id": "acme/chat",
    "tokenizer_id": "acme/chat",
    "num_prompts": 4,
    "request_rate": 2.0,
    "burstiness": 1.0,
    "max_concurrency": None,
    "duration": 10.0,
    "completed": 3,
    "total_input_tokens": 30,
    "total_output_tokens": 12,
    "request_throughput": 0.3,
    "output_throughput": 1.2,
    "mean_ttft_ms": 100.0,
    "median_ttft_ms": 90.0,
    "p99_ttft_ms": 400.0,
    "p99_itl_ms": 50.0,
    "median_e2el_ms": 700.0,
}
DETAILED = SUMMARY | {
    "input_lens": [10, 11, 12, 13],
    "output_lens": [3, 3, 1, 0],
    "ttfts": [0.1, 0.2, 0.3, 0.0],
    "itls": [[0.01, 0.03], [0.02, 0.02], [], []],
    "start_times": [5.0, 5.5, 6.0, 6.5],
    "generated_texts": ["a", "b", "c", ""],
    "errors": ["", "", "", "timeout"],
}
SGLANG = {
    "backend": "sglang",
    "dataset_name": "random",
    "request_rate": "inf",
    "max_concurrency": 32,
    "completed": 100,
    "total_input_tokens": 9,
    "request_throughput": 8.0,
    "median_e2e_latency_ms": 1500.0,
    "mean_ttft_ms": 55.0,
}


def read(tmp_path: Path, text: str) -> FileResult:
    path = tmp_path / "result.json"
    path.write_text(text)
    return scan_file(path, "result.json")


def test_a_summary_is_a_result(tmp_path: Path) -> None:
    (fact,) = read(tmp_path, json.dumps(SUMMARY)).facts
    assert fact.values() == {
        "tool": "vllm-bench",
        "engine": "vllm",
        "model": "acme/chat",
        "load_model": "open",
        "requested_rate_per_second": 2.0,
        "duration_seconds": 10.0,
        "completed": 3,
        "failed": 1,
        "input_tokens": 30,
        "output_tokens": 12,
        "requests_per_second": 0.3,
        "output_tokens_per_second": 1.2,
        "ttft_mean_seconds": 0.1,
        "ttft_p50_seconds": 0.09,
        "ttft_p99_seconds": 0.4,
        "itl_p99_seconds": 0.05,
        "e2e_p50_seconds": 0.7,
    }


def test_a_detailed_result_holds_the_requests(tmp_path: Path) -> None:
    (table,) = read(tmp_path, json.dumps(DETAILED, indent=1)).series
    assert isinstance(table, Requests)
    assert table.columns["end_to_end_seconds"][:3] == pytest.approx([0.14, 0.24, 0.3])
    assert np.isnan(table.columns["ttft_seconds"][3])
    assert list(table.columns["succeeded"]) == [1, 1, 1, 0]
    assert list(table.columns["start_seconds"]) == [5.0, 5.5, 6.0, 6.5]
    assert table.inter_token_seconds is not None
    assert table.inter_token_seconds == pytest.approx([0.01, 0.03, 0.02, 0.02])


def test_json_lines_hold_one_result_each(tmp_path: Path) -> None:
    facts = read(tmp_path, json.dumps(SGLANG) + "\n" + json.dumps(SGLANG | {"max_concurrency": 64}) + "\n").facts
    assert [fact.values()["max_concurrency"] for fact in facts] == [32.0, 64.0]
    assert [fact.sources[0].line for fact in facts] == [1, 2]
    assert {fact.values()["load_model"] for fact in facts} == {"closed"}


def test_numbers_that_were_taken_out_are_refused(tmp_path: Path) -> None:
    result = read(tmp_path, json.dumps(SUMMARY | {"mean_ttft_ms": "XX"}))
    assert result.reports[0].status is Status.PARTIAL
    assert result.reports[0].detail == "line 1: mean_ttft_ms is 'XX', no number"
    assert "ttft_mean_seconds" not in result.facts[0].values()


def test_what_comes_before_a_cut_is_read(tmp_path: Path) -> None:
    result = read(tmp_path, json.dumps(SGLANG) + "\n" + json.dumps(SGLANG)[:90])
    assert len(result.facts) == 1
    assert result.reports[0].detail == "line 2: the JSON is damaged or incomplete"


def test_damage_does_not_raise(tmp_path: Path) -> None:
    for at, text in enumerate(damaged(json.dumps(DETAILED))):
        if at % 16 == 0:
            result = read(tmp_path, text)
            assert not any(", reading " in (report.detail or "") for report in result.reports)


def test_other_objects_are_left_alone() -> None:
    assert not BenchmarkJson.recognises(b'{"results": [1, 2], "duration": 3}', "x.json")


def test_the_result_of_the_corpus_is_read(corpus: Path) -> None:
    path = corpus / "files" / "inference-bench" / "dstack-pd-2p2d_conc128_in2048_out2048.json"
    (fact,) = scan_file(path, "x").facts
    assert (fact.values()["load_model"], fact.values()["max_concurrency"]) == ("closed", 128.0)
