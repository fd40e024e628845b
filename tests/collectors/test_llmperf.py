from __future__ import annotations

import json

from collectors.llmperf import LlmperfSummary
from tests.collectors.helpers import block, damaged

SUMMARY = {
    "version": "2023-08-31",
    "name": "acme",
    "model": "acme/chat",
    "num_concurrent_requests": 5,
    "results_inter_token_latency_s_quantiles_p50": 0.02,
    "results_inter_token_latency_s_quantiles_p99": 0.09,
    "results_ttft_s_quantiles_p50": 0.3,
    "results_ttft_s_quantiles_p99": 2.5,
    "results_ttft_s_mean": 0.4,
    "results_end_to_end_latency_s_max": 9.0,
    "results_number_errors": 2,
    "results_mean_output_throughput_token_per_s": 110.0,
    "results_num_completed_requests": 148,
    "results_num_completed_requests_per_min": 30.0,
}


def test_a_summary_is_a_result_of_a_closed_loop() -> None:
    (fact,) = LlmperfSummary.parse(block(json.dumps(SUMMARY))).facts
    assert fact.values() == {
        "tool": "llmperf",
        "model": "acme/chat",
        "load_model": "closed",
        "max_concurrency": 5.0,
        "completed": 148,
        "failed": 2,
        "requests_per_second": 0.5,
        "output_tokens_per_second": 110.0,
        "ttft_mean_seconds": 0.4,
        "ttft_p50_seconds": 0.3,
        "ttft_p99_seconds": 2.5,
        "itl_p50_seconds": 0.02,
        "itl_p99_seconds": 0.09,
        "e2e_max_seconds": 9.0,
    }


def test_damage_does_not_raise() -> None:
    for text in damaged(json.dumps(SUMMARY)):
        LlmperfSummary.parse(block(text))
