from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collectors.base import Parsed
from collectors.prometheus_text import PrometheusText
from collectors.scan import scan_file
from tests.collectors.helpers import block, damaged

M = 'engine="0",model_name="acme/chat"'


def scrape(running: int, waiting: int, preempted: int, buckets: tuple[int, int, int], total: float) -> str:
    return f"""\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{{M}}} {running}.0
vllm:num_requests_waiting{{{M}}} {waiting}.0
vllm:kv_cache_usage_perc{{{M}}} 0.42
vllm:num_preemptions_total{{{M}}} {preempted}.0
vllm:cache_config_info{{block_size="16",cache_dtype="auto",enable_prefix_caching="True",gpu_memory_utilization="0.9",num_gpu_blocks="5000"}} 1.0
vllm:request_queue_time_seconds_bucket{{le="0.1",{M}}} {buckets[0]}.0
vllm:request_queue_time_seconds_bucket{{le="1.0",{M}}} {buckets[1]}.0
vllm:request_queue_time_seconds_bucket{{le="+Inf",{M}}} {buckets[2]}.0
vllm:request_queue_time_seconds_count{{{M}}} {buckets[2]}.0
vllm:request_queue_time_seconds_sum{{{M}}} {total}
vllm:iteration_tokens_total_bucket{{le="8.0",{M}}} 90.0
vllm:iteration_tokens_total_bucket{{le="2048.0",{M}}} 98.0
vllm:iteration_tokens_total_bucket{{le="8192.0",{M}}} 100.0
vllm:iteration_tokens_total_bucket{{le="+Inf",{M}}} 100.0
"""  # noqa: E501


ONCE = scrape(8, 3, 5, (80, 98, 100), 12.0)
TWICE = ONCE + scrape(16, 9, 25, (80, 98, 200), 512.0)
TRITON = """\
# HELP nv_inference_request_success Number of successful inference requests, all batch sizes
nv_inference_request_success{model="resnet",version="1"} 200
nv_inference_queue_duration_us{model="resnet",version="1"} 1000000
nv_inference_compute_infer_duration_us{model="resnet",version="1"} 400000
nv_inference_pending_request_count{model="resnet",version="1"} 7
nv_inference_request_summary_us_count{model="resnet",version="1"} 200
nv_inference_request_summary_us_sum{model="resnet",version="1"} 2000000
nv_inference_request_summary_us{model="resnet",version="1",quantile="0.5"} 8000
nv_inference_request_summary_us{model="resnet",version="1",quantile="0.99"} 90000
nv_trt_llm_request_metrics{model="llm",request_type="waiting",version="1"} 5
nv_trt_llm_request_metrics{model="llm",request_type="active",version="1"} 12
"""
SGLANG = """\
# HELP sglang:num_running_reqs The number of running requests
sglang:num_running_reqs{model_name="acme/moe"} 40
sglang:num_queue_reqs{model_name="acme/moe"} 11
sglang:token_usage{model_name="acme/moe"} 0.97
sglang:gen_throughput{model_name="acme/moe"} 1200.5
sglang:num_retracted_requests_total{model_name="acme/moe"} 4
"""
TGI = """\
# TYPE tgi_queue_size gauge
tgi_queue_size 6
tgi_batch_current_size 14
tgi_request_queue_duration_bucket{le="0.01"} 5
tgi_request_queue_duration_bucket{le="+Inf"} 10
tgi_request_queue_duration_sum 3
tgi_request_queue_duration_count 10
"""


def read(text: str) -> Parsed:
    return PrometheusText.parse(block(text))


def one(parsed: Parsed, kind: str, **wanted: Any) -> Any:
    found = [f for f in parsed.facts if f.kind == kind and all(getattr(f, k) == v for k, v in wanted.items())]
    assert len(found) == 1, [fact.kind for fact in parsed.facts]
    return found[0]


