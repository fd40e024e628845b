"""Blocks and lines as the scanner would hand them to collectors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.base import Block, BlockCollector, Line, LineCollector, Parsed

_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def lines(text: str) -> list[Line]:
    """Numbered lines without escape sequences."""
    return [Line(number, line) for number, line in enumerate(_ESCAPE.sub("", text).splitlines(), start=1)]


def block(text: str, path: str = "x.txt", command: str | None = None, host: str | None = None) -> Block:
    """All lines as one block; a command line at a `$` prompt on top becomes the block's command."""
    rows = lines(text) or [Line(1, "")]
    prompt = re.match(r"^\s*[$>]\s+(\S.*)$", rows[0].text)
    if prompt and command is None and len(rows) > 1:
        command, rows = prompt.group(1), rows[1:]
    return Block(path=path, lines=rows, command=command, host=host)


def opened(collector: type[BlockCollector], text: str) -> list[str]:
    """Lines that the scanner would begin a block at."""
    return [
        line.text
        for line in lines(text)
        if any(literal in line.text.encode() for literal in collector.literals) and collector.opens(line.text)
    ]


def feed(collector_class: type[LineCollector], text: str, path: str = "x.log", host: str | None = None) -> Parsed:
    """What a line collector makes of a whole file."""
    collector = collector_class(path)
    rows = lines(text)
    for line in rows:
        data = line.text.encode()
        if any(literal in data for literal in collector.literals):
            collector.feed(line, host)
    return collector.finish(len(rows), claimed=False)


def damaged(text: str) -> Iterator[str]:
    """The text cut at many places, and with bytes changed: what a parser must survive."""
    data = text.encode()
    step = max(1, len(data) // 120)
    for position in range(0, len(data), step):
        yield data[:position].decode(errors="replace")
        yield data[position:].decode(errors="replace")
        for bit in (0x01, 0x10, 0x40):
            changed = bytearray(data)
            changed[position] ^= bit
            yield changed.decode(errors="replace")
