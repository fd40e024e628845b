"""Metrics of inference servers: vLLM, SGLang, Text Generation Inference, Triton with and without TensorRT-LLM.

Several scrapes may follow each other in one file: gauges are then samples, and counters and histograms are read as what
came between the first and the last.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from collectors.base import Block
from collectors.histograms import Histogram, histogram, joined
from collectors.prometheus_samples import Metrics
from collectors.prometheus_samples import Sample as Scraped
from collectors.serving_samples import Sample, Samples, load_fact
from collectors.serving_settings import Settings
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.serving import ServingEngine, ServingEvent, ServingLatency, ServingSettings

PREFIXES = ("vllm:", "sglang:", "tgi_", "nv_inference_", "nv_trt_llm_")
_ENGINES = {"vllm:": "vllm", "sglang:": "sglang", "tgi_": "tgi", "nv_": "triton"}
_GAUGES: Mapping[str, str] = {
    "vllm:num_requests_running": "running",
    "vllm:num_requests_waiting": "waiting",
    "vllm:num_requests_swapped": "swapped",
    "vllm:gpu_cache_usage_perc": "kv_cache_usage",
    "vllm:kv_cache_usage_perc": "kv_cache_usage",
    "sglang:num_running_reqs": "running",
    "sglang:num_queue_reqs": "waiting",
    "sglang:token_usage": "kv_cache_usage",
    "sglang:gen_throughput": "generation_rate",
    "sglang:cache_hit_rate": "prefix_hits",
    "tgi_batch_current_size": "running",
    "tgi_queue_size": "waiting",
    "nv_inference_pending_request_count": "waiting",
    "nv_trt_llm_request_metrics/request_type=active": "running",
    "nv_trt_llm_request_metrics/request_type=waiting": "waiting",
    "nv_trt_llm_kv_cache_block_metrics/kv_cache_block_type=fraction": "kv_cache_usage",
}
"""Gauges; a label that tells several of one name apart stands behind a stroke."""
_SPLIT = {"nv_trt_llm_request_metrics": "request_type", "nv_trt_llm_kv_cache_block_metrics": "kv_cache_block_type"}
_LATENCIES: Mapping[str, tuple[str, float]] = {
    "vllm:time_to_first_token_seconds": ("ttft", 1.0),
    "vllm:time_per_output_token_seconds": ("itl", 1.0),
    "vllm:inter_token_latency_seconds": ("itl", 1.0),
    "vllm:request_time_per_output_token_seconds": ("tpot", 1.0),
    "vllm:e2e_request_latency_seconds": ("e2e", 1.0),
    "vllm:request_queue_time_seconds": ("queue", 1.0),
    "vllm:request_prefill_time_seconds": ("prefill", 1.0),
    "vllm:request_decode_time_seconds": ("decode", 1.0),
    "vllm:request_inference_time_seconds": ("inference", 1.0),
    "sglang:time_to_first_token_seconds": ("ttft", 1.0),
    "sglang:inter_token_latency_seconds": ("itl", 1.0),
    "sglang:time_per_output_token_seconds": ("tpot", 1.0),
    "sglang:e2e_request_latency_seconds": ("e2e", 1.0),
    "sglang:queue_time_seconds": ("queue", 1.0),
    "tgi_request_duration": ("e2e", 1.0),
    "tgi_request_queue_duration": ("queue", 1.0),
    "tgi_request_inference_duration": ("inference", 1.0),
    "tgi_request_mean_time_per_token_duration": ("tpot", 1.0),
    "nv_inference_first_response_histogram_ms": ("ttft", 1e-3),
    "nv_inference_request_summary_us": ("e2e", 1e-6),
    "nv_inference_queue_summary_us": ("queue", 1e-6),
    "nv_inference_compute_input_summary_us": ("compute-input", 1e-6),
    "nv_inference_compute_infer_summary_us": ("compute", 1e-6),
    "nv_inference_compute_output_summary_us": ("compute-output", 1e-6),
}
"""Histograms and summaries: what they measure, and the seconds of their unit."""
_TRITON_MEANS: Mapping[str, str] = {
    "nv_inference_request_duration_us": "e2e",
    "nv_inference_queue_duration_us": "queue",
    "nv_inference_compute_input_duration_us": "compute-input",
    "nv_inference_compute_infer_duration_us": "compute",
    "nv_inference_compute_output_duration_us": "compute-output",
}
"""Counters of microseconds, whose mean is over the requests that succeeded."""
_EVENTS: Mapping[str, str] = {
    "vllm:num_preemptions_total": "preemption",
    "vllm:num_preemptions": "preemption",
    "sglang:num_retracted_requests_total": "retraction",
    "sglang:num_retracted_reqs": "retraction",
    "sglang:num_aborted_requests_total": "request-abort",
    "nv_inference_request_failure": "request-abort",
}
_STEP_TOKENS = "vllm:iteration_tokens_total"


class _Scrapes(NamedTuple):
    """Samples by name, then by labels, in the order of the scrapes."""

    by_name: Mapping[str, Mapping[tuple[tuple[str, str], ...], list[Scraped]]]

    def of(self, name: str) -> Mapping[tuple[tuple[str, str], ...], list[Scraped]]:
        return self.by_name.get(name, {})


def serving_metric_facts(metrics: Metrics, block: Block) -> Iterator[Fact]:
    """Facts of the servers of a block; none where it has no such metric."""
    grouped: dict[str, dict[tuple[tuple[str, str], ...], list[Scraped]]] = defaultdict(lambda: defaultdict(list))
    for sample in metrics.samples:
        if sample.name.startswith(PREFIXES):
            grouped[sample.name][tuple(sorted(sample.labels.items()))].append(sample)
    scrapes = _Scrapes(grouped)
    for prefix, engine in _ENGINES.items():
        own = [sample for sample in metrics.samples if sample.name.startswith(prefix)]
        if own:
            yield from _of_engine(scrapes, prefix, engine, own[0], block)


def _of_engine(scrapes: _Scrapes, prefix: str, engine: str, first: Scraped, block: Block) -> Iterator[Fact]:
    subject, source = block.subject(), block.source(first.line)
    model = first.labels.get("model_name", first.labels.get("model"))
    yield ServingEngine(subject=subject, sources=(source,), name=engine, model=model)
    yield from _settings(scrapes, engine, subject, source)
    samples = _samples(scrapes, prefix)
    if samples:
        load = load_fact(samples, subject, source, "metrics", engine)
        yield load.model_copy(update=_steps(scrapes)) if engine == "vllm" else load
    for name, (metric, scale) in _LATENCIES.items():
        if name.startswith(prefix):
            yield from _latency(scrapes, name, metric, scale, engine, subject, block)
    if engine == "triton":
        yield from _triton(scrapes, subject, block)
    for name, event in _EVENTS.items():
        if name.startswith(prefix) and (rows := scrapes.of(name)):
            yield _event(rows, event, engine, subject, block)


def _settings(scrapes: _Scrapes, engine: str, subject: Subject, source: Source) -> Iterator[Fact]:
    for labels in scrapes.of("vllm:cache_config_info"):
        settings = Settings()
        named = dict(labels)
        for name, value in named.items():
            settings.take("kv_cache_dtype" if name == "cache_dtype" else name, value)
        blocks, size = named.get("num_gpu_blocks", ""), named.get("block_size", "")
        if blocks.isdecimal() and size.isdecimal() and len(blocks) + len(size) < 16:
            settings.values["kv_cache_tokens"] = int(blocks) * int(size)
        if settings.values:
            yield ServingSettings(subject=subject, sources=(source,), engine=engine, **settings.values)
        return


def _samples(scrapes: _Scrapes, prefix: str) -> Samples:
    """One sample for each scrape: requests of all engines together, the fullest of their caches."""
    columns: dict[str, list[list[float]]] = {}
    for key, field in _GAUGES.items():
        name, _, wanted = key.partition("/")
        if not name.startswith(prefix):
            continue
        for labels, rows in scrapes.of(name).items():
            if wanted and f"{_SPLIT[name]}={dict(labels).get(_SPLIT[name])}" != wanted:
                continue
            values = columns.setdefault(field, [])
            for at, row in enumerate(rows):
                if at == len(values):
                    values.append([])
                values[at].append(row.value)
    samples = Samples()
    for at in range(max(map(len, columns.values()), default=0)):
        found = {field: values[at] for field, values in columns.items() if at < len(values)}
        samples.add(
            Sample(
                **{name: max(v) if name in ("kv_cache_usage", "prefix_hits") else sum(v) for name, v in found.items()}
            )
        )
    return samples


def _histogram(scrapes: _Scrapes, name: str) -> tuple[Histogram, Scraped] | None:
    """The histogram of all replicas; of several scrapes, what came between the first and the last."""
    parts: dict[tuple[tuple[str, str], ...], dict[float, list[Scraped]]] = defaultdict(dict)
    # Triton's documentation shows the buckets without their usual ending.
    for ending in ("_bucket", ""):
        for labels, rows in scrapes.of(name + ending).items():
            edge = _edge(dict(labels).get("le"))
            if edge is not None:
                parts[tuple(pair for pair in labels if pair[0] != "le")].setdefault(edge, rows)
    found: list[Histogram] = []
    first: Scraped | None = None
    for labels, buckets in parts.items():
        sums = scrapes.of(name + "_sum").get(labels, [])
        count = min(len(rows) for rows in buckets.values())
        first = first or next(iter(buckets.values()))[0]
        last, earliest = (
            histogram(
                {edge: rows[at].value for edge, rows in buckets.items()}, sums[at].value if len(sums) >= count else None
            )
            for at in (count - 1, 0)
        )
        if last is not None:
            since = last.minus(earliest) if count > 1 and earliest is not None else None
            found.append(since if since is not None and since.count > 0 else last)
    whole = joined(found) if found else None
    return (whole, first) if whole is not None and first is not None and whole.count > 0 else None


def _edge(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        edge = float(text)
    except ValueError:
        return None
    return None if math.isnan(edge) else edge


def _latency(
    scrapes: _Scrapes, name: str, metric: str, scale: float, engine: str, subject: Subject, block: Block
) -> Iterator[Fact]:
    found = _histogram(scrapes, name)
    if found is None:
        yield from _summary(scrapes, name, metric, scale, engine, subject, block)
        return
    whole, first = found
    p50, p90, p99 = (whole.quantile(share) for share in (0.5, 0.9, 0.99))
    if p50 is None or p90 is None or p99 is None:
        return

    def seconds(value: float | None) -> float | None:
        return None if value is None else value * scale

    yield ServingLatency(
        subject=subject,
        sources=(block.source(first.line),),
        metric=metric,
        origin="metrics",
        engine=engine,
        model=first.labels.get("model_name", first.labels.get("model")),
        count=int(whole.count),
        mean_seconds=seconds(whole.mean),
        p50_seconds=seconds(p50.value),
        p90_seconds=seconds(p90.value),
        p99_seconds=seconds(p99.value),
        p50_low_seconds=seconds(p50.low),
        p50_high_seconds=seconds(p50.high),
        p99_low_seconds=seconds(p99.low),
        p99_high_seconds=seconds(p99.high),
        beyond_buckets_ratio=whole.beyond,
    )


def _summary(
    scrapes: _Scrapes, name: str, metric: str, scale: float, engine: str, subject: Subject, block: Block
) -> Iterator[Fact]:
    """Quantiles that the server computed; of several models or scrapes the last one read."""
    values = {dict(labels).get("quantile"): rows[-1] for labels, rows in scrapes.of(name).items()}
    values.pop(None, None)
    if not values:
        return
    first = next(iter(values.values()))
    count, total = (
        next((rows[-1].value for rows in scrapes.of(name + ending).values()), None) for ending in ("_count", "_sum")
    )
    quantiles = {quantile: row.value * scale for quantile, row in values.items() if row.value >= 0}
    yield ServingLatency(
        subject=subject,
        sources=(block.source(first.line),),
        metric=metric,
        origin="metrics",
        engine=engine,
        model=first.labels.get("model"),
        count=int(count) if count is not None else None,
        mean_seconds=total / count * scale if total is not None and count else None,
        p50_seconds=quantiles.get("0.5"),
        p90_seconds=quantiles.get("0.9"),
        p99_seconds=quantiles.get("0.99"),
    )


def _triton(scrapes: _Scrapes, subject: Subject, block: Block) -> Iterator[Fact]:
    requests = _growth(scrapes.of("nv_inference_request_success"))
    for name, metric in _TRITON_MEANS.items():
        rows = scrapes.of(name)
        if rows and requests:
            yield ServingLatency(
                subject=subject,
                sources=(block.source(next(iter(rows.values()))[0].line),),
                metric=metric,
                origin="metrics",
                engine="triton",
                count=int(requests),
                mean_seconds=_growth(rows) / requests * 1e-6,
            )


def _growth(rows: Mapping[tuple[tuple[str, str], ...], list[Scraped]]) -> float:
    """How much a counter grew between the scrapes, all its rows together; since the start where there is one scrape."""
    total = 0.0
    for values in rows.values():
        last, first = values[-1].value, values[0].value
        total += last - first if len(values) > 1 and last >= first else last
    return total


def _steps(scrapes: _Scrapes) -> dict[str, float | None]:
    """Tokens of an engine step, by the upper edges of their buckets."""
    found = _histogram(scrapes, _STEP_TOKENS)
    if found is None:
        return {}
    p50, p99 = found[0].quantile(0.5), found[0].quantile(0.99)
    return {
        "iteration_tokens_p50": p50.high if p50 is not None else None,
        "iteration_tokens_p99": p99.high if p99 is not None else None,
    }


def _event(
    rows: Mapping[tuple[tuple[str, str], ...], list[Scraped]], event: str, engine: str, subject: Subject, block: Block
) -> ServingEvent:
    several = any(len(values) > 1 for values in rows.values())
    grown = int(_growth(rows))
    return ServingEvent(
        subject=subject,
        sources=(block.source(next(iter(rows.values()))[0].line),),
        event=event,
        origin="metrics",
        engine=engine,
        count=grown,
        counter_total=int(sum(values[-1].value for values in rows.values())),
        in_service_count=grown if several else None,
    )
