"""Reports of inference-perf (kubernetes-sigs): what its client measured in a stage, and what the server's metrics said.

All times are seconds. Source: kubernetes-sigs/inference-perf, docs/metrics.md and reportgen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from collectors.base import Block, Parsed
from collectors.benchmark_values import Result
from collectors.json_document import JsonDocument
from collectors.json_text import mapping, real
from diagnose.facts.serving import ServingEvent, ServingLatency, ServingLoad

_LATENCIES = {
    "request_latency": "e2e",
    "time_to_first_token": "ttft",
    "time_per_output_token": "tpot",
    "inter_token_latency": "itl",
}
_STAGE = re.compile(r"stage[_-]?(\d{1,6})[^/]*$")


class InferencePerfReport(JsonDocument):
    """A stage's report, or the summary of all; by the client or from the server's metrics."""

    kind: ClassVar[str] = "inference-perf"
    literals: ClassVar[tuple[bytes, ...]] = (b'"load_summary"',)

    @classmethod
    def told_by(cls, text: str) -> bool:
        """Its three parts."""
        return '"load_summary"' in text and '"successes"' in text

    @classmethod
    def read(cls, block: Block, content: dict[str, Any]) -> Parsed:
        """A benchmark's result with `latency`; the server's load and latencies without."""
        successes = mapping(content.get("successes"))
        if "queue_len" in successes or "num_preemptions_total" in successes or "request_latency" in successes:
            return _server(block, successes)
        if "throughput" not in successes and "latency" not in successes:
            return Parsed(problems=[f"line {block.lines[0].number}: the report holds no request that succeeded"])
        return _client(block, content, successes)


def _client(block: Block, content: dict[str, Any], successes: dict[str, Any]) -> Parsed:
    load, throughput = mapping(content.get("load_summary")), mapping(successes.get("throughput"))
    failures = mapping(content.get("failures"))
    result = Result("inference-perf")
    if match := _STAGE.search(block.path):
        result.set("stage", int(match.group(1)))
    result.load(real(load.get("requested_rate")), real(load.get("concurrency")))
    completed = real(successes.get("count"))
    result.set("achieved_rate_per_second", real(load.get("achieved_rate")))
    result.set("duration_seconds", real(load.get("send_duration")))
    result.set("completed", completed)
    result.set("failed", real(failures.get("count")))
    for name, field in (("prompt_len", "input_tokens"), ("output_len", "output_tokens")):
        mean = real(mapping(successes.get(name)).get("mean"))
        if mean is not None and completed is not None:
            result.set(field, float(round(mean * completed)))
    result.set("requests_per_second", real(throughput.get("requests_per_sec")))
    result.set("output_tokens_per_second", real(throughput.get("output_tokens_per_sec")))
    for name, metric in _LATENCIES.items():
        for statistic, value in mapping(mapping(successes.get("latency")).get(name)).items():
            result.put(metric, statistic, real(value))
    for statistic, value in mapping(load.get("schedule_delay")).items():
        result.put("client_delay", statistic, real(value))
    return Parsed([result.fact(block.subject(), block.source())] if result.measured() else [])


def _server(block: Block, successes: Mapping[str, Any]) -> Parsed:
    """Rates and gauges are averages over the stage; a percentile comes from histogram buckets."""
    subject, source = block.subject(), block.source()
    parsed = Parsed()
    usage = mapping(successes.get("kv_cache_usage_percentage"))
    parsed.facts.append(
        ServingLoad(
            subject=subject,
            sources=(source,),
            origin="report",
            samples=1,
            waiting_median=_mean(successes, "queue_len"),
            kv_cache_usage_median_ratio=real(usage.get("median", usage.get("mean"))),
            kv_cache_usage_max_ratio=real(usage.get("p99", usage.get("mean"))),
            generation_tokens_per_second_median=real(mapping(successes.get("output_len")).get("rate")),
            prompt_tokens_per_second_median=real(mapping(successes.get("prompt_len")).get("rate")),
            swapped_max=_mean(successes, "num_requests_swapped"),
            requests_per_second=real(successes.get("rate")),
        )
    )
    for name, metric in _LATENCIES.items():
        found = mapping(successes.get(name))
        if (mean := real(found.get("mean"))) is not None:
            parsed.facts.append(
                ServingLatency(
                    subject=subject,
                    sources=(source,),
                    metric=metric,
                    origin="report",
                    mean_seconds=mean,
                    p50_seconds=real(found.get("median")),
                    p90_seconds=real(found.get("p90")),
                    p99_seconds=real(found.get("p99")),
                )
            )
    preemptions = _mean(successes, "num_preemptions_total")
    if preemptions is not None and preemptions >= 1:
        parsed.facts.append(
            ServingEvent(
                subject=subject,
                sources=(source,),
                event="preemption",
                origin="metrics",
                count=int(preemptions),
                counter_total=int(preemptions),
                detail="mean of the server's counter over the stage",
            )
        )
    return parsed


def _mean(successes: Mapping[str, Any], name: str) -> float | None:
    return real(mapping(successes.get(name)).get("mean"))
