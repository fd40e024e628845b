from __future__ import annotations

import json
from typing import Any

import pytest

from collectors.aiperf import AiperfCsv, AiperfJson
from tests.collectors.helpers import block, damaged, opened

SUMMARY: dict[str, Any] = {
    "aiperf_version": "0.8.0",
    "request_throughput": {"unit": "requests/sec", "avg": 9.5},
    "request_latency": {"unit": "ms", "avg": 1200.0, "p50": 1100.0, "p99": 2500.0},
    "request_count": {"unit": "requests", "avg": 30.0},
    "time_to_first_token": {"unit": "ms", "avg": 300.0, "p50": 250.0, "p99": 900.0, "max": 950.0},
    "inter_token_latency": {"unit": "s", "p50": 0.03},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 1480.0},
    "benchmark_duration": {"unit": "sec", "avg": 3.0},
    "input_config": {"loadgen": {"concurrency": 16}},
}
CSV = """\
Metric,avg,min,max,p99,p95,p90,p50
Inter Token Latency (ms),20.5,10.0,90.0,60.0,50.0,40.0,20.0
Request Latency (ms),"1,200.50",900,2500,2400,2000,1900,1150.25
Time to First Token (ms),300,100,950,900,700,600,250

Metric,Value
Request Throughput (per sec),9.50
Output Token Throughput (per sec),1480.00
"""


def test_the_json_summary_is_a_result() -> None:
    text = json.dumps(SUMMARY, indent=2)
    assert AiperfJson.resembles(text.splitlines()) >= 0.5
    (fact,) = AiperfJson.parse(block(text)).facts
    assert fact.values() == {
        "tool": "aiperf",
        "load_model": "closed",
        "max_concurrency": 16.0,
        "duration_seconds": 3.0,
        "completed": 30,
        "requests_per_second": 9.5,
        "output_tokens_per_second": 1480.0,
        "ttft_mean_seconds": pytest.approx(0.3),
        "ttft_p50_seconds": pytest.approx(0.25),
        "ttft_p99_seconds": pytest.approx(0.9),
        "ttft_max_seconds": pytest.approx(0.95),
        "itl_p50_seconds": 0.03,
        "e2e_mean_seconds": pytest.approx(1.2),
        "e2e_p50_seconds": pytest.approx(1.1),
        "e2e_p99_seconds": pytest.approx(2.5),
    }


def test_the_csv_is_the_same_in_two_tables() -> None:
    assert len(opened(AiperfCsv, CSV)) == 1
    (fact,) = AiperfCsv.parse(block(CSV)).facts
    values = fact.values()
    assert values["tool"] == "genai-perf"
    assert values["e2e_mean_seconds"] == pytest.approx(1.2005)
    assert (values["ttft_p99_seconds"], values["requests_per_second"]) == (pytest.approx(0.9), 9.5)


def test_a_unit_that_is_not_known_is_not_read() -> None:
    text = json.dumps(SUMMARY | {"request_latency": {"unit": "fortnights", "avg": 1}})
    assert "e2e_mean_seconds" not in AiperfJson.parse(block(text)).facts[0].values()


def test_damage_does_not_raise() -> None:
    for text in damaged(json.dumps(SUMMARY)):
        AiperfJson.parse(block(text))
    for text in damaged(CSV):
        AiperfCsv.parse(block(text))
