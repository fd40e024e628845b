"""Walks the lines of one file and hands them to the collectors, as `collectors.base` describes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.commands import Command
from collectors.dispatch import Dispatch, Wanted
from collectors.feeding import Feeders
from collectors.parts import Parts
from collectors.regions import Leftovers
from collectors.terminal import Terminal

BLOCK_LINES = 200_000
BLOCK_BYTES = 64 << 20
"""A block is cut off at either of the two."""

LOG_SHAPED = re.compile(
    r"(?:<\d+>)?(?:"
    r"\[ *\d+\.\d{3,9}\]"
    r"|\[\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\]"
    r"|\w{3,5}\.? +\d{1,2} \d\d:\d\d:\d\d[ .]"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\s+\S"
    r"|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ "
    r"|\S+:\d+:\d+ \[\d+\] NCCL "
    r")"
)
"""Lines of system logs and of NCCL. A table whose first column is a time goes on with a comma and is not meant."""

_CONTENT = re.compile(r"\w")


@dataclass(slots=True)
class _OpenBlock:
    """A block that is being read."""

    collector: type[BlockCollector]
    host: str | None
    command: str | None
    opened: bool
    """False while only the command above, not an opening line, says what it is."""
    lines: list[Line] = field(default_factory=list)
    size: int = 0
    ended_lines: int = 0
    truncated: bool = False

    def add(self, line: Line, ended: int) -> None:
        """Take a line, or only count it where the block is full."""
        self.size += len(line.text)
        self.ended_lines += ended
        if len(self.lines) >= BLOCK_LINES or self.size > BLOCK_BYTES:
            self.truncated = True
        else:
            self.lines.append(line)


class Scanner:
    """One file's walk: give it all pieces in order with `read`, then call `close`."""

    def __init__(self, dispatch: Dispatch, parts: Parts, host: str | None = None) -> None:
        """`host` is whose text it is, where that is known beforehand."""
        self._dispatch = dispatch
        self._parts = parts
        self.feeders = Feeders(dispatch.line_collectors, parts)
        self.leftovers = Leftovers()
        self.claimed_lines = 0
        self._terminal = Terminal(host)
        self._block: _OpenBlock | None = None
        self._number = 1
        self._middle_of_line = False
        self._held: tuple[Line, Wanted] | None = None
        """A line below a ruler that names a host if another ruler follows."""

    @property
    def total_lines(self) -> int:
        """Lines read so far."""
        return self._number - 1

    def read(self, chunk: bytes) -> None:
        """Take the next piece: whole lines, but for parts of a very long one."""
        # The byte in front lets literals that begin with a line end match the first line.
        if self._number == 1 and not self._middle_of_line:
            self._dispatch.search.tune(chunk)
        data = (b" " if self._middle_of_line else b"\n") + chunk
        size, start = len(data), 1
        places = iter([*self._dispatch.search.find(data), (size, 0)])
        place, bits = next(places)
        wanted_by, terminal = self._dispatch.wanted, self._terminal
        while start < size:
            if self._block is None and not terminal.looking:
                wanted_start = data.rfind(b"\n", start, place) + 1 if place < size else size
                if wanted_start > start:
                    self._skip(data, start, wanted_start)
                    start = wanted_start
                    continue
            end = data.find(b"\n", start)
            ended = 1
            if end < 0:
                end, ended = size, 0
            mask = 0
            while place < end:
                mask |= bits
                place, bits = next(places)
            line = Line(self._number, data[start:end].decode("utf-8", "replace"))
            wanted = wanted_by(mask)
            if not (wanted.mark or terminal.looking) or not self._mark(line, wanted, ended):
                self._output(line, wanted, ended)
            self._number += ended
            start = end + 1
        self._middle_of_line = not data.endswith(b"\n")

    def close(self) -> None:
        """No more lines: read what is still open."""
        self._release()
        self._end_block()

    def _skip(self, data: bytes, start: int, end: int) -> None:
        """Lines that nobody asks for."""
        lines = data.count(b"\n", start, end)
        self.leftovers.add(self._number, data, start, end, lines, self._terminal.heading)
        self._number += lines

    def _mark(self, line: Line, wanted: Wanted, ended: int) -> bool:
        """Whether the line is a prompt or heading, or waits for the next line to tell."""
        seen = self._terminal.look(line.text)
        if seen.confirms and self._held is not None:
            self._held = None
            self.claimed_lines += 1
        self._release()
        if seen.waits:
            self._held = (line, wanted)
            return True
        if not seen.taken:
            return False
        self.claimed_lines += ended
        if not (seen.soft and self._block is not None and not self._block.lines):
            self._end_block()
            self.leftovers.cut()
        if seen.command is not None:
            self._open_by(seen.command)
        return True

    def _release(self) -> None:
        """The line that was held back was output after all."""
        if self._held is not None:
            (line, wanted), self._held = self._held, None
            self._output(line, wanted, 1)

    def _open_by(self, command: Command) -> None:
        """The command tells which collector the lines below belong to."""
        for collector in self._dispatch.block_collectors:
            pattern = collector.command
            if pattern is not None and (pattern.search(command.text) or pattern.search(command.core)):
                self._block = _OpenBlock(collector, *self._terminal.heading, opened=False)
                return

    def _output(self, line: Line, wanted: Wanted, ended: int) -> None:
        block = self._block
        for at in wanted.line_collectors:
            if self.feeders.feed(at, line, self._terminal.heading.host):
                self.claimed_lines += ended
                if block is not None and not block.collector.interleaved and LOG_SHAPED.match(line.text):
                    self._end_block()
                return
        if wanted.block_collectors and self._opening(line, wanted.block_collectors):
            block = self._block
        elif block is not None and not block.collector.interleaved and LOG_SHAPED.match(line.text):
            self._end_block()
            block = None
        if block is None:
            self._leave(line, ended)
            return
        block.add(line, ended)
        if self._asked(block.collector, line, block.collector.closes):
            self._end_block()

    def _opening(self, line: Line, collectors: tuple[type[BlockCollector], ...]) -> bool:
        """Whether the line begins a block, or goes on with the one that its collector has open."""
        block = self._block
        if block is not None and block.collector in collectors:
            current = block.collector
            if self._asked(current, line, current.opens):
                if block.opened and current.reopens:
                    self._begin(current)
                block.opened = True
                return True
        for collector in collectors:
            if (block is None or collector is not block.collector) and self._asked(collector, line, collector.opens):
                self._begin(collector)
                return True
        return False

    def _asked(self, collector: type[BlockCollector], line: Line, question: Callable[[str], bool]) -> bool:
        try:
            return question(line.text)
        except Exception as error:
            self._parts.failed(collector.kind, error, line.number)
            return False

    def _begin(self, collector: type[BlockCollector]) -> None:
        self._end_block()
        self.leftovers.cut()
        self._block = _OpenBlock(collector, *self._terminal.heading, opened=True)

    def _leave(self, line: Line, ended: int) -> None:
        data = line.text.encode("utf-8", "replace") + b"\n" * ended
        self.leftovers.add(line.number, data, 0, len(data), ended, self._terminal.heading)

    def _end_block(self) -> None:
        block, self._block = self._block, None
        if block is None or not block.lines:
            return
        self.leftovers.cut()
        if not block.opened and not any(_CONTENT.search(line.text) for line in block.lines):
            self._give_back(block)
            return
        kind, first = block.collector.kind, block.lines[0].number
        parsed = self._parts.guard(kind, first, partial(block.collector.parse, self._finished(block)), None)
        if not block.opened and (parsed is None or not (parsed.facts or parsed.problems)):
            self._give_back(block)
            return
        self.claimed_lines += block.ended_lines
        parsed = parsed or Parsed()
        if block.truncated:
            parsed.problems.append(f"The part that begins in line {first} is too long; its end was not read")
        self._parts.add(kind, parsed, first)

    def _finished(self, block: _OpenBlock) -> Block:
        return Block(self._parts.path, block.lines, block.command, block.host, block.truncated)

    def _give_back(self, block: _OpenBlock) -> None:
        """The command promised a format that its output did not have."""
        for line, following in zip(block.lines, [*block.lines[1:], None], strict=True):
            self._leave(line, 0 if following is not None and following.number == line.number else 1)
        self.leftovers.cut()
