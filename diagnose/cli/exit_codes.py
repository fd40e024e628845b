"""Exit codes, the same for every command that diagnoses."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

FAIL_ON = ("info", "warning", "critical", "never")
"""Severities from which on causes give 1, the mildest first."""


class ExitCode(IntEnum):
    """What the shell sees."""

    NOTHING_FOUND = 0
    CAUSES_FOUND = 1
    """At least one cause at or above `--fail-on`."""
    UNUSABLE = 2
    """Wrong usage, or no input that can be read at all."""
    INCOMPLETE = 3
    """An input was only partly read, and nothing at or above `--fail-on` was found in the rest."""
    INTERRUPTED = 130


def exit_code(severities: Sequence[str], fail_on: str, unusable: bool, incomplete: bool) -> ExitCode:
    """The code of a finished analysis; `severities` are those of the causes found."""
    failing = FAIL_ON[FAIL_ON.index(fail_on) : -1]
    if any(severity in failing for severity in severities):
        return ExitCode.CAUSES_FOUND
    if unusable:
        return ExitCode.UNUSABLE
    return ExitCode.INCOMPLETE if incomplete else ExitCode.NOTHING_FOUND
