from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from collectors.base import Parsed
from collectors.scan import scan_file
from collectors.serving_log import ServingLog
from collectors.serving_log_events import PATTERNS, event_line
from collectors.serving_log_lines import load_line, stamp
from diagnose.facts.series import Clock, Series
from tests.collectors.helpers import damaged, feed

VLLM_V1 = """\
(APIServer pid=71) INFO 03-04 09:00:00 [api_server.py:1896] vLLM API server version 0.10.1
(APIServer pid=71) INFO 03-04 09:00:00 [utils.py:326] non-default args: {'model_tag': 'acme/tiny-7b', 'max_num_seqs': 64, 'enable_prefix_caching': False, 'enforce_eager': False}
(EngineCore_0 pid=99) INFO 03-04 09:00:05 [core.py:65] Initializing a V1 LLM engine (v0.10.1) with config: model='acme/tiny-7b', speculative_config=SpeculativeConfig(method='ngram', num_spec_tokens=3), dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=2, quantization=None, enforce_eager=False, kv_cache_dtype=fp8, chunked_prefill_enabled=True, compilation_config={"level":3,"cudagraph_capture_sizes":[64,32,8,1],"max_capture_size":64}
(EngineCore_0 pid=99) INFO 03-04 09:00:20 [default_loader.py:262] Loading weights took 7.50 seconds
(EngineCore_0 pid=99) INFO 03-04 09:00:40 [monitor.py:34] torch.compile takes 18.25 s in total
(EngineCore_0 pid=99) INFO 03-04 09:00:50 [gpu_model_runner.py:2485] Graph capturing finished in 9 secs, took 0.61 GiB
(EngineCore_0 pid=99) INFO 03-04 09:00:51 [kv_cache_utils.py:833] GPU KV cache size: 120,000 tokens
(EngineCore_0 pid=99) INFO 03-04 09:00:51 [kv_cache_utils.py:837] Maximum concurrency for 8,192 tokens per request: 14.65x
(APIServer pid=71) INFO:     10.1.2.3:40010 - "POST /v1/completions HTTP/1.1" 200 OK
(APIServer pid=71) INFO 03-04 09:01:10 [loggers.py:123] Engine 000: Avg prompt throughput: 120.0 tokens/s, Avg generation throughput: 400.0 tokens/s, Running: 8 reqs, Waiting: 0 reqs, GPU KV cache usage: 12.5%, Prefix cache hit rate: 3.0%
(EngineCore_0 pid=99) WARNING 03-04 09:01:12 [jit_monitor.py:103] Triton kernel JIT compilation during inference: _topk_kernel. This causes a latency spike
(APIServer pid=71) INFO 03-04 09:01:20 [loggers.py:123] Engine 000: Avg prompt throughput: 20.0 tokens/s, Avg generation throughput: 800.0 tokens/s, Running: 16 reqs, Waiting: 2 reqs, Preemptions: 3, GPU KV cache usage: 99.0%, Prefix cache hit rate: 3.0%
(EngineCore_0 pid=99) INFO 03-04 09:01:25 [gc_utils.py:40] GC took 350.125ms to complete. Collected 12 objects in GC generation 2.
(APIServer pid=71) INFO 03-04 09:01:30 [loggers.py:123] Engine 000: Avg prompt throughput: 9000.0 tokens/s, Avg generation throughput: 40.0 tokens/s, Running: 16 reqs, Waiting: 9 reqs, GPU KV cache usage: 60.0%, Prefix cache hit rate: 4.0%
"""  # noqa: E501  # the format's own lines
VLLM_V0 = """\
INFO 05-06 10:00:00 llm_engine.py:237] Initializing an LLM engine (v0.6.2) with config: model='acme/old', max_seq_len=4096, enforce_eager=True, kv_cache_dtype=auto
INFO 05-06 10:00:30 metrics.py:351] Avg prompt throughput: 10.0 tokens/s, Avg generation throughput: 90.0 tokens/s, Running: 3 reqs, Swapped: 1 reqs, Pending: 4 reqs, GPU KV cache usage: 98.0%, CPU KV cache usage: 1.0%.
WARNING 05-06 10:00:31 scheduler.py:1439] Sequence group 17 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. total_num_cumulative_preemption_cnt=1
WARNING 05-06 10:00:52 scheduler.py:1439] Sequence group 80 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. total_num_cumulative_preemption_cnt=51
"""  # noqa: E501
SGLANG = """\
[2026-02-03 04:00:00] server_args=ServerArgs(model_path='acme/moe', tp_size=8, chunked_prefill_size=8192, mem_fraction_static=0.85, disable_radix_cache=False, disable_cuda_graph=False, cuda_graph_max_bs=None)
[2026-02-03 04:00:40 TP0] Load weight end. type=AcmeForCausalLM, dtype=torch.bfloat16, avail mem=20.1 GB
[2026-02-03 04:00:41 TP0] Capture cuda graph begin. This can take up to several minutes.
[2026-02-03 04:00:41 TP0] Capture cuda graph bs [1, 2, 4, 8]
[2026-02-03 04:00:55 TP0] Capture cuda graph end. Time elapsed: 14.00 s
[2026-02-03 04:00:56 TP0] max_total_num_tokens=90000, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=512, context_len=32768
[2026-02-03 04:01:00 TP0] Prefill batch. #new-seq: 4, #new-token: 4096, #cached-token: 0, token usage: 0.05, #running-req: 0, #queue-req: 0
[2026-02-03 04:01:02 TP0] Decode batch. #running-req: 4, #token: 4200, token usage: 0.05, cuda graph: True, gen throughput (token/s): 300.00, #queue-req: 0
[2026-02-03 04:01:04 TP0] Decode batch, #running-req: 12, #token: 9000, token usage: 0.10, cuda graph: False, gen throughput (token/s): 310.00, #queue-req: 0
[2026-02-03 04:01:05 TP0] Prefill batch, #new-seq: 1, #new-token: 8192, #cached-token: 0, token usage: 0.11, #running-req: 12, #queue-req: 1
[2026-02-03 04:01:09 TP0] Prefill batch, #new-seq: 1, #new-token: 8192, #cached-token: 0, token usage: 0.11, #running-req: 12, #queue-req: 1
[2026-02-03 04:01:12 TP0] Decode batch, #running-req: 12, #token: 9400, token usage: 0.10, cuda graph: False, gen throughput (token/s): 30.00, #queue-req: 1
[2026-02-03 04:01:13 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_token_ratio: 0.10 -> 0.35
[2026-02-03 04:01:13 TP0] Decode out of memory happened. #retracted_reqs: 3, #new_token_ratio: 0.35 -> 0.90
[2026-02-03 04:01:14] LONG GARBAGE COLLECTION DETECTED | Generation 2 | Duration: 1.2500s | # Objects: gen0=1, gen1=2, gen2=3
"""  # noqa: E501
TENSORRT_LLM = """\
[07/22/2026-10:00:00] [TRT-LLM] [I] [RANK 0] iter = 1, global_rank = 0, rank = 0, currank_total_requests = 1/1, elapsed_time = 0.02s, timestamp = 2026-07-22 10:00:00, num_scheduled_requests: 8, states = {'num_ctx_requests': 0, 'num_ctx_tokens': 0, 'num_generation_tokens': 8}
[07/22/2026-10:00:01] [TRT-LLM] [I] [RANK 0] iter = 2, global_rank = 0, rank = 0, num_scheduled_requests = 8, kv_cache_util = 0.4, currank_total_requests = 1/1, host_step_time = 20.0ms, prev_device_step_time = N/A, timestamp = 2026-07-22 10:00:01, states = {'num_ctx_requests': 1, 'num_ctx_tokens': 512, 'num_generation_tokens': 4}
[TensorRT-LLM][INFO] {"Active Request Count":20,"Scheduled Requests":16,"Used KV cache blocks":90,"Max KV cache blocks":100,"Iteration Counter":3}
"""  # noqa: E501


