"""Flight recorders of PyTorch's NCCL process groups: dumps in JSON, and a summary of calls as text.

JSON is what `torch._C._distributed_c10d._dump_nccl_trace_json()` and the debug server give, or a dump that was
converted; pickles are never loaded. The text lists each distinct call: its state and operation, then its stack.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from diagnose.facts import Fact, Subject
from diagnose.facts.hang import FlightRecorderRank, FlightRecorderSummary

_CALLS_KEPT = 256
_CALL = re.compile(r"^\s*(completed|started|scheduled) (nccl:\S+|\w+:\w+)\s*$")
_FRAME = re.compile(r"^\s+(\S+) (\S+?\.\w{1,4}:\d{1,7})\s*$")
_RANK_IN_NAME = re.compile(r"(?:rank|_dump_|trace)[_-]?(\d{1,6})(?!.*\d)", re.IGNORECASE)


class FlightRecorderJson(BlockCollector):
    """One rank for each file."""

    kind: ClassVar[str] = "flight-recorder"
    literals: ClassVar[tuple[bytes, ...]] = (b'"entries"', b'"collective_seq_id"')
    reopens = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The dump is one line as written."""
        return text.lstrip().startswith("{") and '"entries"' in text and ('"seq_id"' in text or '"pg_config"' in text)

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """The same laid out over many lines."""
        text = "\n".join(lines)
        return 0.9 if text.lstrip().startswith("{") and '"pg_config"' in text and '"version"' in text else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Where the rank stands in each process group."""
        try:
            content = json.loads("\n".join(block.texts()))
        except (ValueError, RecursionError):
            return Parsed(problems=[f"line {block.lines[0].number}: the JSON is damaged or incomplete"])
        if not isinstance(content, dict):
            return Parsed()
        groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for entry in _objects(content.get("entries")):
            if entry.get("is_p2p") is not True and _sequence(entry) is not None:
                groups[_group_name(entry)].append(entry)
        rank = _rank(content, block.path)
        sizes = _sizes(content.get("pg_config"))
        return Parsed([_standing(block, rank, name, sizes.get(name), found) for name, found in groups.items()])


def _standing(
    block: Block, rank: int | None, name: str, size: int | None, entries: Sequence[Mapping[str, Any]]
) -> Fact:
    ordered = sorted(entries, key=lambda entry: _sequence(entry) or 0)
    completed = [_sequence(entry) for entry in ordered if entry.get("state") == "completed"]
    pending = next((entry for entry in ordered if entry.get("state") != "completed"), None)
    return FlightRecorderRank(
        subject=Subject(host=block.host, rank=rank),
        sources=(block.source(),),
        process_group=name,
        group_size=size,
        last_completed_sequence=max((number for number in completed if number is not None), default=None),
        last_sequence=_sequence(ordered[-1]),
        pending_sequence=_sequence(pending) if pending else None,
        pending_operation=_operation(pending) if pending else None,
        pending_state=_text(pending.get("state")) if pending else None,
        pending_at=_called_at(pending) if pending else None,
        calls=tuple(_call(entry) for entry in ordered[-_CALLS_KEPT:]),
    )


def _call(entry: Mapping[str, Any]) -> str:
    sizes = json.dumps(entry.get("input_sizes"), separators=(",", ":"))
    types = ",".join(map(str, kinds)) if isinstance(kinds := entry.get("input_dtypes"), list) else "?"
    return f"{_sequence(entry)} {_operation(entry)} {sizes} {types}"


def _sequence(entry: Mapping[str, Any]) -> int | None:
    number = entry.get("collective_seq_id", entry.get("seq_id"))
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 1 << 53 else None


def _operation(entry: Mapping[str, Any]) -> str:
    return _text(entry.get("profiling_name")).removeprefix("nccl:").replace(" ", "_") or "?"


def _group_name(entry: Mapping[str, Any]) -> str:
    """`process_group` is name and description; before version 2.2 there is only a number."""
    group = entry.get("process_group")
    if isinstance(group, list) and group:
        return _text(group[0])
    return _text(entry.get("pg_id", "0"))


def _called_at(entry: Mapping[str, Any]) -> str | None:
    """The innermost frame outside PyTorch."""
    frames = list(_objects(entry.get("frames")))
    own = [frame for frame in frames if "/torch/" not in _text(frame.get("filename"))] or frames
    if not own:
        return None
    name, file, line = (_text(own[0].get(key)) for key in ("name", "filename", "line"))
    return f"{name} {file.rsplit('/', 1)[-1]}:{line}"


def _rank(content: Mapping[str, Any], path: str) -> int | None:
    """The dump's own word for it, else the last number of the file's name, as the recorder writes it."""
    number = content.get("rank")
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 1 << 31:
        return number
    match = _RANK_IN_NAME.search(path.rsplit("/", 1)[-1])
    return int(match.group(1)) if match else None


def _sizes(config: object) -> dict[str, int]:
    """Ranks of each group; they stand as a list, or as text that looks like one."""
    sizes = {}
    for name, group in config.items() if isinstance(config, dict) else ():
        ranks = group.get("ranks") if isinstance(group, dict) else None
        if isinstance(ranks, str):
            sizes[str(name)] = len(re.findall(r"\d+", ranks))
        elif isinstance(ranks, list):
            sizes[str(name)] = len(ranks)
    return sizes


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


class FlightRecorderText(BlockCollector):
    """Calls by state and line of the program; ranks are not told apart."""

    kind: ClassVar[str] = "flight-recorder-summary"
    literals: ClassVar[tuple[bytes, ...]] = (b"completed nccl:", b"started nccl:", b"scheduled nccl:")
    reopens = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A line with state and operation alone."""
        return _CALL.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Counts by state, and what is pending where."""
        calls: list[tuple[str, str, str | None]] = []
        for line in block.lines:
            if call := _CALL.match(line.text):
                calls.append((call.group(1), call.group(2).partition(":")[2], None))
            elif calls and calls[-1][2] is None and (frame := _FRAME.match(line.text)):
                calls[-1] = (*calls[-1][:2], f"{frame.group(1)} {frame.group(2)}")
        if not calls:
            return Parsed()
        pending = [call for call in calls if call[0] != "completed"]
        detail = "; ".join(f"{operation} {state}" + (f" at {at}" if at else "") for state, operation, at in pending)
        fact = FlightRecorderSummary(
            subject=block.subject(),
            sources=(block.source(_first(block.lines, pending)),),
            completed=len(calls) - len(pending),
            pending=len(pending),
            pending_operations=len({operation for _, operation, _ in pending}),
            pending_detail=detail[:500] or None,
        )
        return Parsed([fact])


def _first(lines: Sequence[Line], pending: Sequence[object]) -> Line:
    """The first pending call, else the first line."""
    matches = ((line, _CALL.match(line.text)) for line in lines)
    return next((line for line, call in matches if call and call.group(1) != "completed" and pending), lines[0])
