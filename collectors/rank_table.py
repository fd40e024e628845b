"""Small tables of times by rank, GPU, node or pipeline stage: read by the meaning of the columns' names."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.cells import cells
from diagnose.facts import Fact, Subject
from diagnose.facts.training import RankTimes

_SERIES_LENGTH = 256
_MOST_WORKERS = 20_000
_UNITS = {"s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0, "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "usec": 1e-6}
_TIME = re.compile(r"^(\w[\w ./-]*?)[\s_(\[-]+(s|secs?|seconds|ms|msec|us|usec)[)\]]?$", re.IGNORECASE)
_ROLES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("input", re.compile(r"^data(?![ _-]?parallel)|loader|loading|fetch|^input")),
    ("communication", re.compile(r"comm|all_?reduce|all_?gather|reduce_?scatter|nccl|collective|wait|sync|barrier")),
    ("own-work", re.compile(r"comp|forward|fwd|gemm|matmul|kernel|busy|useful|work")),
    ("synchronous", re.compile(r"backward|bwd")),
    ("whole-step", re.compile(r"step|iter|total|elapsed|wall|epoch|batch")),
)
"""What a phase's name says of it. Gradients are reduced within the backward pass, so that it holds waits for peers."""
_RANK = re.compile(r"^(?:global[ _-]?)?rank(?:[ _-]?id)?$|^worker(?:[ _-]?id)?$", re.IGNORECASE)
_GPU = re.compile(r"^(?:gpu|device|local[ _-]?rank)(?:[ _-]?(?:id|index))?$", re.IGNORECASE)
_HOST = re.compile(r"^(?:node|host|hostname|server|machine)(?:[ _-]?name)?$", re.IGNORECASE)
_STAGE = re.compile(r"^(?:(?:pipeline|pp)[ _-]?)?stage(?:[ _-]?id)?$|^pp[ _-]?rank$", re.IGNORECASE)
_REPLICA = re.compile(r"^(?:dp|data[ _-]?parallel)[ _-]?(?:rank|group|id)$|^replica$", re.IGNORECASE)
_STEP = re.compile(r"^(?:step|iter|iteration|global[ _-]?step)s?$", re.IGNORECASE)
_INTEGER = re.compile(r"^\D{0,12}?(\d{1,7})$")

_Key = tuple[int | None, int | None, str | None, int | None, int | None]
"""Rank, GPU, host, stage and replica."""


@dataclass(frozen=True, slots=True)
class _Layout:
    columns: Mapping[str, int]
    """`rank`, `gpu`, `host`, `stage`, `replica` to where they stand."""
    times: Mapping[int, tuple[str, str, float]]
    """Column to name, role and unit in seconds."""
    step: int | None


@dataclass(slots=True)
class _Worker:
    line: Line
    seconds: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))


class RankTable(BlockCollector):
    """One fact for each worker and phase."""

    kind: ClassVar[str] = "rank-table"
    literals: ClassVar[tuple[bytes, ...]] = tuple(
        word + sign
        for word in (b"rank", b"Rank", b"worker", b"stage", b"gpu", b"GPU", b"node", b"host")
        for sign in (b",", b";", b"\t")
    )
    reopens = True

    @classmethod
    def opens(cls, text: str) -> bool:
        """A header whose columns are understood."""
        return len(text) < 2000 and _layout(cells(text)) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Medians and series of each worker in each phase."""
        layout = _layout(cells(block.lines[0].text))
        if layout is None:
            return Parsed()
        workers: dict[_Key, _Worker] = {}
        for line in block.lines[1:]:
            _row(layout, line, workers)
        facts = [fact for key, worker in workers.items() for fact in _facts(block, layout, key, worker)]
        return Parsed(facts)


def _layout(names: Sequence[str]) -> _Layout | None:
    if len(names) < 2 or any(_number(name) is not None for name in names):
        return None
    columns: dict[str, int] = {}
    times: dict[int, tuple[str, str, float]] = {}
    step = None
    patterns = (("rank", _RANK), ("gpu", _GPU), ("host", _HOST), ("stage", _STAGE), ("replica", _REPLICA))
    for at, name in enumerate(names):
        found = next((word for word, pattern in patterns if pattern.match(name)), None)
        if found is not None:
            columns.setdefault(found, at)
        elif _STEP.match(name):
            step = at
        elif (match := _TIME.match(name)) and (role := _role(match.group(1))):
            times[at] = (name, role, _UNITS[match.group(2).lower()])
    return _Layout(columns, times, step) if columns and times else None


def _role(name: str) -> str | None:
    lower = name.lower()
    return next((role for role, pattern in _ROLES if pattern.search(lower)), None)


def _row(layout: _Layout, line: Line, workers: dict[_Key, _Worker]) -> None:
    row = cells(line.text)
    if len(row) <= max([*layout.columns.values(), *layout.times]):
        return
    key = _key(layout, row)
    if key is None or (key not in workers and len(workers) >= _MOST_WORKERS):
        return
    for at, (_, _, unit) in layout.times.items():
        value = _number(row[at])
        if value is not None and value >= 0:
            workers.setdefault(key, _Worker(line)).seconds[at].append(value * unit)


def _key(layout: _Layout, row: Sequence[str]) -> _Key | None:
    numbers: dict[str, int | None] = {}
    for word in ("rank", "gpu", "stage", "replica"):
        at = layout.columns.get(word)
        match = _INTEGER.match(row[at]) if at is not None else None
        if at is not None and match is None:
            return None
        numbers[word] = int(match.group(1)) if match else None
    at = layout.columns.get("host")
    host = row[at] if at is not None else None
    if at is not None and not re.match(r"^[A-Za-z0-9][\w.-]{0,80}$", row[at]):
        return None
    return numbers["rank"], numbers["gpu"], host, numbers["stage"], numbers["replica"]


def _facts(block: Block, layout: _Layout, key: _Key, worker: _Worker) -> list[Fact]:
    rank, gpu, host, stage, replica = key
    # A node that is only numbered has no name that other inputs could share.
    name = host if host and not host.isdecimal() else None
    subject = Subject(host=name or block.host, rank=rank, gpu_index=gpu)
    return [
        RankTimes(
            subject=subject,
            sources=(block.source(worker.line),),
            worker=_named(key),
            measure=layout.times[at][0],
            role=layout.times[at][1],
            median_seconds=median(seconds),
            steps=len(seconds),
            series=tuple(_evenly(seconds)),
            stage=stage,
            replica=replica,
        )
        for at, seconds in worker.seconds.items()
    ]


def _named(key: _Key) -> str:
    rank, gpu, host, stage, replica = key
    parts = [
        f"rank {rank}" if rank is not None else "",
        f"stage {stage}" if stage is not None else "",
        f"GPU {gpu}" if gpu is not None else "",
        f"node {host}" if host is not None else "",
    ]
    text = " of ".join(part for part in parts if part)
    return text + (f" of replica {replica}" if text and replica is not None else "") or f"replica {replica}"


def _evenly(values: Sequence[float]) -> list[float]:
    """At most so many values, the same places for workers with the same number of steps."""
    if len(values) <= _SERIES_LENGTH:
        return list(values)
    return [values[at * len(values) // _SERIES_LENGTH] for at in range(_SERIES_LENGTH)]


def _number(text: str) -> float | None:
    """A finite number; commas between groups of three digits are no decimal signs."""
    plain = text.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text) else text
    try:
        value = float(plain)
    except ValueError:
        return None
    return value if math.isfinite(value) and value < 1e12 else None
