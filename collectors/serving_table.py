"""Small tables that operators write down about a server: requests that run or wait, tokens a second, by configuration.

Read by the meaning of the columns' names; a label such as `cuda_graph_max_bs=32` tells a setting of its row.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, NamedTuple

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.benchmark_values import number
from collectors.cells import cells
from collectors.serving_settings import Settings, pairs
from diagnose.facts import Fact
from diagnose.facts.serving import ServingDecodeOutsideGraph, ServingEvent, ServingLoad, ServingSettings

_LONGEST_HEADER = 300
_MOST_ROWS = 1000
_LABEL = re.compile(r"^(?:config(?:uration)?|phase|run|setup|scenario|case|setting|label|name)$", re.IGNORECASE)
_WORDS = re.compile(r"[^a-z0-9]+")
_STATISTICS = {
    "low": "min", "min": "min", "minimum": "min", "high": "max", "max": "max", "maximum": "max", "peak": "max",
    "median": "median", "p50": "median", "med": "median", "mean": "median", "avg": "median", "average": "median",
    "p95": "p95",
}  # fmt: skip
_QUANTITIES: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"running"}), "running"),
    (frozenset({"waiting"}), "waiting"),
    (frozenset({"queued"}), "waiting"),
    (frozenset({"tok", "s"}), "generation_tokens_per_second"),
    (frozenset({"tokens", "s"}), "generation_tokens_per_second"),
    (frozenset({"tokens", "per", "second"}), "generation_tokens_per_second"),
    (frozenset({"toks"}), "generation_tokens_per_second"),
    (frozenset({"tps"}), "generation_tokens_per_second"),
    (frozenset({"kv", "usage"}), "kv_cache_usage"),
)
_EVENTS = {"retraction": "retraction", "retract": "retraction", "preemption": "preemption", "preempt": "preemption"}


class _Layout(NamedTuple):
    label: int
    samples: int | None
    fields: dict[int, str]


class ServingTable(BlockCollector):
    """One load for each row."""

    kind: ClassVar[str] = "serving-table"
    literals: ClassVar[tuple[bytes, ...]] = (b"running", b"waiting", b"queued", b"tok", b"tps", b"usage")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A header with a column of labels and one of a server's load."""
        return len(text) < _LONGEST_HEADER and _layout(cells(text)) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """The rows that have a number where the header promises one."""
        parsed = Parsed()
        layout = _layout(cells(block.lines[0].text))
        if layout is not None:
            for line in block.lines[1:_MOST_ROWS]:
                parsed.facts += _row(block, layout, line, cells(line.text))
        return parsed


def _layout(names: list[str]) -> _Layout | None:
    if len(names) < 2 or len(set(names)) < len(names):
        return None
    label = next((at for at, name in enumerate(names) if _LABEL.match(name)), None)
    if label is None:
        return None
    fields: dict[int, str] = {}
    samples = None
    shared: str | None = None
    for at, name in enumerate(names):
        found = [word for word in _WORDS.split(name.lower()) if word]
        if found and set(found) <= {"samples", "n", "count"}:
            samples = at
            continue
        quantity = next((field for words, field in _QUANTITIES if words <= set(found)), None)
        statistic = next((_STATISTICS[word] for word in found if word in _STATISTICS), None)
        # `max` beside `median_running` is of the same quantity.
        if quantity is None and statistic is not None and len(found) == 1:
            quantity = shared
        if quantity is None or at == label:
            continue
        shared = quantity
        field = f"{quantity}_{statistic or 'median'}" + ("_ratio" if quantity == "kv_cache_usage" else "")
        if field in ServingLoad.model_fields and field not in fields.values():
            fields[at] = field
    return _Layout(label, samples, fields) if fields else None


def _row(block: Block, layout: _Layout, line: Line, row: list[str]) -> list[Fact]:
    if len(row) <= max(layout.label, *layout.fields):
        return []
    values: dict[str, Any] = {
        field: value for at, field in layout.fields.items() if (value := number(row[at])) is not None and value >= 0
    }
    if not values:
        return []
    label = row[layout.label]
    samples = number(row[layout.samples]) if layout.samples is not None and layout.samples < len(row) else None
    subject, sources = block.subject(), (block.source(line),)
    load = ServingLoad(
        subject=subject, sources=sources, origin="table", configuration=label, samples=int(samples or 1), **values
    )
    facts: list[Fact] = [load]
    settings = Settings()
    for name, given in pairs(label):
        settings.take(name, given)
    if settings.values:
        facts.append(ServingSettings(subject=subject, sources=sources, configuration=label, **settings.values))
    largest = settings.values.get("cuda_graph_max_batch")
    if largest is not None and (load.running_median is not None or load.running_max is not None):
        facts.append(
            ServingDecodeOutsideGraph(
                subject=subject,
                sources=sources,
                basis="batch-size",
                configuration=label,
                batches=int(samples or 1),
                outside_ratio=_outside(load, largest),
                cuda_graph_max_batch=largest,
                running_median=load.running_median,
                running_max=load.running_max,
            )
        )
    facts += [
        ServingEvent(
            subject=subject, sources=sources, event=event, origin="table", count=1, detail=f"a table says {label!r}"
        )
        for word in _WORDS.split(label.lower())
        if (event := _EVENTS.get(word)) is not None and "no" not in _WORDS.split(label.lower())
    ]
    return facts


def _outside(load: ServingLoad, largest: int) -> float:
    """The least share of batches beyond the largest graph that the statistics allow."""
    if load.running_median is not None and load.running_median > largest:
        return 0.5
    if load.running_p95 is not None and load.running_p95 > largest:
        return 0.05
    if load.running_max is not None and load.running_max > largest:
        return 1 / max(load.samples, 1)
    return 0.0
