"""Lines in which inference servers tell of their load, and what they say."""

from __future__ import annotations

import json
import re
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from collectors.json_text import mapping, real
from collectors.serving_samples import Sample

_N = r"(\d{1,15}(?:\.\d{1,9})?)"
_VLLM = re.compile(
    r"(?:Engine (?P<engine>\d{1,6}): )?Avg prompt throughput: " + _N + r" tokens/s, Avg generation throughput: " + _N
    + r" tokens/s, Running: (\d{1,9}) reqs, (?:Swapped: (\d{1,9}) reqs, )?(?:Pending|Waiting): (\d{1,9}) reqs"
    + r"(?:, Preemptions: (\d{1,12}))?, GPU KV cache usage: " + _N + r"%"
    + r"(?:.*?Prefix cache hit rate: (?:GPU: )?" + _N + r"%)?"
)  # fmt: skip
_SGLANG = re.compile(r"\b(?P<phase>Decode|Prefill) batch[.,]? *(?P<rest>[^\n]*)")
_SGLANG_FIELD = re.compile(r"(#?[A-Za-z][\w ()/#-]{1,40}): (True|False|\d{1,15}(?:\.\d{1,9})?)")
_SGLANG_MARK = re.compile(r"((?:DP\d+ ?)?(?:TP\d+)?(?: ?EP\d+)?(?: ?PP\d+)?)\]")
_TRT_FIELD = re.compile(
    r"\b(host_step_time|elapsed_time|num_scheduled_requests|kv_cache_util|num_ctx_tokens|num_generation_tokens)'?"
    r"(?: = |: )" + _N + r"(ms|s)?"
)
_TRT_JSON = re.compile(r"\{\"(?:Active Request Count|cpuMemUsage|gpuMemUsage|newActiveRequestsQueueLatencyMS)\":.*\}")

_STAMP = re.compile(r"(?:(?<!\d)(\d{4})-)?\b(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(Z|\+00:?00)?")
_EPOCH = 719_163
_COMMON_YEAR = 2024
"""A leap year, so that every day exists."""

LOAD_LITERALS: tuple[bytes, ...] = (
    b"Avg prompt throughput: ", b"Decode batch", b"Prefill batch", b"num_scheduled_requests",
    b'"Active Request Count"', b'"inflightBatchingStats"',
)  # fmt: skip
"""Each line that `load_line` understands contains one of these."""


class LoadLine(NamedTuple):
    """What a line says, and which of several engines it is of."""

    engine: str
    stream: str
    sample: Sample
    decodes: bool
    """False for a batch of prompts, which is no sample of its own."""
    prompt_tokens: float = 0.0
    generation: str | None = None


class Stamp(NamedTuple):
    """Seconds since 1970 by the wall clock shown; without a year, since the year began."""

    seconds: float
    has_year: bool
    is_utc: bool


