"""The line collectors of one file: made when first needed, fed, and asked for their facts at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from collectors.base import Line, LineCollector, Parsed
from collectors.parts import Parts

_FAILURES_LIMIT = 100
"""A collector that raises so often on one file is not asked again."""


def _refuse(*_: object) -> bool:
    return False


@dataclass(slots=True)
class _Feeder:
    instance: LineCollector | None
    """None where it could not even be made."""
    take: Callable[[Line, str | None], bool]
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
        feeder = self._feeders[at] or self._added(at, line.number)
        try:
            if not feeder.take(line, host):
                return False
        except Exception as error:
            feeder.failures += 1
            if feeder.failures == _FAILURES_LIMIT:
                feeder.take = _refuse
            self._parts.failed(self._collectors[at].kind, error, line.number)
            return False
        if not feeder.first_line:
            feeder.first_line = line.number
        return True

    def _added(self, at: int, number: int) -> _Feeder:
        collector = self._collectors[at]
        instance = self._parts.guard(collector.kind, number, partial(collector, self._parts.path), None)
        feeder = self._feeders[at] = _Feeder(instance, instance.feed if instance else _refuse)
        return feeder

    def claim(self, at: int, lines: Iterable[Line], first_line: int, host: str | None) -> None:
        """Give a collector lines that resemble its format. One that took lines of its own already knows the file."""
        feeder = self._feeders[at]
        if feeder is not None and feeder.first_line and not feeder.claimed:
            return
        if feeder is None or not feeder.claimed:
            # A fresh one: lines that were refused before must not count twice.
            feeder = self._added(at, first_line)
            feeder.claimed = True
            feeder.first_line = first_line
        for line in lines:
            self.feed(at, line, host)

    def finish(self, total_lines: int) -> None:
        """Hand the facts of all collectors that took something to the parts."""
        for collector, feeder in zip(self._collectors, self._feeders, strict=True):
            if feeder is None or feeder.instance is None or not feeder.first_line:
                continue
            finish = partial(feeder.instance.finish, total_lines, feeder.claimed)
            parsed = self._parts.guard(collector.kind, feeder.first_line, finish, Parsed())
            self._parts.add(collector.kind, parsed, feeder.first_line)
