"""Results that vLLM's and SGLang's serving benchmarks save: JSON objects, one a line; detailed ones hold requests.

Means and percentiles are milliseconds, the lists of the detailed form seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from collectors.base import FileCollector, OpenFile, Parsed
from collectors.benchmark_values import Result, number
from collectors.json_text import real
from diagnose.facts import Source, Subject
from diagnose.facts.series import Clock, Requests

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LARGEST = 192 << 20
_STATISTIC = re.compile(
    r"^(?P<statistic>mean|median|max|p\d{1,2}(?:\.\d)?)_(?P<metric>ttft|tpot|itl|e2el|e2e_latency)_ms$"
)
_METRICS = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e", "e2e_latency": "e2e"}
_FIELDS = {
    "duration": "duration_seconds",
    "completed": "completed",
    "failed": "failed",
    "total_input_tokens": "input_tokens",
    "total_output_tokens": "output_tokens",
    "request_throughput": "requests_per_second",
    "output_throughput": "output_tokens_per_second",
    "concurrency": "mean_concurrency",
}
_LISTS = {"input_lens": "input_tokens", "output_lens": "output_tokens", "start_times": "start_seconds"}
_TOLD_BY = (b'"request_throughput"', b'"median_ttft_ms"', b'"mean_ttft_ms"', b'"total_input_tokens"', b'"burstiness"')


class BenchmarkJson(FileCollector):
    """A fact for each result, and a table of requests for each detailed one."""

    kind: ClassVar[str] = "serving-benchmark-json"

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """An object with keys of such a result."""
        return head.lstrip()[:1] == b"{" and sum(key in head for key in _TOLD_BY) >= 2

    @classmethod
    def parse(cls, file: OpenFile) -> Parsed:
        """Every object of the file."""
        pieces: list[bytes] = []
        size = 0
        for piece in file.chunks():
            size += len(piece)
            if size > _LARGEST:
                return Parsed(
                    problems=[f"the result is larger than {_LARGEST >> 20} MB: save it without the generated texts"]
                )
            pieces.append(piece)
        text = b"".join(pieces).decode("utf-8", "replace")
        del pieces
        parsed = Parsed()
        for line, content in _objects(text, parsed.problems):
            _read(content, Source(path=file.name, line=line), parsed)
        if not parsed.facts and not parsed.problems:
            parsed.problems.append("the result holds no latency and no throughput")
        return parsed


def _objects(text: str, problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    decoder = json.JSONDecoder()
    at = counted = 0
    line = 1
    while (at := _next(text, at)) < len(text):
        line += text.count("\n", counted, at)
        counted = at
        try:
            content, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            problems.append(f"line {line}: the JSON is damaged or incomplete")
            return
        if isinstance(content, dict):
            yield line, content


def _next(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def _read(content: dict[str, Any], source: Source, parsed: Parsed) -> None:
    result = Result("sglang-bench" if "dataset_name" in content or "sharegpt_output_len" in content else "vllm-bench")
    engine = content.get("backend", content.get("endpoint_type"))
    if isinstance(engine, str) and engine.split("-")[0] in ("vllm", "sglang", "tgi", "trt"):
        result.set("engine", engine.split("-")[0])
    for name, field in (("model_id", "model"), ("model", "model"), ("label", "label"), ("tag", "label")):
        if isinstance(content.get(name), str):
            result.set(field, content[name][:120])
    result.load(_rate(content.get("request_rate")), real(content.get("max_concurrency")))
    prompts, completed = real(content.get("num_prompts")), real(content.get("completed"))
    if prompts is not None and completed is not None and prompts >= completed:
        result.set("failed", prompts - completed)
    for name, value in content.items():
        match = _STATISTIC.match(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            if match is not None:
                result.put(_METRICS[match["metric"]], match["statistic"], value / 1e3)
            elif name in _FIELDS:
                result.set(_FIELDS[name], float(value))
        elif isinstance(value, str) and (match is not None or name in _FIELDS) and number(value) is None:
            parsed.problems.append(f"line {source.line}: {name} is {value[:20]!r}, no number")
    if result.measured():
        parsed.facts.append(result.fact(Subject(), source))
    requests = _requests(content, source)
    if requests is not None:
        parsed.series.append(requests)


def _rate(value: object) -> float | None:
    return float("inf") if value in ("inf", float("inf")) else real(value)


def _requests(content: dict[str, Any], source: Source) -> Requests | None:
    import numpy as np

    first, gaps = content.get("ttfts"), content.get("itls")
    if not isinstance(first, list) or not first:
        return None
    count = len(first)
    ttft = _column(first)
    columns = {"ttft_seconds": ttft}
    if isinstance(gaps, list) and len(gaps) == count:
        sums = np.array([sum(_numbers(row)) for row in gaps], np.float64)
        counts = np.array([len(row) if isinstance(row, list) else 0 for row in gaps], np.float64)
        columns["end_to_end_seconds"] = ttft + sums
        columns["itl_seconds"] = np.divide(sums, counts, out=np.full(count, np.nan), where=counts > 0)
        single = np.array([gap for row in gaps for gap in _numbers(row)], np.float32)
    else:
        single = np.array([], np.float32)
    for name, column in _LISTS.items():
        values = content.get(name)
        if isinstance(values, list) and len(values) == count:
            columns[column] = _column(values)
    errors = content.get("errors")
    if isinstance(errors, list) and len(errors) == count:
        columns["succeeded"] = np.array([not error for error in errors], np.float64)
        for name in ("ttft_seconds", "end_to_end_seconds", "itl_seconds"):
            if name in columns:
                columns[name] = np.where(columns["succeeded"] == 1, columns[name], np.nan)
    return Requests(Subject(), columns, Clock.RELATIVE, (source,), single if len(single) else None)


def _column(values: Sequence[object]) -> NDArray[np.float64]:
    import numpy as np

    return np.array([np.nan if (number_ := real(value)) is None else number_ for value in values], np.float64)


def _numbers(row: object) -> list[float]:
    if not isinstance(row, list):
        return []
    return [float(gap) for gap in row if isinstance(gap, int | float) and gap == gap and 0 <= gap < 1e6]
