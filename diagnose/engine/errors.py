"""What can go wrong in the engine, each with a sentence for the reader."""

from __future__ import annotations


class EngineError(Exception):
    """Rules or facts that the engine refuses; the message names them and says what to change."""


class EngineUnavailable(EngineError):  # noqa: N818 - reads as what it is
    """The rule library cannot be loaded; the message names the cure."""
