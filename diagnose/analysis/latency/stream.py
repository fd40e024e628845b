"""The requests of one table made ready: latencies by name, when each counts, and what the table tells of their load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from diagnose.analysis.latency.quantiles import Floats
from diagnose.facts.base import Source, Subject
from diagnose.facts.metrics import METRICS, Driver
from diagnose.facts.series import Clock, Requests, Series

COLUMN_OF = {
    "ttft": "ttft_seconds",
    "itl": "itl_seconds",
    "e2e": "end_to_end_seconds",
    "queue": "queue_seconds",
    "prefill": "prefill_seconds",
    "decode": "decode_seconds",
    "network": "network_seconds",
    "client": "client_seconds",
}
"""Metric to the column of requests that holds it."""
PRIMARY = ("ttft", "itl", "e2e")
"""Latencies that are followed over time; the others are parts of them."""
_MIDDLE = {"ttft": "ttft_seconds", "prefill": "ttft_seconds", "itl": "end_to_end_seconds", "e2e": "end_to_end_seconds",
           "decode": "end_to_end_seconds"}  # fmt: skip
"""Column whose half is added to the start, so that a latency counts where most of it happened."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One table of requests in the order of their start, without those that failed."""

    name: str
    subject: Subject
    clock: Clock
    sources: tuple[Source, ...]
    columns: Mapping[str, Floats]
    failed: int | None
    inter_token_seconds: Floats | None = None
    quantile: float | None = None
    """Set where each row is no request but a quantile that a server told for a while."""

    @property
    def timed(self) -> bool:
        """Whether the start of each request is known."""
        return "start_seconds" in self.columns

    def metrics(self) -> Iterator[str]:
        """Latencies that the table has."""
        return (metric for metric, column in COLUMN_OF.items() if column in self.columns)

    def latency(self, metric: str) -> Floats:
        """Values of a latency, some of them NaN where the table has gaps."""
        return self.columns[COLUMN_OF[metric]]

    def times(self, metric: str) -> Floats:
        """When each latency counts: in the middle of what it measures, where that is known."""
        starts = self.columns["start_seconds"]
        whole = self.columns.get(_MIDDLE.get(metric, ""))
        return starts if whole is None else starts + 0.5 * np.nan_to_num(whole)


def streams_of(requests: Sequence[Requests]) -> list[Stream]:
    """Tables made ready, each with a name of its own; those without a latency are left out."""
    ready = [stream for table in requests if (stream := _stream(table)) is not None]
    names = [stream.name for stream in ready]
    return [
        stream
        if names.count(stream.name) == 1
        else Stream(
            f"{stream.name} ({names[: at + 1].count(stream.name)})", stream.subject, stream.clock, stream.sources,
            stream.columns, stream.failed, stream.inter_token_seconds,
        )
        for at, stream in enumerate(ready)
    ]  # fmt: skip


def _stream(table: Requests) -> Stream | None:
    columns = {name: _finite(np.asarray(column)) for name, column in table.columns.items()}
    succeeded = columns.pop("succeeded", None)
    failed = None
    keep = np.ones(len(table), dtype=bool)
    if succeeded is not None:
        keep &= succeeded != 0
        failed = int(len(table) - keep.sum())
    starts = columns.get("start_seconds")
    order: slice | np.ndarray[tuple[int], np.dtype[np.intp]] = slice(None)
    if starts is not None and not np.isfinite(starts).any():
        del columns["start_seconds"]
    elif starts is not None:
        keep &= np.isfinite(starts)
        kept = starts[keep]
        if len(kept) > 1 and not bool(np.all(kept[1:] >= kept[:-1])):
            order = np.argsort(kept, kind="stable")
    columns = {name: column[keep][order] if not keep.all() or not isinstance(order, slice) else column
               for name, column in columns.items()}  # fmt: skip
    columns |= _derived(columns)
    usable = {name: column for name, column in columns.items() if np.isfinite(column).any()}
    if not any(column in usable for column in COLUMN_OF.values()) and table.inter_token_seconds is None:
        return None
    path = table.sources[0].path or str(table.sources[0])
    return Stream(path, table.subject, table.clock, table.sources, usable, failed, table.inter_token_seconds)


def _finite(column: Floats) -> Floats:
    """Infinite cells are unknown ones."""
    infinite = np.isinf(column)
    return np.where(infinite, np.asarray(np.nan, dtype=column.dtype), column) if infinite.any() else column


def _derived(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """Time after the first token, and its mean gap, where the table has what they follow from."""
    whole, first, tokens = (columns.get(name) for name in ("end_to_end_seconds", "ttft_seconds", "output_tokens"))
    found: dict[str, Floats] = {}
    if whole is None or first is None:
        return found
    after = np.maximum(whole - first, 0.0)
    if "decode_seconds" not in columns:
        found["decode_seconds"] = after.astype(np.float32)
    if tokens is not None and "itl_seconds" not in columns:
        gaps = np.where(tokens >= 2, tokens - 1, np.nan)
        found["itl_seconds"] = (after / gaps).astype(np.float32)
    return found


def told_by_servers(series: Sequence[Series]) -> list[Stream]:
    """Quantiles of latency that servers tell over time, as tables with a row a sample; p99 where it is told."""
    found = []
    for item in series:
        metric = METRICS.get(item.metric)
        if metric is None or metric.driver is not Driver.LATENCY or "_p99_" not in item.metric:
            continue
        name = item.metric.removeprefix("server_").split("_p")[0]
        known = np.isfinite(item.values)
        if name in COLUMN_OF and known.any():
            found.append(
                Stream(
                    f"{item.sources[0].path or item.sources[0]}, p99 by sample", item.subject, item.clock, item.sources,
                    {"start_seconds": item.times_seconds[known], COLUMN_OF[name]: item.values[known]}, None, None, 0.99,
                )
            )  # fmt: skip
    return found
