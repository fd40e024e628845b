"""Columns of tables with a row for each request: what their names mean, and in which unit they are.

A name tells the meaning by its words and the unit by its end. Without a unit the values decide, where only one unit
makes sense of all columns; else the reader of the report is asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

UNITS: Mapping[str, float] = {
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0,
    "ms": 1e-3, "msec": 1e-3, "msecs": 1e-3, "millis": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
    "us": 1e-6, "usec": 1e-6, "usecs": 1e-6, "µs": 1e-6, "μs": 1e-6, "micros": 1e-6, "microsecond": 1e-6,
    "microseconds": 1e-6, "ns": 1e-9, "nsec": 1e-9, "nanos": 1e-9, "nanosecond": 1e-9, "nanoseconds": 1e-9,
}  # fmt: skip
"""Seconds of a unit, by all its spellings."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PARTS = re.compile(r"[^0-9A-Za-zµμ]+")
_NOISE = frozenset(
    {"request", "req", "http", "client", "total", "the", "number", "num", "n", "of", "metrics", "metadata", "response"}
)
_MEANINGS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "latency", "e2e latency", "e2e", "e2el", "end to end latency", "end to end", "response time", "duration",
            "elapsed", "elapsed time", "e2e time", "rt", "resp time", "time taken", "overall latency",
            "roundtrip", "round trip time", "rtt", "e2e duration", "end2end latency",
        ),
        "end_to_end_seconds",
    ),
    **dict.fromkeys(
        (
            "ttft", "time to first token", "first token latency", "first token time", "time to first", "first token",
            "time to first chunk", "latency first token", "ttfb", "time to first byte",
        ),
        "ttft_seconds",
    ),
    **dict.fromkeys(
        (
            "itl", "inter token latency", "intertoken latency", "tpot", "time per output token", "time per token",
            "mean itl", "avg itl", "average itl", "mean tpot", "inter token", "mean inter token latency", "tbt",
            "time between tokens",
        ),
        "itl_seconds",
    ),
    **dict.fromkeys(
        ("queue time", "queue", "queue latency", "queue wait", "queueing time", "queuing time", "queue duration",
         "waiting time", "wait time", "time in queue", "scheduling delay"),
        "queue_seconds",
    ),
    **dict.fromkeys(("prefill", "prefill time", "prefill latency", "prefill duration"), "prefill_seconds"),
    **dict.fromkeys(("decode", "decode time", "decode latency", "decode duration"), "decode_seconds"),
    **dict.fromkeys(("network", "network time", "network latency"), "network_seconds"),
    **dict.fromkeys(
        ("start", "start time", "time", "started at", "start timestamp", "sent", "sent at", "send time", "arrival",
         "arrival time", "arrived at", "arrival timestamp", "timestamp", "ts", "datetime", "date time", "time stamp",
         "date", "begin", "start ts", "created at", "submitted at", "submit time", "start ns", "start timestamp ns"),
        "start_seconds",
    ),
    **dict.fromkeys(
        ("end", "end time", "ended at", "finish", "finish time", "finished at", "completed at", "completion time",
         "end timestamp", "end ts"),
        "end",
    ),
    **dict.fromkeys(
        ("input tokens", "prompt tokens", "input len", "input length", "prompt len", "prompt length", "context tokens",
         "isl", "input sequence length", "tokens in", "input token count", "prompt token count"),
        "input_tokens",
    ),
    **dict.fromkeys(
        ("output tokens", "completion tokens", "generated tokens", "output len", "output length", "osl",
         "output sequence length", "tokens out", "output token count", "gen tokens", "generation tokens",
         "completion len", "decode tokens"),
        "output_tokens",
    ),
    **dict.fromkeys(("success", "succeeded", "ok", "successful"), "succeeded"),
    **dict.fromkeys(("status code", "status", "code", "http status"), "status"),
    **dict.fromkeys(("error", "error code", "error msg", "error message", "errors"), "error"),
    **dict.fromkeys(("id", "uuid", "index", "idx", "trace id", "correlation id", "session id"), "id"),
}  # fmt: skip
_AGGREGATE = re.compile(
    r"^(?:p\d{1,2}(?:[._]\d)?|median|std|stddev|stdev|min|max|count|samples|rank|gpus?|devices?|world ?size|batch|"
    r"batch ?size|size|step|iteration|iter|epoch|config|threads|clients|concurrency|qps|rps|hops?|ttl)\b",
    re.IGNORECASE,
)
"""First words of columns of tables that hold something else than requests."""
DURATIONS = (
    "end_to_end_seconds", "ttft_seconds", "itl_seconds", "queue_seconds", "prefill_seconds", "decode_seconds",
    "network_seconds",
)  # fmt: skip
_LATENCIES = DURATIONS[:3]
# Typical values of a request that a server answers: from 2 ms to a minute, and between tokens from 0.5 ms to 2 s.
_PLAUSIBLE: Mapping[str, tuple[float, float]] = {
    "end_to_end_seconds": (2e-3, 60.0),
    "ttft_seconds": (2e-3, 60.0),
    "itl_seconds": (5e-4, 2.0),
}
_CANDIDATES: Mapping[str, float] = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


