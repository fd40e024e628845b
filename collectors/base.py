"""What a collector is: it recognises one format by content and turns it into facts.

Three sorts exist. A *block* collector owns consecutive lines that begin with an opening line (`nvidia-smi -q`, a
topology matrix). A *line* collector picks single lines out of a stream that may be interleaved with anything (kernel
log, NCCL log). `collectors.scan` walks a file once, as bytes, and hands both their lines. A *file* collector owns a
whole file and reads its bytes itself: large tables, traces, binary formats.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, ClassVar, NamedTuple, Protocol

from diagnose.facts import Fact, Source, Subject
from diagnose.facts.series import Measurement


class Line(NamedTuple):
    """One line of text without its end, and its number in the file, counted from 1."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines of one format, cleaned of escape sequences and carriage returns.

    Lines that a line collector owns are left out, so numbers may have gaps.
    """

    path: str
    lines: Sequence[Line]
    command: str | None = None
    """The command line at the prompt above, where the file is a captured terminal."""
    host: str | None = None
    """The host, where a prompt or a section heading above names it."""
    truncated: bool = False
    """The block grew past the limit and its end was left out."""

    def texts(self) -> list[str]:
        """The lines without their numbers."""
        return [line.text for line in self.lines]

    def source(self, line: Line | int | None = None) -> Source:
        """Where a line stands; without one, where the block begins."""
        number = line.number if isinstance(line, Line) else line
        return Source(path=self.path, line=number or self.lines[0].number, command=self.command)

    def subject(self) -> Subject:
        """The host as subject, where a prompt or heading names it."""
        return Subject(host=self.host)


@dataclass(slots=True)
class Parsed:
    """What a collector made of its lines."""

    facts: list[Fact] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Sentences about what could not be read, each with the line; any of them makes the status `partial`."""
    series: list[Measurement] = field(default_factory=list)
    """Measurements over time and by request, for the analysis."""


class Collector(ABC):
    """Common to both sorts."""

    kind: ClassVar[str]
    """Name of the format in reports, e.g. `nvidia-smi-q`."""
    literals: ClassVar[tuple[bytes, ...]]
    """Cheap filter: only lines that contain one of these byte strings are looked at more closely."""

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """How likely lines that nothing opened are of this format, 0 to 1; asked for fragments without a header.

        Gets up to 400 lines without blank ones. From 0.5 on the lines are handed over.
        """
        return 0.0


class BlockCollector(Collector):
    """Owns consecutive lines. Stateless: one call of `parse` for each block."""

    command: ClassVar[re.Pattern[str] | None] = None
    """Matches the command line that prints this format; text under such a prompt needs no opening line."""
    reopens: ClassVar[bool] = True
    """Whether an opening line within a block of this kind begins a new block."""
    interleaved: ClassVar[bool] = False
    """Whether log lines in between belong to others and do not end the block."""

    @classmethod
    @abstractmethod
    def opens(cls, text: str) -> bool:
        """Whether this line (it contains one of the literals) begins a block."""

    @classmethod
    def closes(cls, text: str) -> bool:
        """Whether this line is the last one of the block."""
        return False

    @classmethod
    @abstractmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of a block. Must not raise on any text: what cannot be read becomes a problem."""


class LineCollector(Collector):
    """Picks lines out of a stream. One instance for each file."""

    def __init__(self, path: str) -> None:
        self.path = path

    @abstractmethod
    def feed(self, line: Line, host: str | None) -> bool:
        """Take a line that contains one of the literals; false where it is none of this collector's.

        `host` is the one that a prompt or heading above names; what the line itself says comes first.
        """

    @abstractmethod
    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """Facts of the whole file. `claimed` tells that `resembles` took the file although no line was fed."""

    def source(self, number: int) -> Source:
        """Where a line stands."""
        return Source(path=self.path, line=number)


class OpenFile(Protocol):
    """A file in the hands of a file collector. It can be read once, forwards."""

    @property
    def name(self) -> str:
        """What reports and sources call it."""

    @property
    def path(self) -> Path | None:
        """Where it lies, for what maps it into memory; None where its bytes are not its own: compressed, in archives,
        standard input.
        """

    def binary(self) -> BinaryIO:
        """All expanded bytes, as they are. Reading may raise ReadError where the input ends early."""

    def chunks(self) -> Iterator[bytes]:
        """Clean text in pieces of a few MB that end at line ends."""


class FileCollector(Collector):
    """Owns a whole file and reads it itself, in memory that does not grow with it."""

    literals: ClassVar[tuple[bytes, ...]] = ()

    @classmethod
    @abstractmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Whether the file is of this format, told by its first expanded bytes (8 KB where there are as many).

        `name` may only break a tie that the content leaves. Must be quick: every file is shown to every collector.
        """

    @classmethod
    @abstractmethod
    def parse(cls, file: OpenFile) -> Parsed:
        """Facts of the file. Must not raise on any content: what cannot be read becomes a problem."""


def share(lines: Iterable[str], pattern: re.Pattern[str]) -> float:
    """Share of lines that match: the usual body of `resembles`."""
    rows = list(lines)
    return sum(pattern.search(row) is not None for row in rows) / len(rows) if rows else 0.0