def only(parsed: Parsed, kind: str, **wanted: Any) -> Any:
    found = [
        fact
        for fact in parsed.facts
        if fact.kind == kind and all(getattr(fact, name) == value for name, value in wanted.items())
    ]
    assert len(found) == 1, [fact.kind for fact in parsed.facts]
    return found[0]


def test_settings_of_vllm_come_from_its_arguments_and_what_it_says_at_start() -> None:
    parsed = feed(ServingLog, VLLM_V1)
    engine = only(parsed, "serving-engine")
    assert (engine.name, engine.version, engine.generation, engine.model) == ("vllm", "0.10.1", "v1", "acme/tiny-7b")
    assert only(parsed, "serving-settings").values() == {
        "engine": "vllm",
        "max_running_requests": 64,
        "chunked_prefill": True,
        "prefix_caching": False,
        "eager_mode": False,
        "cuda_graph_max_batch": 64,
        "cuda_graph_batches": (1, 8, 32, 64),
        "kv_cache_dtype": "fp8",
        "kv_cache_tokens": 120_000,
        "full_length_requests": 14.65,
        "max_model_tokens": 8192,
        "tensor_parallel_size": 2,
        "speculative_method": "ngram",
        "dtype": "bfloat16",
    }


def test_load_is_summed_up_over_the_lines() -> None:
    load = only(feed(ServingLog, VLLM_V1), "serving-load")
    assert (load.samples, load.seconds, load.running_median, load.running_max) == (3, 20.0, 16.0, 16.0)
    assert (load.waiting_median, load.waiting_max) == (2.0, 9.0)
    assert load.kv_cache_usage_max_ratio == pytest.approx(0.99)
    assert load.generation_tokens_per_second_min == 40.0
    assert load.output_gap_median_seconds == pytest.approx((0.02 + 0.4) / 2)