def test_gauges_of_one_scrape_are_one_sample() -> None:
    load = one(read(ONCE), "serving-load")
    assert (load.engine, load.samples, load.running_median, load.waiting_median) == ("vllm", 1, 8.0, 3.0)
    assert load.kv_cache_usage_max_ratio == 0.42
    assert (load.iteration_tokens_p50, load.iteration_tokens_p99) == (8.0, 8192.0)


def test_a_histogram_tells_its_resolution() -> None:
    queue = one(read(ONCE), "serving-latency", metric="queue")
    assert (queue.count, queue.mean_seconds, queue.model) == (100, 0.12, "acme/chat")
    assert (queue.p50_low_seconds, queue.p50_high_seconds) == (0.0, 0.1)
    assert (queue.p99_low_seconds, queue.p99_high_seconds, queue.p99_seconds) == (1.0, None, None)
    assert queue.beyond_buckets_ratio == pytest.approx(0.02)


def test_of_two_scrapes_what_came_in_between_counts() -> None:
    parsed = read(TWICE)
    queue = one(parsed, "serving-latency", metric="queue")
    assert (queue.count, queue.mean_seconds, queue.beyond_buckets_ratio) == (100, 5.0, 1.0)
    event = one(parsed, "serving-event", event="preemption")
    assert (event.count, event.counter_total, event.in_service_count) == (20, 25, 20)
    assert one(parsed, "serving-load").waiting_max == 9.0


def test_a_counter_of_one_scrape_does_not_tell_when_it_grew() -> None:
    event = one(read(ONCE), "serving-event")
    assert (event.count, event.in_service_count) == (5, None)


def test_a_restart_between_scrapes_leaves_the_last() -> None:
    queue = one(read(TWICE + scrape(1, 0, 2, (4, 4, 4), 0.1)), "serving-latency", metric="queue")
    assert queue.count == 4


def test_settings_come_from_the_info_metric() -> None:
    assert one(read(ONCE), "serving-settings").values() == {
        "engine": "vllm",
        "prefix_caching": True,
        "kv_cache_tokens": 80_000,
        "memory_utilization_ratio": 0.9,
    }


def test_triton_tells_means_and_quantiles() -> None:
    parsed = read(TRITON)
    assert one(parsed, "serving-latency", metric="queue").mean_seconds == pytest.approx(0.005)
    whole = one(parsed, "serving-latency", metric="e2e")
    assert (whole.mean_seconds, whole.p50_seconds, whole.p99_seconds) == (0.01, 0.008, 0.09)
    load = one(parsed, "serving-load")
    assert (load.running_median, load.waiting_median) == (12.0, 12.0)


def test_sglang_and_tgi_are_known() -> None:
    load = one(read(SGLANG), "serving-load")
    assert (load.engine, load.running_median, load.waiting_median) == ("sglang", 40.0, 11.0)
    assert load.generation_tokens_per_second_median == 1200.5
    assert one(read(SGLANG), "serving-event", event="retraction").counter_total == 4
    load = one(read(TGI), "serving-load")
    assert (load.engine, load.running_median, load.waiting_median) == ("tgi", 14.0, 6.0)


def test_metrics_of_a_file_are_recognised(tmp_path: Path) -> None:
    path = tmp_path / "metrics.txt"
    path.write_text("# HELP python_gc_objects_collected_total Objects\npython_gc_objects_collected_total 5\n" + TWICE)
    result = scan_file(path, "metrics.txt")
    assert [report.kind for report in result.reports] == ["prometheus-metrics"]
    assert {"serving-load", "serving-latency", "serving-event"} <= {fact.kind for fact in result.facts}


def test_damage_does_not_raise() -> None:
    for text in (TWICE, TRITON, SGLANG, TGI):
        for cut in damaged(text):
            read(cut)


def test_the_excerpt_of_the_corpus_is_read(corpus: Path) -> None:
    path = corpus / "files" / "server-metrics" / "triton-nv-inference-histogram.prom"
    found = [fact.values() for fact in scan_file(path, "triton").facts if fact.kind == "serving-latency"]
    assert [(fact["metric"], fact["count"], fact["p50_high_seconds"]) for fact in found] == [("ttft", 37, 0.5)]