@dataclass(frozen=True, slots=True)
class Column:
    """One column that is understood."""

    name: str
    meaning: str
    """Name of the column of `Requests`, or `end`, `status`, `error`, `id`."""
    scale: float | None
    """Seconds of the unit; None where the name does not tell it."""


@dataclass(frozen=True, slots=True)
class Hints:
    """What the reader says of columns that do not tell it themselves."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Meaning to name, such as `end_to_end_seconds` to `lat`."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Name to unit, one of `UNITS`."""


NO_HINTS = Hints()
GIVEN_MEANINGS: Mapping[str, str] = {
    "e2e": "end_to_end_seconds", "ttft": "ttft_seconds", "itl": "itl_seconds", "queue": "queue_seconds",
    "prefill": "prefill_seconds", "decode": "decode_seconds", "network": "network_seconds", "start": "start_seconds",
    "end": "end", "input-tokens": "input_tokens", "output-tokens": "output_tokens", "success": "succeeded",
}  # fmt: skip
"""Meanings that can be given to columns, by their short names."""


class HintError(ValueError):
    """A hint that cannot be used; says why."""


def hints_of(columns: Sequence[str], units: Sequence[str]) -> Hints | None:
    """Hints as given: `ttft=first_ms` and `first_ms=ms`; None where none is given. Raises HintError."""
    meanings: dict[str, str] = {}
    for text in columns:
        meaning, sign, name = text.partition("=")
        if meaning not in GIVEN_MEANINGS or not sign or not name:
            raise HintError(f"{text!r} is not of the form MEANING=NAME with MEANING one of {', '.join(GIVEN_MEANINGS)}")
        meanings[GIVEN_MEANINGS[meaning]] = name
    named: dict[str, str] = {}
    for text in units:
        name, sign, unit = text.rpartition("=")
        if not sign or not name or unit not in _CANDIDATES:
            raise HintError(f"{text!r} is not of the form NAME=UNIT with UNIT one of {', '.join(_CANDIDATES)}")
        named[name] = unit
    return Hints(meanings, named) if meanings or named else None


def words(name: str) -> tuple[list[str], float | None]:
    """The words of a name in lower case without its unit, and the unit's seconds."""
    parts = [part for part in _PARTS.split(_CAMEL.sub(" ", name).strip()) if part]
    lowered = [part.lower() for part in parts]
    if len(lowered) > 1 and lowered[-1] in UNITS:
        return lowered[:-1], UNITS[lowered[-1]]
    return lowered, None


def column_of(name: str, hints: Hints = NO_HINTS) -> Column | None:
    """What a column means; None where its name tells nothing."""
    found, scale = words(name)
    if name in hints.units:
        scale = UNITS.get(hints.units[name], scale)
    for meaning, given in hints.columns.items():
        if given == name:
            return Column(name, meaning, scale)
    full = " ".join(found)
    bare = " ".join(word for word in found if word not in _NOISE)
    meaning_found = _MEANINGS.get(full) or _MEANINGS.get(bare)
    if meaning_found is None:
        return None
    return Column(name, meaning_found, scale)


def request_columns(names: Sequence[str], hints: Hints = NO_HINTS) -> list[Column]:
    """The columns of a table of requests, the first of each meaning; empty where the table is of something else."""
    found: dict[str, Column] = {}
    for name in names:
        column = column_of(name, hints)
        if column is not None and (column.meaning not in found or _better(column, found[column.meaning])):
            found[column.meaning] = column
    given = bool(hints.columns)
    if not given and any(_AGGREGATE.match(" ".join(words(name)[0])) for name in names if column_of(name) is None):
        return []
    measured = [meaning for meaning in found if meaning in _LATENCIES]
    trace = {"start_seconds", "input_tokens", "output_tokens"} <= set(found)
    timed = {"start_seconds", "end"} <= set(found)
    if not (measured or trace or timed):
        return []
    if not given and len(found) < 2 and len(names) > 1:
        return []
    return list(found.values())


def _better(column: Column, than: Column) -> bool:
    """Of two columns of one meaning the one that tells its unit."""
    return than.scale is None and column.scale is not None and column.meaning in DURATIONS


def unit_of(medians: Mapping[str, float]) -> tuple[float | None, list[str]]:
    """Seconds of the one unit that makes sense of all medians (by meaning), else None; and the units that do."""
    fitting = [
        unit
        for unit, scale in _CANDIDATES.items()
        if all(
            low <= value * scale <= high
            for meaning, value in medians.items()
            for low, high in (_PLAUSIBLE.get(meaning, (0.0, 3600.0)),)
        )
    ]
    return (_CANDIDATES[fitting[0]] if len(fitting) == 1 else None), fitting