def test_an_interval_full_of_prompts_in_which_tokens_crawl_is_a_stall() -> None:
    stall = only(feed(ServingLog, VLLM_V1), "serving-stall")
    assert (stall.intervals, stall.stalled, stall.with_prefill_ratio) == (2, 1, 1.0)
    assert stall.prompt_tokens_per_second_median == 9000.0
    assert stall.output_gap_stalled_seconds == pytest.approx(0.4)


def test_what_happens_before_the_first_request_is_not_in_service() -> None:
    parsed = feed(ServingLog, VLLM_V1)
    assert only(parsed, "serving-event", event="graph-capture").in_service_count == 0
    assert only(parsed, "serving-event", event="weights-loading").in_service_count == 0
    compiled = only(parsed, "serving-event", event="jit-compile")
    assert (compiled.count, compiled.in_service_count, compiled.detail) == (2, 1, "_topk_kernel")
    collected = only(parsed, "serving-event", event="garbage-collection")
    assert (collected.in_service_count, collected.longest_seconds) == (1, pytest.approx(0.350125))
    preempted = only(parsed, "serving-event", event="preemption")
    assert (preempted.count, preempted.in_service_count) == (3, 3)


def test_preemptions_of_the_old_engine_are_those_of_its_counter() -> None:
    parsed = feed(ServingLog, VLLM_V0)
    event = only(parsed, "serving-event", event="preemption")
    assert (event.count, event.counter_total) == (51, 51)
    assert only(parsed, "serving-engine").generation == "v0"
    assert only(parsed, "serving-settings").eager_mode is True
    assert only(parsed, "serving-load").swapped_max == 1


def test_batches_of_sglang_tell_load_graphs_and_stalls() -> None:
    parsed = feed(ServingLog, SGLANG)
    settings = only(parsed, "serving-settings")
    assert (settings.prefill_chunk_tokens, settings.cuda_graph_max_batch) == (8192, 8)
    assert (settings.kv_cache_tokens, settings.max_running_requests) == (90_000, 512)
    graph = only(parsed, "serving-decode-outside-graph")
    assert (graph.basis, graph.batches, graph.outside_ratio) == ("reported", 3, pytest.approx(2 / 3))
    stall = only(parsed, "serving-stall")
    assert (stall.stalled, stall.with_prefill_ratio) == (1, 1.0)
    assert stall.prompt_tokens_per_second_median == pytest.approx(2 * 8192 / 8)
    assert only(parsed, "serving-event", event="retraction").count == 5
    assert only(parsed, "serving-event", event="garbage-collection").longest_seconds == 1.25


def test_a_pause_without_requests_is_no_stall() -> None:
    line = "[2026-02-03 04:{}:00 TP0] {} batch, #running-req: {}, token usage: 0.1, gen throughput (token/s): {}, {}\n"
    text = line.format("01", "Decode", 4, "300.00", "#queue-req: 0")
    text += line.format("02", "Prefill", 0, "0.00", "#queue-req: 0")
    text += line.format("02", "Decode", 4, "2.60", "#queue-req: 0")
    assert not [fact for fact in feed(ServingLog, text).facts if fact.kind == "serving-stall"]


def test_iterations_of_tensorrt_llm_are_samples() -> None:
    load = only(feed(ServingLog, TENSORRT_LLM), "serving-load")
    assert (load.engine, load.samples, load.running_max, load.waiting_max) == ("tensorrt-llm", 3, 16.0, 4.0)
    assert load.kv_cache_usage_max_ratio == pytest.approx(0.9)
    assert load.generation_tokens_per_second_max == pytest.approx(400.0)


def test_series_count_from_the_log_s_clock_where_it_tells_the_year() -> None:
    series = [item for item in feed(ServingLog, SGLANG).series if isinstance(item, Series)]
    running = next(item for item in series if item.metric == "server_running_requests")
    assert running.clock is Clock.LOCAL
    assert running.times_seconds[0] == stamp("2026-02-03 04:01:02").seconds  # type: ignore[union-attr]
    old = feed(ServingLog, VLLM_V1).series[0]
    assert isinstance(old, Series)
    assert old.clock is Clock.RELATIVE


def test_a_restart_ends_the_service() -> None:
    again = VLLM_V1 + VLLM_V1.split("(APIServer pid=71) INFO:     10")[0]
    event = only(feed(ServingLog, again), "serving-event", event="graph-capture")
    assert (event.count, event.in_service_count) == (2, 0)


