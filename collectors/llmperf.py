"""Summaries of llmperf: one flat JSON object with seconds."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from collectors.base import Block, Parsed
from collectors.benchmark_values import Result
from collectors.json_document import JsonDocument
from collectors.json_text import real

_STATISTIC = re.compile(r"^results_(?P<metric>\w+?)_s_(?:quantiles_)?(?P<statistic>p\d{2}|mean|max)$")
_METRICS = {"ttft": "ttft", "inter_token_latency": "itl", "end_to_end_latency": "e2e"}
_FIELDS = {
    "results_num_completed_requests": "completed",
    "results_number_errors": "failed",
    "results_mean_output_throughput_token_per_s": "output_tokens_per_second",
}


class LlmperfSummary(JsonDocument):
    """`..._summary.json`; the individual responses beside it are a table of requests."""

    kind: ClassVar[str] = "llmperf-summary"
    literals: ClassVar[tuple[bytes, ...]] = (b'"results_ttft_s', b'"results_end_to_end_latency_s')

    @classmethod
    def told_by(cls, text: str) -> bool:
        """Names of its results."""
        return '"results_ttft_s' in text or '"results_end_to_end_latency_s' in text

    @classmethod
    def read(cls, block: Block, content: dict[str, Any]) -> Parsed:
        """One result. Clients wait for their answers: the loop is closed."""
        result = Result("llmperf")
        if isinstance(content.get("model"), str):
            result.set("model", content["model"][:120])
        result.load(None, real(content.get("num_concurrent_requests")))
        for name, value in content.items():
            if match := _STATISTIC.match(name):
                if match["metric"] in _METRICS:
                    result.put(_METRICS[match["metric"]], match["statistic"], real(value))
            elif name in _FIELDS:
                result.set(_FIELDS[name], real(value))
        minute = real(content.get("results_num_completed_requests_per_min"))
        result.set("requests_per_second", minute / 60 if minute is not None else None)
        return Parsed([result.fact(block.subject(), block.source())] if result.measured() else [])
