"""What the collectors made of one file, gathered by format, and what went wrong on the way."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TypeVar

from collectors.base import Parsed
from collectors.inputs import InputReport, Status
from diagnose.facts import Fact
from diagnose.facts.series import Measurement

_PROBLEMS_SHOWN = 3


@dataclass(slots=True)
class Part:
    """All that one collector made of one file."""

    kind: str
    first_line: int
    facts: list[Fact] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0
    series: list[Measurement] = field(default_factory=list)

    def add_problem(self, sentence: str) -> None:
        """Note a problem; equal ones and those beyond the first few are only counted."""
        self.problem_count += 1
        if len(self.problems) < _PROBLEMS_SHOWN and sentence not in self.problems:
            self.problems.append(sentence)

    def add(self, parsed: Parsed, first_line: int) -> None:
        """Join what one more block of the kind gave."""
        self.facts.extend(parsed.facts)
        self.series.extend(parsed.series)
        self.first_line = min(self.first_line, first_line)
        for sentence in parsed.problems:
            self.add_problem(sentence)

    def report(self, path: str) -> InputReport:
        """The part as the reader sees it."""
        detail = None
        if self.problems:
            detail = "; ".join(self.problems)
            hidden = self.problem_count - len(self.problems)
            if hidden:
                detail += f" (and {hidden:,} more)"
        return InputReport(
            path=path,
            kind=self.kind,
            status=Status.PARTIAL if self.problems else Status.PARSED,
            facts=len(self.facts),
            measurements=sum(len(item) for item in self.series),
            detail=detail,
            first_line=self.first_line,
        )


Answer = TypeVar("Answer")


class Parts:
    """All formats found in one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._by_kind: dict[str, Part] = {}

    def part(self, kind: str, first_line: int) -> Part:
        """The part of a kind, new where there is none."""
        part = self._by_kind.get(kind)
        if part is None:
            part = self._by_kind[kind] = Part(kind, first_line)
        return part

    def add(self, kind: str, parsed: Parsed, first_line: int) -> None:
        """Join what a collector made of some lines."""
        self.part(kind, first_line).add(parsed, first_line)

    def failed(self, kind: str, error: Exception, line: int) -> None:
        """Note that a collector raised, which it must not: the reader learns what was not read, and where."""
        frames = traceback.extract_tb(error.__traceback__)
        where = f" in {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
        self.part(kind, line).add_problem(f"{type(error).__name__}: {error}{where}, reading {self.path}:{line}")

    def guard(self, kind: str, line: int, call: Callable[[], Answer], otherwise: Answer) -> Answer:
        """What a collector's function answers; `otherwise` where it raises."""
        try:
            return call()
        except Exception as error:
            self.failed(kind, error, line)
            return otherwise

    def in_order(self) -> list[Part]:
        """Parts by where they begin."""
        return sorted(self._by_kind.values(), key=lambda part: part.first_line)
