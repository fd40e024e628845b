"""Tables of throughput by number of GPUs, as CSV or JSON lines: read by the meaning of the columns' names."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.cells import cells
from diagnose.facts.scaling import ScalingMeasurement

_MOST_ROWS = 10_000
_LONGEST_HEADER = 500
_MOST_GPUS = 1_000_000
_GPUS = re.compile(
    r"^(?:(?:num|number|n|no|total|count)[ _-]?(?:of[ _-]?)?)?(?:gpus|devices|accelerators)$"
    r"|^(?:gpu|device)[ _-]?(?:count|number)$|^n[ _-]?gpu$|^world[ _-]?size$",
    re.IGNORECASE,
)
_SHORT = re.compile(r"^n$", re.IGNORECASE)
"""Means the number of GPUs only beside a column that can be nothing but throughput."""
_RATE = re.compile(
    r"^(?:(?:total|global|aggregate|mean|avg|average|median|train|training)[ _-])*"
    r"(throughput|samples|sequences|seqs?|images|imgs?|examples|tokens|toks?|steps|iterations|iters?|it)"
    r"[ _]?(?:per[ _-]?(?:s|sec|second)|/s(?:ec(?:ond)?)?|ps)?(?:[ _]?[(\[](?P<unit>[^)\]]{1,24})[)\]])?$",
    re.IGNORECASE,
)
_PER_SECOND = re.compile(r"per[ _-]?(?:s|sec|second)\b|/s(?:ec(?:ond)?)?\b|ps\b", re.IGNORECASE)
_RUN_TIME = re.compile(
    r"^(?:(?:total|run|wall|elapsed|epoch)[ _-]?)+(?:clock[ _-]?)?(?:time)?"
    r"(?:[ _(\[-]+(ms|s|sec|secs|seconds|min|minutes|h|hours)[)\]]?)?$",
    re.IGNORECASE,
)
_STEP_TIME = re.compile(
    r"^(?:(?:mean|avg|average|median)[ _-])?(?:step|iter|iteration)[ _-]?(?:time)?"
    r"(?:[ _(\[-]+(ms|s|sec|secs|seconds)[)\]]?)?$",
    re.IGNORECASE,
)
_GLOBAL_BATCH = re.compile(r"^(?:global|total|effective)[ _-]?batch(?:[ _-]?size)?$|^gbs$", re.IGNORECASE)
_LOCAL_BATCH = re.compile(
    r"^(?:micro|local|device|gpu)[ _-]?batch(?:[ _-]?size)?$|^batch(?:[ _-]?size)?[ _-]per[ _-](?:gpu|device)$|^mbs$",
    re.IGNORECASE,
)
_MODE = re.compile(r"^(?:scaling|mode|scaling[ _-]?mode)$", re.IGNORECASE)
_SERIES = re.compile(r"^(?:step|iter|iteration|epoch|time|timestamp|date|rank|local[ _-]?rank)s?$", re.IGNORECASE)
"""Columns of logs of one run: their rows are no points of a curve."""
_NUMBER = re.compile(r"^[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:[eE][+-]?\d{1,3})?$")
_UNITS = {
    "samples": "samples", "sequences": "samples", "seq": "samples", "seqs": "samples", "images": "samples",
    "image": "samples", "imgs": "samples", "img": "samples", "examples": "samples", "sample": "samples",
    "tokens": "tokens", "toks": "tokens", "tok": "tokens", "token": "tokens",
    "steps": "steps", "step": "steps", "iterations": "steps", "iters": "steps", "iter": "steps", "it": "steps",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Layout:
    names: tuple[str, ...]
    gpus: int
    value: int
    unit: str
    is_time: bool
    global_batch: int | None
    local_batch: int | None
    mode: int | None


@dataclass(frozen=True, slots=True)
class _Point:
    line: Line
    label: str
    gpus: int
    value: float
    global_batch: float | None
    local_batch: float | None
    mode: str | None


class ScalingTable(BlockCollector):
    """One fact for each row of a table with at least two numbers of GPUs."""

    kind: ClassVar[str] = "scaling-table"
    # The columns with the number of GPUs; `n` stands beside throughput only.
    literals: ClassVar[tuple[bytes, ...]] = (
        b"gpus", b"GPUs", b"gpu_count", b"devices", b"orld_size", b"orld size", b"hroughput", b"HROUGHPUT",
    )  # fmt: skip
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A header, or a JSON object, whose names are understood."""
        if len(text) > _LONGEST_HEADER:
            return False
        record = _record(text)
        return _layout(tuple(record)) is not None if record is not None else _layout(tuple(cells(text))) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Throughputs; what the mode of scaling is where batches or a column tell."""
        first = _record(block.lines[0].text)
        names = tuple(first) if first is not None else tuple(cells(block.lines[0].text))
        layout = _layout(names)
        if layout is None:
            return Parsed()
        rows = block.lines if first is not None else block.lines[1:]
        points: dict[str, list[_Point]] = defaultdict(list)
        for line in rows[:_MOST_ROWS]:
            point = _point(layout, line, first is not None)
            if point is not None:
                points[point.label].append(point)
        parsed = Parsed()
        for label, curve in points.items():
            _add(block, layout, label, curve, parsed)
        return parsed


def _layout(names: tuple[str, ...]) -> _Layout | None:
    if len(names) < 2 or len(set(names)) < len(names) or any(_number(name) is not None for name in names):
        return None
    rates = [(at, unit) for at, name in enumerate(names) if (unit := _rate_unit(name)) is not None]
    times = [at for at, name in enumerate(names) if _RUN_TIME.match(name) or _STEP_TIME.match(name)]
    gpus = _at(names, _GPUS)
    if gpus is None and rates:
        gpus = _at(names, _SHORT)
    if gpus is None or not (rates or times) or any(_SERIES.match(name) for name in names):
        return None
    value, unit = rates[0] if rates else (times[0], "work")
    return _Layout(
        names,
        gpus,
        value,
        unit,
        is_time=not rates,
        global_batch=_at(names, _GLOBAL_BATCH),
        local_batch=_at(names, _LOCAL_BATCH),
        mode=_at(names, _MODE),
    )


def _at(names: Sequence[str], pattern: re.Pattern[str]) -> int | None:
    return next((at for at, name in enumerate(names) if pattern.match(name)), None)


def _rate_unit(name: str) -> str | None:
    """`samples-per-second` and its like; `work` for a throughput without a unit; None for other columns."""
    match = _RATE.match(name)
    if match is None:
        return None
    word, within = match.group(1).lower(), match.group("unit") or ""
    if word == "throughput":
        noun = next((word for word in re.split(r"[^a-z]+", within.lower()) if word in _UNITS), None)
        return f"{_UNITS[noun]}-per-second" if noun else "work"
    # `samples` alone counts them.
    return f"{_UNITS[word]}-per-second" if _PER_SECOND.search(name) else None


def _record(text: str) -> dict[str, object] | None:
    """A flat JSON object on one line."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _point(layout: _Layout, line: Line, as_json: bool) -> _Point | None:
    if as_json:
        record = _record(line.text)
        row = [_cell(record.get(name)) for name in layout.names] if record is not None else []
    else:
        row = cells(line.text)
    if len(row) < len(layout.names):
        return None
    gpus, value = _number(row[layout.gpus]), _number(row[layout.value])
    if gpus is None or value is None or not gpus.is_integer() or not 1 <= gpus <= _MOST_GPUS or value <= 0.0:
        return None
    mode = row[layout.mode].lower() if layout.mode is not None else ""
    used = {layout.gpus, layout.value, layout.mode}
    labels = [
        f"{name} {text}" for at, (name, text) in enumerate(zip(layout.names, row, strict=False))
        if at not in used and text and _number(text) is None
    ]  # fmt: skip
    return _Point(
        line,
        ", ".join(labels),
        int(gpus),
        value,
        _number(row[layout.global_batch]) if layout.global_batch is not None else None,
        _number(row[layout.local_batch]) if layout.local_batch is not None else None,
        mode if mode in ("strong", "weak") else None,
    )


