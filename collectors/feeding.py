"""The line collectors of one file: made when first needed, fed, and asked for their facts at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from collectors.base import Line, LineCollector, Parsed
from collectors.parts import Parts

_FAILURES_LIMIT = 100
"""A collector that raises so often on one file is not asked again."""


@dataclass(slots=True)
class _Feeder:
    instance: LineCollector
    first_line: int = 0
    """First line taken; 0 while there is none."""
    claimed: bool = False
    failures: int = 0


class Feeders:
    """Line collectors by their place in the registry."""

    def __init__(self, collectors: Sequence[type[LineCollector]], parts: Parts) -> None:
        self._collectors = collectors
        self._parts = parts
        self._feeders: list[_Feeder | None] = [None] * len(collectors)

    def feed(self, at: int, line: Line, host: str | None) -> bool:
        """Whether the collector takes the line as its own."""
        feeder = self._feeders[at]
        if feeder is None:
            made = self._made(at, line.number)
            if made is None:
                return False
            feeder = self._feeders[at] = made
        if feeder.failures >= _FAILURES_LIMIT:
            return False
        try:
            if not feeder.instance.feed(line, host):
                return False
        except Exception as error:
            feeder.failures += 1
            self._parts.failed(self._collectors[at].kind, error, line.number)
            return False
        if not feeder.first_line:
            feeder.first_line = line.number
        return True

    def _made(self, at: int, number: int) -> _Feeder | None:
        collector = self._collectors[at]
        return self._parts.guard(collector.kind, number, lambda: _Feeder(collector(self._parts.path)), None)

    def claim(self, at: int, lines: Iterable[Line], first_line: int, host: str | None) -> None:
        """Give a collector lines that resemble its format. One that took lines of its own already knows the file."""
        feeder = self._feeders[at]
        if feeder is not None and feeder.first_line and not feeder.claimed:
            return
        if feeder is None or not feeder.claimed:
            # A fresh one: lines that were refused before must not count twice.
            feeder = self._feeders[at] = self._made(at, first_line)
            if feeder is None:
                return
            feeder.claimed = True
            feeder.first_line = first_line
        for line in lines:
            self.feed(at, line, host)

    def finish(self, total_lines: int) -> None:
        """Hand the facts of all collectors that took something to the parts."""
        for collector, feeder in zip(self._collectors, self._feeders, strict=True):
            if feeder is None or not feeder.first_line:
                continue
            parsed = self._parts.guard(
                collector.kind,
                feeder.first_line,
                partial(feeder.instance.finish, total_lines, feeder.claimed),
                Parsed(),
            )
            self._parts.add(collector.kind, parsed, feeder.first_line)
