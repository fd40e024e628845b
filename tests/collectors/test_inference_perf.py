from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from collectors.inference_perf import InferencePerfReport
from collectors.scan import scan_file
from tests.collectors.helpers import block, damaged

STATISTICS = {"mean": 0.2, "median": 0.1, "p90": 0.4, "p99": 0.9, "p99.9": 1.5, "max": 2.0}
CLIENT: dict[str, Any] = {
    "load_summary": {
        "count": 100,
        "schedule_delay": {"median": -0.001, "p99": 4.0, "max": 5.0},
        "send_duration": 20.0,
        "requested_rate": 10.0,
        "achieved_rate": 5.0,
    },
    "successes": {
        "count": 90,
        "latency": {
            "request_latency": STATISTICS,
            "time_to_first_token": STATISTICS,
            "inter_token_latency": STATISTICS,
        },
        "throughput": {"requests_per_sec": 4.5, "output_tokens_per_sec": 300.0},
        "prompt_len": {"mean": 200.0},
        "output_len": {"mean": 50.5},
    },
    "failures": {"count": 10, "request_latency": None},
}
SERVER: dict[str, Any] = {
    "load_summary": {},
    "successes": {
        "count": 100,
        "rate": 5.0,
        "prompt_len": {"mean": 200, "rate": 1000.0},
        "output_len": {"mean": 50, "rate": 250.0},
        "queue_len": {"mean": 12},
        "request_latency": {"mean": 1.0, "median": 0.8, "p90": 2.0, "p99": 3.0},
        "kv_cache_usage_percentage": {"mean": 0.5, "median": 0.6, "p99": 0.99},
        "num_requests_swapped": {"mean": 0},
        "num_preemptions_total": {"mean": 7},
    },
    "failures": {},
}


def test_the_client_s_report_is_a_result() -> None:
    parsed = InferencePerfReport.parse(block(json.dumps(CLIENT), path="run/stage_3_lifecycle_metrics.json"))
    values = parsed.facts[0].values()
    assert (values["stage"], values["load_model"], values["completed"], values["failed"]) == (3, "open", 90, 10)
    assert (values["requested_rate_per_second"], values["achieved_rate_per_second"]) == (10.0, 5.0)
    assert (values["ttft_p50_seconds"], values["e2e_p999_seconds"], values["itl_max_seconds"]) == (0.1, 1.5, 2.0)
    assert (values["client_delay_p50_seconds"], values["client_delay_max_seconds"]) == (0.0, 5.0)
    assert values["input_tokens"] == 18_000


def test_the_server_s_metrics_are_its_load() -> None:
    facts = {fact.kind: fact.values() for fact in InferencePerfReport.parse(block(json.dumps(SERVER))).facts}
    assert facts["serving-load"] == {
        "origin": "report",
        "samples": 1,
        "waiting_median": 12.0,
        "kv_cache_usage_median_ratio": 0.6,
        "kv_cache_usage_max_ratio": 0.99,
        "generation_tokens_per_second_median": 250.0,
        "prompt_tokens_per_second_median": 1000.0,
        "swapped_max": 0.0,
        "requests_per_second": 5.0,
    }
    assert facts["serving-latency"]["p99_seconds"] == 3.0
    assert facts["serving-event"]["count"] == 7


def test_a_report_laid_out_over_many_lines_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "stage_0.json").write_text(json.dumps(CLIENT, indent=2))
    result = scan_file(tmp_path / "stage_0.json", "stage_0.json")
    assert [report.kind for report in result.reports] == ["inference-perf"]


def test_a_report_without_success_says_so() -> None:
    text = json.dumps({"load_summary": {}, "successes": {}, "failures": {"count": 9}})
    assert InferencePerfReport.parse(block(text)).problems == ["line 1: the report holds no request that succeeded"]


def test_damage_does_not_raise() -> None:
    for text in (*damaged(json.dumps(CLIENT)), *damaged(json.dumps(SERVER))):
        InferencePerfReport.parse(block(text))


def test_stages_of_the_overloaded_server(corpus: Path) -> None:
    folder = corpus / "cases" / "jitter-overload-queueing"
    (fact,) = scan_file(folder / "stage_6_lifecycle_metrics.json", "stage_6_lifecycle_metrics.json").facts
    assert fact.values()["achieved_rate_per_second"] == pytest.approx(106.5, abs=0.1)
    load = scan_file(folder / "stage_6_prometheus_metrics.json", "x").facts[0].values()
    assert load["waiting_median"] == 217.0