def _cell(value: object) -> str:
    return "" if value is None or isinstance(value, bool | list | dict) else str(value)


def _add(block: Block, layout: _Layout, label: str, points: Sequence[_Point], parsed: Parsed) -> None:
    if len({point.gpus for point in points}) < 2:
        return
    first = points[0].line.number
    by_size: dict[int, set[tuple[float | None, float | None]]] = defaultdict(set)
    for point in points:
        by_size[point.gpus].add((point.global_batch, point.local_batch))
    if any(len(batches) > 1 for batches in by_size.values()):
        parsed.problems.append(f"line {first}: rows with the same number of GPUs differ in their batch; not one curve")
        return
    mode = _mode(points)
    name = layout.names[layout.value]
    if layout.is_time and _RUN_TIME.match(name) and mode is None:
        mode = "strong"
    if layout.is_time and mode is None:
        parsed.problems.append(f"line {first}: {name!r} tells no throughput without the batch; add a column for it")
        return
    for point in points:
        parsed.facts.append(
            ScalingMeasurement(
                subject=block.subject(),
                sources=(block.source(point.line),),
                curve=f"{name} ({label})" if label else name,
                gpus=point.gpus,
                throughput=_throughput(point, layout, mode),
                unit=layout.unit,
                mode=mode,
            )
        )


def _throughput(point: _Point, layout: _Layout, mode: str | None) -> float:
    """Work in a unit of time: of fixed work one over the time, of work in proportion N over it."""
    if not layout.is_time:
        return point.value
    return (point.gpus if mode == "weak" else 1) / point.value


def _mode(points: Sequence[_Point]) -> str | None:
    named = {point.mode for point in points}
    if named != {None}:
        return named.pop() if len(named) == 1 else None
    return _by_batches(points)


def _by_batches(points: Sequence[_Point]) -> str | None:
    """`strong` where the global batch is the same for all, `weak` where that of a GPU is."""
    totals, shares = set(), set()
    for point in points:
        if point.global_batch is not None:
            totals.add(point.global_batch)
            shares.add(point.global_batch / point.gpus)
        elif point.local_batch is not None:
            totals.add(point.local_batch * point.gpus)
            shares.add(point.local_batch)
        else:
            return None
    return "strong" if len(totals) == 1 else "weak" if len(shares) == 1 else None


def _number(text: str) -> float | None:
    """A finite number; commas stand between groups of three digits only."""
    if not text or len(text) > 40 or not _NUMBER.match(text):
        return None
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) < 1e18 else None