def test_refused_requests_count_as_a_full_queue() -> None:
    text = VLLM_V1 + 'INFO:     10.1.2.3:40010 - "POST /v1/completions HTTP/1.1" 503 Service Unavailable\n' * 3
    assert only(feed(ServingLog, text), "serving-event", event="queue-full").count == 3


def test_lines_of_other_programs_are_left_alone() -> None:
    collector = ServingLog("x")
    for text in (
        "SingleProcess AUTOTUNE benchmarking takes 0.50 seconds and 1.20 seconds precompiling",
        "RuntimeError: CUDA out of memory.",
        '10.0.0.1 - "GET /index.html HTTP/1.1" 200',
        "[2026-02-03 04:00:00] iteration 10/100",
    ):
        assert not feed(ServingLog, text).facts
        from collectors.base import Line

        assert not collector.feed(Line(1, text), None)


def test_pauses_of_the_garbage_collector_need_no_server_s_lines() -> None:
    text = "gc: done, 12 unreachable, 0 uncollectable, 0.4500s elapsed\n" * 2
    event = only(feed(ServingLog, text), "serving-event")
    assert (event.event, event.count, event.longest_seconds) == ("garbage-collection", 2, 0.45)


@pytest.mark.parametrize(
    ("text", "event", "seconds"),
    [
        ("SingleProcess AUTOTUNE benchmarking takes 0.3414 seconds and 0.3 seconds precompiling", "autotune", 0.3414),
        ("[1.2s][info][gc] GC(12) Pause Young (Normal) 24M->4M(256M) 12.500ms", "garbage-collection", 0.0125),
        ("Capture target decode CUDA graph end. elapsed=3.5 s", "graph-capture", 3.5),
        ("Try DeepGEMM JIT Compiling for <M> N=512, K=7168, num_groups=1 with all Ms.", "jit-compile", None),
        ("ERROR Model is overloaded", "queue-full", None),
        ("Scheduler watchdog timeout (self.watchdog_timeout=300)", "slow-peer", None),
    ],
)
def test_events_of_many_programs_are_known(text: str, event: str, seconds: float | None) -> None:
    found = event_line(text)
    assert found is not None
    assert (found.name, found.seconds) == (event, seconds)


def test_every_pattern_contains_its_literal() -> None:
    assert all(len(row.literal) >= 6 and row.literal.strip() for row in PATTERNS)


def test_no_damage_raises() -> None:
    for text in (VLLM_V1, VLLM_V0, SGLANG, TENSORRT_LLM):
        for cut in damaged(text):
            feed(ServingLog, cut)


def test_values_with_a_decimal_comma_are_not_misread() -> None:
    line = VLLM_V1.splitlines()[9]
    assert load_line(line.replace("400.0", "400,0")) is None


def test_a_long_log_keeps_a_bounded_number_of_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.serving_samples._MOST", 64)
    rng = random.Random(1)
    with (tmp_path / "server.log").open("w") as file:
        for at in range(1000):
            file.write(
                f"[2026-02-03 04:{at // 60:02d}:{at % 60:02d} TP0] Decode batch, #running-req: {rng.randint(2, 9)}, "
                "#token: 9, token usage: 0.10, cuda graph: True, gen throughput (token/s): 100.00, #queue-req: 0\n"
            )
    result = scan_file(tmp_path / "server.log", "server.log")
    load = next(fact for fact in result.facts if fact.kind == "serving-load")
    assert load.values()["samples"] == 1000
    assert all(len(item) <= 64 for item in result.series if isinstance(item, Series))
    assert result.lines.claimed == result.lines.total


def test_cases_from_the_field_tell_what_happened(corpus: Path) -> None:
    def facts(case: str) -> dict[str, Any]:
        path = corpus / "cases" / case / "server.log"
        return {fact.kind: fact for fact in scan_file(path, "server.log").facts}

    starved = facts("jitter-prefill-starves-decode")
    assert starved["serving-stall"].with_prefill_ratio == 1.0
    assert starved["serving-load"].output_gap_max_seconds > 0.5
    full = facts("jitter-kv-pool-full-retraction")["serving-load"]
    assert (full.kv_cache_usage_max_ratio, full.waiting_median) == (1.0, 3.0)
    assert facts("jitter-cuda-graph-ceiling")["serving-settings"].cuda_graph_max_batch == 32


def test_servers_of_several_hosts_and_engines_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "servers.log"
    path.write_text(f"=== node01 ===\n{VLLM_V1}=== node02 ===\n{VLLM_V0}{SGLANG}", encoding="utf-8")
    facts = [fact for fact in scan_file(path, "servers.log").facts if fact.kind == "serving-load"]
    told = {(fact.subject.host, getattr(fact, "engine")): getattr(fact, "running_max") for fact in facts}  # noqa: B009
    assert told == {("node01", "vllm"): 16, ("node02", "vllm"): 3, ("node02", "sglang"): 12}