def stamp(text: str) -> Stamp | None:
    """The first time in a line."""
    match = _STAMP.search(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    days = _days(year, month, day)
    if days is None:
        return None
    seconds = days * 86400.0 + int(hour) * 3600 + int(minute) * 60 + int(second)
    if fraction is not None:
        seconds += float(f"0.{fraction}")
    return Stamp(seconds, year is not None, zone is not None)


@lru_cache(maxsize=4096)
def _days(year: str | None, month: str, day: str) -> int | None:
    """Days since 1970, or since the year began; at most a few are asked for."""
    try:
        if year is not None:
            return datetime(int(year), int(month), int(day)).toordinal() - _EPOCH
        return datetime(_COMMON_YEAR, int(month), int(day)).timetuple().tm_yday
    except ValueError:
        return None


def load_line(text: str) -> LoadLine | None:
    """What a line says of the load; None where it is no such line."""
    if "Avg prompt throughput" in text:
        return _vllm(text)
    if " batch" in text and (match := _SGLANG.search(text)) is not None:
        return _sglang(text, match)
    if "num_scheduled_requests" in text:
        return _trt_iteration(text)
    return _trt_json(text) if "{" in text else None


def _vllm(text: str) -> LoadLine | None:
    match = _VLLM.search(text)
    if match is None:
        return None
    engine, prompt, generation, running, swapped, waiting, preempted, usage, hits = match.groups()
    sample = Sample(
        running=float(running),
        waiting=float(waiting),
        kv_cache_usage=_percent(usage),
        generation_rate=float(generation),
        prompt_rate=float(prompt),
        prefix_hits=_percent(hits),
        swapped=_number(swapped),
        preempted=_number(preempted),
    )
    return LoadLine("vllm", engine or "", sample, decodes=True, generation="v0" if "Pending: " in text else "v1")


def _number(text: str | None) -> float:
    return float("nan") if text is None else float(text)


def _percent(text: str | None) -> float:
    return float("nan") if text is None else float(text) / 100


def _sglang(text: str, match: re.Match[str]) -> LoadLine | None:
    fields = {name.strip(): value for name, value in _SGLANG_FIELD.findall(match["rest"])}
    if "#queue-req" not in fields and "#running-req" not in fields:
        return None
    usage = max((float(value) for name, value in fields.items() if _is_usage(name, value)), default=float("nan"))
    graph = fields.get("cuda graph")
    decodes = match["phase"] == "Decode"
    mark = _SGLANG_MARK.search(text[: match.start()])
    sample = Sample(
        running=_number(fields.get("#running-req")),
        waiting=_number(fields.get("#queue-req")),
        kv_cache_usage=usage,
        generation_rate=_number(fields.get("gen throughput (token/s)")),
        in_graph=float("nan") if graph is None or not decodes else float(graph == "True"),
    )
    tokens = float(fields.get("#new-token", 0.0))
    return LoadLine("sglang", mark.group(1) if mark else "", sample, decodes, tokens)


def _is_usage(name: str, value: str) -> bool:
    """Pools of full attention, of sliding windows and of state are separate; the fullest one counts."""
    return name.endswith("token usage") and value[0].isdigit()


def _trt_iteration(text: str) -> LoadLine | None:
    fields = {name: float(value) * (1e-3 if unit == "ms" else 1) for name, value, unit in _TRT_FIELD.findall(text)}
    running = fields.get("num_scheduled_requests")
    seconds = fields.get("host_step_time", fields.get("elapsed_time", 0.0))
    if running is None or seconds <= 0 or "iter = " not in text:
        return None
    sample = Sample(
        running=running,
        kv_cache_usage=fields.get("kv_cache_util", float("nan")),
        generation_rate=fields.get("num_generation_tokens", 0.0) / seconds,
        prompt_rate=fields.get("num_ctx_tokens", 0.0) / seconds,
        busy=1.0,
    )
    return LoadLine("tensorrt-llm", "", sample, decodes=True)


def _trt_json(text: str) -> LoadLine | None:
    match = _TRT_JSON.search(text)
    if match is None:
        return None
    try:
        record = mapping(json.loads(match[0]))
    except (ValueError, RecursionError):
        return None
    cache, batch = mapping(record.get("kvCacheStats")), mapping(record.get("inflightBatchingStats"))
    used = real(record.get("Used KV cache blocks", cache.get("usedNumBlocks")))
    most = real(record.get("Max KV cache blocks", cache.get("maxNumBlocks")))
    active = real(record.get("Active Request Count", record.get("numActiveRequests")))
    scheduled = real(record.get("Scheduled Requests", batch.get("numScheduledRequests")))
    queued = real(record.get("numQueuedRequests"))
    if active is None:
        return None
    running = active if scheduled is None else scheduled
    waiting = max(0.0, active - running) + (queued or 0.0)
    usage = used / most if used is not None and most else float("nan")
    return LoadLine(
        "tensorrt-llm",
        str(record.get("MicroBatch ID", ""))[:8],
        Sample(running=running, waiting=waiting, kv_cache_usage=usage),
        decodes=True,
    )
