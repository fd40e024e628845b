"""Tables of nccl-tests (`all_reduce_perf` and its kin), with and without header, under any launcher's prefixes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from collectors.nccl_test_run import GIGA, Run, number, operation_named, version_of_code

_PREFIX = re.compile(r"^\s*(?:\[\d+,\d+\]<\w+>:|\[?[A-Za-z0-9][\w.-]*\]?:)(?=\s*(?:#|\d+\s))")
_OPENING = re.compile(
    r"^\s*#\s*(?:nccl-tests version|Collective test starting|nThread \d|Using devices|"
    r"(?:out-of-place\b)|(?:size|bytes)\s+(?:count|N)\s)"
)
_COLUMNS = re.compile(r"^\s*#\s*(?:size|bytes)\s+(?:count|N)\s")
_CLOSING = re.compile(r"#\s*Collective test concluded")
_STARTING = re.compile(r"#\s*Collective test (?:starting|concluded): (\S+)")
_LIBRARY = re.compile(r"nccl-library=(\d{4,6})\b")
_VERSION = re.compile(r"\bNCCL version (\d+(?:\.\d+)+)")
_DEVICE = re.compile(
    r"#\s+Rank\s+(\d{1,7})\s+(?:Group\s+\d+\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s+(\S.*?)\s*$"
)
_AVERAGE = re.compile(r"#\s*Avg bus bandwidth\s*:\s*(\S+)")
_OUT_OF_BOUNDS = re.compile(r"#\s*Out of bounds values\s*:\s*(\d{1,18})\s")
_ROW = re.compile(r"^\s*\d+\s+\d+\s+(?:float|half|double|u?int|bfloat|fp8|f8|e[45]m|char)\w*\s.*\d")
_PROGRAM = re.compile(r"\b([a-z_]+)_perf(?:_mpi)?\b")
_TIMES = ("time", "cputime")
_GROUP_NAMES = ("time", "algbw", "busbw", "#wrong")


class NcclTests(BlockCollector):
    """One fact for each run of a file."""

    kind = "nccl-tests"
    literals = (
        *(b"# nccl-tests version", b"Collective test starting", b"# nThread", b"# Using devices"),
        *(b"out-of-place", b"algbw"),
    )
    command: ClassVar[re.Pattern[str] | None] = re.compile(
        r"\b(?:all_?reduce|all_?gather|reduce_scatter|alltoallv?|broadcast|reduce|sendrecv|gather|scatter|hypercube)"
        r"_perf(?:_mpi)?\b"
    )
    reopens = False
    interleaved = True

    @classmethod
    def opens(cls, text: str) -> bool:
        """Any line of the header, since the first ones may be cut off."""
        return _OPENING.match(_PREFIX.sub("", text, count=1)) is not None

    @classmethod
    def closes(cls, text: str) -> bool:
        """The last line that newer versions print."""
        return _CLOSING.search(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Rows alone."""
        return share([_PREFIX.sub("", line, count=1) for line in lines], _ROW)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Runs in the order in which they begin."""
        reader = _Reader(block)
        for line in block.lines:
            reader.feed(line)
        parsed = Parsed(problems=reader.problems)
        for run in reader.runs:
            if fact := run.fact(block.path, block.host):
                parsed.facts.append(fact)
        return parsed


class _Reader:
    """Follows the runs of a block; lines of different ranks are kept apart by their prefix."""

    def __init__(self, block: Block) -> None:
        self.runs: list[Run] = []
        self.problems: list[str] = []
        self._block = block
        self._current: dict[str, Run] = {}
        self._columns: dict[str, list[str]] = {}

    def feed(self, line: Line) -> None:
        prefix = _PREFIX.match(line.text)
        key = prefix.group().strip() if prefix else ""
        text = line.text[prefix.end() :] if prefix else line.text
        if text.lstrip().startswith("#"):
            self._header(key, text, line)
        elif version := _VERSION.search(text):
            self._run(key, line).nccl_version = version.group(1)
        elif re.match(r"\s*\d+\s+\d+\s+[a-z]", text):
            self._row(key, text.split(), line)

    def _run(self, key: str, line: Line) -> Run:
        run = self._current.get(key)
        if run is None:
            program = _PROGRAM.search(self._block.command or "")
            operation = operation_named(program.group(1)) if program else None
            run = self._current[key] = Run(self._block.source(line), operation)
            self.runs.append(run)
        return run

    def _header(self, key: str, text: str, line: Line) -> None:
        known = self._current.get(key)
        if known is not None and known.measurements and _OPENING.match(text):
            del self._current[key]
        run = self._run(key, line)
        if starting := _STARTING.search(text):
            run.operation = operation_named(starting.group(1)) or run.operation
        elif library := _LIBRARY.search(text):
            run.nccl_version = version_of_code(int(library.group(1)))
        elif device := _DEVICE.search(text):
            rank, host, gpu = device.groups()
            run.ranks = max(run.ranks or 0, int(rank) + 1)
            run.gpu_name = run.gpu_name or gpu
            if host not in run.hosts:
                run.hosts.append(host)
        elif _COLUMNS.match(text):
            self._columns[key] = text.replace("# ", " ", 1).split()
        elif average := _AVERAGE.search(text):
            value = number(average.group(1))
            run.average_bytes_per_second = value * GIGA if value is not None else None
        elif (outside := _OUT_OF_BOUNDS.search(text)) and run.wrong is None and not run.unchecked:
            # The old layout prints the largest error in place of the number of wrong elements.
            run.wrong = int(outside.group(1))

    def _row(self, key: str, cells: list[str], line: Line) -> None:
        names = _value_columns(self._columns.get(key, []), len(cells))
        run = self._run(key, line)
        if names is None or len(cells) < 3 + len(names) or len(cells[0]) > 18:
            self._incomplete(line)
            return
        described, values = cells[3 : len(cells) - len(names)], cells[len(cells) - len(names) :]
        run.reduces = any(cell.isalpha() and cell != "none" for cell in described)
        run.rooted = any(cell.isdigit() for cell in described)
        for group in _groups(names, values):
            measured = run.add(int(cells[0]), group["time"], group.get("algbw", ""), group.get("busbw", ""))
            if "#wrong" in group and measured:
                run.count_wrong(group["#wrong"])
            elif group.get("error") == "N/A":
                run.unchecked = True

    def _incomplete(self, line: Line) -> None:
        if line is not self._block.lines[-1] and len(self.problems) < 5:
            self.problems.append(f"line {line.number}: the row has not as many columns as the table")


def _value_columns(header: list[str], cells: int) -> list[str] | None:
    """Names of the columns from the first time on; guessed from the width where the header is missing."""
    names = [name.lower() for name in header]
    start = next((at for at, name in enumerate(names) if name in _TIMES), None)
    if start is not None:
        # A time stamp fills two cells.
        return [part for name in names[start:] for part in ([name] if name != "timestamp" else ["date", "clock"])]
    if cells >= 11:
        return [*_GROUP_NAMES, *_GROUP_NAMES]
    return list(_GROUP_NAMES) if 7 <= cells <= 9 else None


def _groups(names: list[str], values: list[str]) -> list[dict[str, str]]:
    groups: list[dict[str, str]] = []
    for name, value in zip(names, values, strict=True):
        if name in _TIMES:
            groups.append({"time": value})
        elif groups:
            groups[-1].setdefault("error" if name == "res" else name, value)
    return groups
