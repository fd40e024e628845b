"""The format of a recorded tree: many small files of /proc and /sys in one text file.

The first line is `=== recorded tree 1: SUBJECT`. Each file is a line `@ PATH` without the leading slash, and below it
the content, each line behind a `|`: neither is ever taken for a prompt, a heading or another format.

    === recorded tree 1: host
    @ proc/sys/kernel/numa_balancing
    |1
    @ proc/stat at 1764500000.250        read at this Unix time; counters occur several times
    |cpu  10 0 5 100 0 0 0 0 0 0
    @ sys/class/net/eth0/device/driver -> ../../../bus/pci/drivers/mlx5_core
    @ sys/class/net/eth1/speed !EINVAL   could not be read, with the system's name of the error
    @ dev/shm (space)                    not the content but what the word says: lines `size_bytes N` and so on
    |size_bytes 67108864

`collectors.live.tree` writes it.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar, NamedTuple

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.live.tree import CONTENT, TITLE
from diagnose.facts import Fact, Source, Subject

_ENTRY = re.compile(
    r"^@ (?P<path>[^\s!]\S*)(?: \((?P<what>\w+)\))?(?: at (?P<time>\d{1,12}(?:\.\d{1,6})?))?"
    r"(?: -> (?P<target>.*)| !(?P<error>\w+))?$"
)
_WHOLE = re.compile(r"^\s*(-?\d{1,19})\s*$")


@dataclass(slots=True)
class Entry:
    """One reading of one file."""

    line: Line
    seconds: float | None = None
    target: str | None = None
    error: str | None = None
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The content."""
        return "\n".join(self.lines)


class Span(NamedTuple):
    """First and last reading of a counter file, and the time between them."""

    first: Entry
    last: Entry
    seconds: float


class RecordedTree:
    """Readings by path. A path with a word in brackets is `PATH (word)`."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._entries: dict[str, list[Entry]] = defaultdict(list)
        self._children: dict[str, dict[str, None]] = defaultdict(dict)
        entry: Entry | None = None
        for line in block.lines:
            if line.text.startswith(CONTENT):
                if entry is not None:
                    entry.lines.append(line.text[1:])
            elif match := _ENTRY.match(line.text):
                seconds = float(match["time"]) if match["time"] else None
                entry = Entry(line, seconds, match["target"], match["error"])
                self._add(match["path"] + (f" ({match['what']})" if match["what"] else ""), entry)

    def _add(self, path: str, entry: Entry) -> None:
        self._entries[path].append(entry)
        below = path
        while "/" in below and len(path) < 1000:
            below, _, name = below.rpartition("/")
            self._children[below][name] = None

    def readings(self, path: str) -> list[Entry]:
        """Every reading that has content or a target."""
        return [entry for entry in self._entries.get(path, ()) if entry.error is None]

    def last(self, path: str) -> Entry | None:
        """The latest reading, None where there is none."""
        readings = self.readings(path)
        return readings[-1] if readings else None

    def text(self, path: str) -> str | None:
        """Content of the latest reading without blanks around it; None where it is absent or empty."""
        entry = self.last(path)
        return (entry.text.strip() or None) if entry is not None else None

    def number(self, path: str) -> int | None:
        """The content as a whole number."""
        return whole(self.text(path))

    def target(self, path: str) -> str | None:
        """Last part of where a link leads."""
        entry = self.last(path)
        return entry.target.rsplit("/", 1)[-1] if entry is not None and entry.target else None

    def span(self, path: str) -> Span | None:
        """First and last reading where time passed between them."""
        timed = [entry for entry in self.readings(path) if entry.seconds is not None]
        if len(timed) < 2:
            return None
        seconds = (timed[-1].seconds or 0.0) - (timed[0].seconds or 0.0)
        return Span(timed[0], timed[-1], seconds) if seconds > 0 else None

    def names(self, path: str) -> list[str]:
        """Names recorded below a folder, in the order of the file."""
        return [name for name in self._children.get(path, ()) if " (" not in name]

    def source(self, *paths: str) -> tuple[Source, ...]:
        """Where the latest readings of these paths stand; the first line of the tree where there are none."""
        entries = [entry for path in paths if (entry := self.last(path)) is not None]
        return tuple(self.source_of(entry) for entry in entries) or (self._block.source(),)

    def source_of(self, entry: Entry) -> Source:
        """Where one reading stands, and when it was made."""
        source = self._block.source(entry.line)
        if entry.seconds is None:
            return source
        return source.model_copy(update={"time": datetime.fromtimestamp(entry.seconds, UTC)})


class RecordedTreeCollector(BlockCollector):
    """What the collectors of recorded trees have in common; each reads the trees of one subject."""

    literals: ClassVar[tuple[bytes, ...]] = (TITLE.encode(),)
    reopens: ClassVar[bool] = False
    interleaved: ClassVar[bool] = True
    about: ClassVar[str]
    """The tree's subject."""

    @classmethod
    def opens(cls, text: str) -> bool:
        """The first line."""
        return text == TITLE + cls.about

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of a tree, and what it says over time."""
        # What reads series of trees reads trees, and so needs this module.
        from collectors.recorded_series import tree_series

        problems = ["The recording is cut off"] if block.truncated else []
        tree = RecordedTree(block)
        series = tree_series(tree, block.subject())
        return Parsed(list(cls.facts(tree, block.subject())), problems, [*series])

    @classmethod
    @abstractmethod
    def facts(cls, tree: RecordedTree, host: Subject) -> Iterator[Fact]:
        """Facts of the tree; `host` is the subject of those about the host."""


def whole(text: str | None) -> int | None:
    """A whole number of at most 19 digits, as the kernel writes it; None for anything else."""
    match = _WHOLE.match(text) if text is not None else None
    return int(match[1]) if match else None


def pairs(lines: Iterable[str], separator: str | None = None) -> dict[str, int]:
    """Lines `name number ...` as a mapping; lines of another form are left out."""
    found = {}
    for line in lines:
        words = line.split(separator, 1) if separator else line.split()
        if len(words) < 2:
            continue
        number = whole(words[1].split()[0] if words[1].split() else None)
        if number is not None:
            found[words[0].strip()] = number
    return found


def rise(first: dict[str, int], last: dict[str, int], name: str) -> int | None:
    """How much a counter rose; None where it is absent or fell because it was cleared."""
    if name not in first or name not in last or last[name] < first[name]:
        return None
    return last[name] - first[name]


def per_second(first: dict[str, int], last: dict[str, int], name: str, seconds: float) -> float | None:
    """Rate of a counter."""
    risen = rise(first, last, name)
    return None if risen is None else risen / seconds


def most_common(values: Sequence[str]) -> str | None:
    """The value that occurs most often, the first of several."""
    return max(dict.fromkeys(values), key=values.count, default=None)


def ratio(part: float | None, total: float | None) -> float | None:
    """A share between 0 and 1; None where either is absent or the whole is nothing."""
    return None if part is None or not total else max(0.0, min(1.0, part / total))
