"""Gathers what is not read of an archive, so that thousands of entries make a few sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.archive_names import shown
from collectors.inputs import InputReport, Status

_NAMED = 3
"""Names that a sentence gives as examples."""
_PROBLEMS = 50
"""Members whose own problem is told one by one."""


@dataclass(slots=True)
class _Group:
    count: int = 0
    names: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        self.count += 1
        if len(self.names) < _NAMED:
            self.names.append(f"`{shown(name)}`")

    def listing(self) -> str:
        """The names, and that there are more."""
        return ", ".join(self.names) + (", ..." if self.count > len(self.names) else "")


class Refusals:
    """What was not read of one archive."""

    def __init__(self, archive: str) -> None:
        self._archive = shown(archive)
        self._refused: dict[str, _Group] = {}
        self._remarks: dict[str, _Group] = {}
        self._problems: list[InputReport] = []
        self._problem_count = 0

    def __bool__(self) -> bool:
        return bool(self._refused or self._remarks or self._problem_count)

    def add(self, reason: str, name: str) -> None:
        """A member that is refused; the reason is a sentence about members like it."""
        self._refused.setdefault(reason, _Group()).add(name)

    def remark(self, what: str, name: str) -> None:
        """A member that is read, and what is to be said about members like it."""
        self._remarks.setdefault(what, _Group()).add(name)

    def problem(self, name: str, sentence: str) -> None:
        """A member that should have been read and could not be."""
        self._problem_count += 1
        if len(self._problems) < _PROBLEMS:
            path = f"{self._archive}!{shown(name)}"
            self._problems.append(InputReport(path=path, kind="file", status=Status.UNREADABLE, detail=sentence))

    def reports(self) -> Iterator[InputReport]:
        """One report for each reason, and one for each member with a problem of its own."""
        yield from self._problems
        if self._problem_count > len(self._problems):
            hidden = self._problem_count - len(self._problems)
            yield self._report(Status.UNREADABLE, f"{hidden:,} more members could not be read")
        for reason, group in self._refused.items():
            members = "1 member was" if group.count == 1 else f"{group.count:,} members were"
            yield self._report(Status.SKIPPED, f"{reason}: {members} left out ({group.listing()})")
        for what, group in self._remarks.items():
            yield self._report(Status.SKIPPED, f"{what}: {group.count:,} of the members ({group.listing()})")

    def _report(self, status: Status, detail: str) -> InputReport:
        return InputReport(path=self._archive, kind="archive", status=status, detail=detail)
