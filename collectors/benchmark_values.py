"""What reports of benchmarks have in common: statistics of latencies, loads, and values that somebody took out."""

from __future__ import annotations

import re
from typing import Any

from diagnose.facts import Source, Subject
from diagnose.facts.serving import BenchmarkResult

_NUMBER = re.compile(r"[+-]?(?:\d{1,18}(?:\.\d{1,18})?|\.\d{1,18})(?:[eE][+-]?\d{1,3})?")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_REDACTED = re.compile(r"[xX*#?_.]{2,}|<[^<>]*>|\[?redacted\]?|tbd|n/?a|-+", re.IGNORECASE)
STATISTICS = {
    "mean": "mean", "avg": "mean", "average": "mean", "median": "p50", "med": "p50", "p50": "p50", "p90": "p90",
    "p99": "p99", "p99.9": "p999", "max": "max", "maximum": "max",
}  # fmt: skip
"""Names of statistics in reports, and in fields of facts."""
_METRICS = frozenset({"ttft", "tpot", "itl", "e2e", "client_delay"})
_MOST = 1e12


def number(text: str) -> float | None:
    """A number as programs print it; groups of three digits may be parted by commas."""
    text = text.strip()
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if abs(value) < _MOST else None


def is_redacted(text: str) -> bool:
    """Whether somebody put something else in a number's place."""
    return _REDACTED.fullmatch(text.strip()) is not None


class Result:
    """A result that is being read: names and units are those of `BenchmarkResult`."""

    def __init__(self, tool: str) -> None:
        self.values: dict[str, Any] = {"tool": tool}

    def set(self, name: str, value: object) -> None:
        """A field of the fact, where there is a value; one that is not positive says nothing of a rate or duration."""
        if value is None or (isinstance(value, float) and value < 0):
            return
        if isinstance(value, float) and name in ("completed", "failed", "input_tokens", "output_tokens", "stage"):
            value = int(value)
        self.values[name] = value

    def put(self, metric: str, statistic: str, seconds: float | None) -> None:
        """A statistic of a latency, named as reports name it. Others than those of the fact are passed over."""
        name = f"{metric}_{STATISTICS.get(statistic.lower(), statistic.lower())}_seconds"
        if seconds is not None and metric in _METRICS and name in BenchmarkResult.model_fields:
            # A client may be early by the resolution of its clock.
            self.set(name, max(0.0, seconds))

    def load(self, rate: float | None, concurrency: float | None) -> None:
        """How requests came. Rate: per second, infinite for all at once, None where the report does not tell."""
        finite = rate is not None and 0 < rate < _MOST
        if finite:
            self.set("requested_rate_per_second", rate)
        self.set("max_concurrency", concurrency)
        if concurrency and not finite:
            self.set("load_model", "closed")
        elif finite:
            self.set("load_model", "open")
        elif rate is not None and rate > 0:
            self.set("load_model", "burst")

    def measured(self) -> bool:
        """Whether anything was measured, beside how the run was set up."""
        return any(name.split("_")[0] in ("ttft", "tpot", "itl", "e2e") for name in self.values) or any(
            name in self.values for name in ("requests_per_second", "output_tokens_per_second")
        )

    def fact(self, subject: Subject, source: Source) -> BenchmarkResult:
        """The fact."""
        return BenchmarkResult(subject=subject, sources=(source,), **self.values)
