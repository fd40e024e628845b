"""A session's file: one JSON object a line, the first of which names the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, TypeAlias

from diagnose.sessions.errors import SessionError

SCHEMA = "diagnose.session/1"
LINE_LIMIT_BYTES = 256 << 20
"""A line holds the facts of one collection; a longer one is no session of ours."""

Event: TypeAlias = Mapping[str, Any]


def encoded(event: Event) -> bytes:
    """A line. ASCII alone, so that a cut never splits a character."""
    return json.dumps(event, separators=(",", ":")).encode("ascii") + b"\n"


def read_lines(file: BinaryIO, name: str) -> Iterator[Event]:
    """The header, then the events. A last line without an end was cut by a kill and is left out.

    Raises SessionError where the file is no session.
    """
    for number, line in enumerate(_whole_lines(file, name), start=1):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            raise SessionError(f"{name} is damaged: line {number} is no JSON") from None
        if not isinstance(event, dict):
            raise SessionError(f"{name} is no session: line {number} is no object")
        if number == 1 and event.get("schema") != SCHEMA:
            raise SessionError(f"{name} is no session: it does not begin with {SCHEMA}")
        yield event


def _whole_lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    while line := file.readline(LINE_LIMIT_BYTES):
        if line.endswith(b"\n"):
            yield line
        elif len(line) >= LINE_LIMIT_BYTES:
            raise SessionError(f"{name} is no session: a line is longer than {LINE_LIMIT_BYTES >> 20} MiB")


def length_of_whole_lines(file: BinaryIO) -> int:
    """Bytes up to the end of the last whole line."""
    length = 0
    while line := file.readline():
        if line.endswith(b"\n"):
            length += len(line)
    return length
