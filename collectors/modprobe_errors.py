"""What modprobe, insmod and systemd print when the driver's module cannot be loaded."""

from __future__ import annotations

import re
from typing import ClassVar

from collectors.base import Line, LineCollector, Parsed
from diagnose.facts import Subject
from diagnose.facts.host import DriverFailure

_MODULE = r"'?(?P<module>nvidia[\w-]*|[\w/.-]*/nvidia[\w-]*\.ko)'?"
_MODPROBE = re.compile(
    rf"(?:^|\s)(?:modprobe|insmod): (?:ERROR|FATAL): (?:could not insert (?:module )?{_MODULE}: (?P<why>.+))"
)
_NOT_FOUND = re.compile(r"(?:^|\s)modprobe: (?:ERROR|FATAL): Module (?P<module>nvidia[\w-]*) not found")
_SYSTEMD = re.compile(rf"(?:^|\s)Failed to (?:insert|find) module {_MODULE}(?:: (?P<why>.+))?")

_CODES: tuple[tuple[str, str], ...] = (
    ("Key was rejected by service", "key-rejected"),
    ("Required key not available", "key-rejected"),
    ("No such device", "no-devices"),
    ("Operation not permitted", "no-permission"),
)
"""Reasons with a code of their own; all others leave the driver just not loaded."""


class ModprobeErrors(LineCollector):
    """One fact for each reason, from the first line that gives it."""

    kind: ClassVar[str] = "modprobe-errors"
    literals: ClassVar[tuple[bytes, ...]] = (
        b"modprobe: ",
        b"insmod: ",
        b"Failed to insert module",
        b"Failed to find module",
    )

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._first: dict[tuple[str | None, str], tuple[int, str]] = {}

    def feed(self, line: Line, host: str | None) -> bool:
        """Take a line about a module of the NVIDIA driver."""
        match = _MODPROBE.search(line.text) or _NOT_FOUND.search(line.text) or _SYSTEMD.search(line.text)
        if match is None:
            return False
        why = match.groupdict().get("why") or "not found"
        code = next((code for words, code in _CODES if words in why), "not-loaded")
        if len(self._first) < 1000:
            self._first.setdefault((host, code), (line.number, line.text[match.start() :].strip()))
        return True

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """The failures."""
        return Parsed(
            [
                DriverFailure(
                    subject=Subject(host=host), sources=(self.source(number),), code=code, message=message[:300]
                )
                for (host, code), (number, message) in self._first.items()
            ]
        )
