"""Exit codes, the same for every command that diagnoses."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the shell sees."""

    NOTHING_FOUND = 0
    CAUSES_FOUND = 1
    """At least one cause at or above `--fail-on`."""
    UNUSABLE = 2
    """Wrong usage, or no input that can be read at all."""
    INCOMPLETE = 3
    """An input was only partly read, and nothing was found in the rest."""
    INTERRUPTED = 130
