"""Reads the JSON of Chrome's trace format event by event, in memory that does not grow with the file.

A profiler that was killed leaves a file without its end, and a disk fault leaves holes: what stands before the end and
around the holes is read.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from pydantic_core import from_json

_READ_BYTES = 1 << 22
_EVENT_CHARACTERS = 1 << 24
"""A longer event is taken for damage: stacks and shapes of one event need kilobytes."""
_HEADER_CHARACTERS = 1 << 26
_CUT_MARGIN = 32
"""An error so close to the end of what was read may be a number, word or escape that goes on."""
_BATCH_CHARACTERS = 1 << 16
"""Events that are parsed in one go: large enough to be quick, small enough to take no memory to speak of."""
_BLANK = re.compile(r"[\s,]*")
_OBJECT_BEGINS = re.compile(r"\}\s*,\s*(?=\{\s*\")")
_EVENT_BEGINS = re.compile(r"\}\s*,\s*(?=\{\s*\"(?:ph|cat|name|pid|tid|ts|dur|args|id|tts)\")")
"""Behind damage no object within an event may be taken for one: the end of its list would be that of all events."""
_EVENTS_BEGIN = re.compile(r"\"traceEvents\"\s*:\s*(?=\[)")


class _CutError(Exception):
    """The text ends here."""


class _DamageError(Exception):
    """What stands here is no JSON, however much more is read."""


class TraceJson:
    """One file, to be read once by iterating over `events`.

    Attributes:
        header: what stands beside the events at the top, such as `distributedInfo`; complete after the events.
        damaged: stretches that had to be left out, what follows the end of the trace among them.
        cut: whether the file ends before the trace does.
        read_bytes: bytes read so far.
    """

    def __init__(self, source: BinaryIO) -> None:
        self.header: dict[str, Any] = {}
        self.damaged = 0
        self.cut = False
        self.read_bytes = 0
        self._source = source
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._parse = json.JSONDecoder(strict=False).raw_decode
        self._text = ""
        self._at = 0
        self._ended = False
        self._one_by_one_until = 0
        """Where no batch was found, or one failed, events before this place are taken singly."""

    def events(self) -> Iterator[dict[str, Any]]:
        """Every event in the order of the file. Never raises on any content."""
        try:
            first = self._next()
            if first == "[":
                yield from self._array()
            elif first == "{":
                yield from self._object()
            else:
                raise _DamageError if first else _CutError
            self.damaged += self._next() != ""
        except _CutError:
            self.cut = True
        except _DamageError:
            self.damaged += 1

    def _object(self) -> Iterator[dict[str, Any]]:
        self._at += 1
        while True:
            try:
                if (key := self._key()) is None:
                    break
                if key != "traceEvents" or self._next() != "[":
                    self.header[key] = self._value(_HEADER_CHARACTERS)
                    continue
            except _DamageError:
                self.damaged += 1
                if not self._find(_EVENTS_BEGIN):
                    return
            yield from self._array()
        self._at += 1

    def _key(self) -> str | None:
        """The next key of the object, up to behind its colon; None where the object ends."""
        if (character := self._next()) == "}":
            return None
        if character != '"':
            raise _DamageError if character else _CutError
        key: str = self._value(_EVENT_CHARACTERS)
        if (colon := self._next()) != ":":
            raise _DamageError if colon else _CutError
        self._at += 1
        self._next()
        return key

    def _array(self) -> Iterator[dict[str, Any]]:
        self._at += 1
        while (character := self._next()) != "]":
            if not character:
                raise _CutError
            if (batch := self._batch()) is not None:
                yield from batch
                continue
            try:
                event = self._value(_EVENT_CHARACTERS)
            except _DamageError:
                self._skip_damage()
                continue
            if isinstance(event, dict):
                yield event
        self._at += 1

    def _batch(self) -> list[dict[str, Any]] | None:
        """Many events at once; None where there are not so many, or where not all between two marks is well formed.

        A mark within an event, in a text or in its arguments, leaves something open, so that the parser refuses. It is
        twice as fast as the standard library's, which takes what this one refuses.
        """
        if self._one_by_one_until > self._at:
            return None
        self._one_by_one_until = 0
        mark = _OBJECT_BEGINS.search(self._text, self._at + _BATCH_CHARACTERS)
        if mark is None:
            # Looking again for every event would take longer with the square of what was read.
            self._one_by_one_until = len(self._text)
            return None
        try:
            found = from_json(f"[{self._text[self._at : mark.start() + 1]}]")
        except ValueError:
            self._one_by_one_until = mark.end()
            return None
        self._at = mark.end()
        return [event for event in found if isinstance(event, dict)]

    def _next(self) -> str:
        """The next character that is neither blank nor comma; empty at the end."""
        while True:
            self._at = _BLANK.match(self._text, self._at).end()  # type: ignore[union-attr]  # it always matches
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _value(self, limit: int) -> Any:
        while True:
            try:
                value, end = self._parse(self._text, self._at)
            except json.JSONDecodeError as error:
                goes_on = error.pos >= len(self._text) - _CUT_MARGIN or error.msg.startswith("Unterminated string")
                if not goes_on or len(self._text) - self._at > limit:
                    raise _DamageError from None
            except (ValueError, RecursionError):
                raise _DamageError from None
            else:
                if end < len(self._text) or self._ended:
                    self._at = end
                    return value
            if not self._more():
                raise _CutError

    def _more(self) -> bool:
        if self._ended:
            return False
        piece = self._source.read(_READ_BYTES)
        self._ended = not piece
        self.read_bytes += len(piece)
        self._one_by_one_until = max(0, self._one_by_one_until - self._at)
        self._text = self._text[self._at :] + self._decoder.decode(piece, final=self._ended)
        self._at = 0
        return True

    def _skip_damage(self) -> None:
        """Go to the next place where an event seems to begin."""
        self.damaged += 1
        if not self._find(_EVENT_BEGINS):
            raise _CutError

    def _find(self, mark: re.Pattern[str]) -> bool:
        """Go behind the next mark; false where there is none up to the end."""
        while (found := mark.search(self._text, self._at)) is None:
            # The mark may lie across the end of what was read.
            self._at = max(self._at, len(self._text) - 4096)
            if not self._more():
                self._at = len(self._text)
                return False
        self._at = found.end()
        return True
