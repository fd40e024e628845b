"""`perfquery`, `perfquery -x` and `perfquery -E`: counters of a port, keys padded with dots.

    # Port extended counters: Lid 134 port 1 (CapMask: 0x5A00 CapMask2: 0x0000000)
    SymbolErrorCounter:..............0

The port is known by its address in the fabric (LID), not by a device of the host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from collectors.rdma_fields import PERFQUERY_FIELDS, WORD_BYTES, WORD_FIELDS
from diagnose.facts import Fact, Subject
from diagnose.facts.network import RdmaCounters

_HEADER = re.compile(
    r"^# (?:Port (?:extended )?counters|PortRcvErrorDetails counters): (?:Lid (\d+|0x[0-9a-f]+) )?port (\d{1,3})"
)
_PAIR = re.compile(r"^([A-Z][A-Za-z0-9]{2,40}):\.{2,}(-?\d{1,20}|0x[0-9a-fA-F]{1,16})\s*$")
_DETAILS = re.compile(
    r"^Port(?:LocalPhysicalErrors|MalformedPktErrors|BufferOverrunErrors|\w+MappingErrors|LoopingErrors):"
)
_COMMAND_DEVICE = re.compile(r"\s-C\s+([\w.-]{1,64})")


class Perfquery(BlockCollector):
    """Counters of one port or of several."""

    kind: ClassVar[str] = "perfquery"
    literals: ClassVar[tuple[bytes, ...]] = (b"ounters: Lid ", b"ounters: port ")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bperfquery\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The line above the counters of a port."""
        return _HEADER.match(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Keys padded with dots."""
        return share(lines, _PAIR)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for each port."""
        parsed = Parsed()
        for lid, port, lines in _ports(block.lines):
            parsed.facts += _counters(block, lid, port, lines)
        if not parsed.facts:
            parsed.problems.append(f"line {block.lines[0].number}: no counter of a port was found")
        return parsed


def _ports(lines: Sequence[Line]) -> Iterator[tuple[str | None, int | None, list[Line]]]:
    lid: str | None = None
    port: int | None = None
    found: list[Line] = []
    for line in lines:
        if (header := _HEADER.match(line.text)) is not None:
            if found:
                yield lid, port, found
            lid, port, found = header[1], int(header[2]), []
        elif _PAIR.match(line.text):
            found.append(line)
    if found:
        yield lid, port, found


def _counters(block: Block, lid: str | None, port: int | None, lines: list[Line]) -> Iterator[Fact]:
    values: dict[str, Any] = {}
    pairs = [(match[1].lower(), match[2]) for line in lines if (match := _PAIR.match(line.text)) is not None]
    for key, text in pairs:
        field = PERFQUERY_FIELDS.get(key)
        number = int(text, 0) if field is not None else 0
        if field is not None and number >= 0:
            values[field] = number * WORD_BYTES if field in WORD_FIELDS else number
    if any(_DETAILS.match(line.text) for line in lines):
        # What the received errors were: their sum stands for the counter that this form does not print.
        values["receive_errors"] = sum(int(text, 0) for key, text in pairs if key.endswith("errors"))
    if not values:
        return
    device = _COMMAND_DEVICE.search(block.command or "")
    nic = device[1] if device else f"lid {lid}" if lid is not None else None
    yield RdmaCounters(
        subject=Subject(host=block.host, nic=nic, port=port),
        sources=(block.source(lines[0]),),
        **values,
    )
