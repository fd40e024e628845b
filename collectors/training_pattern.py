"""Training logs of an own format, told by a pattern: `step (?P<step>\\d+) .* took (?P<ms>[\\d.]+) ms`.

The pattern is a regular expression whose groups say what they hold: one of `seconds`, `ms`, `us`, `samples_per_second`,
`tokens_per_second`, `steps_per_second`, and where the line tells them `step`, `global_batch` and `tflops`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from collectors.training_log import TrainingLog
from collectors.training_records import Record

_SECONDS: Mapping[str, float] = {"seconds": 1.0, "ms": 1e-3, "us": 1e-6}
_RATES = ("samples_per_second", "tokens_per_second", "steps_per_second")
_OTHERS = ("step", "global_batch", "tflops")
_SHORTEST_LITERAL = 3
_NUMBER = re.compile(
    r"\d{1,3}(?:,\d{3})+(?:\.\d*)?|(?P<comma>\d{1,3}(?:\.\d{3})+,\d+|\d+,\d+)|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?",
    re.ASCII,
)
"""Whole groups of three behind commas are thousands, as programs write them; another comma is the decimal one."""
_SMALLEST, _LARGEST = 1e-12, 1e15
"""What no clock and no counter of a training run leaves."""
_ESCAPE = re.compile(r"\\(?:x..|u.{4}|U.{8}|N\{[^}]*\}|\d+|.)", re.DOTALL)
_META = frozenset(".^$*+?{}[]\\|()")


class PatternError(ValueError):
    """A pattern that cannot be used; the message says why and what would do."""


def training_pattern(text: str) -> type[TrainingLog]:
    """A collector of the lines that the pattern matches. Raises PatternError."""
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise PatternError(f"the pattern is no regular expression: {error}") from None
    except (OverflowError, RecursionError):
        raise PatternError("the pattern repeats or nests more than can be searched for") from None
    if pattern.flags & (re.IGNORECASE | re.VERBOSE):
        raise PatternError("the pattern may set neither (?i) nor (?x): its lines are found by fixed text")
    names = set(pattern.groupindex)
    known = {*_SECONDS, *_RATES, *_OTHERS}
    if unknown := names - known:
        raise PatternError(f"the pattern names a group `{min(unknown)}`; there are: {', '.join(sorted(known))}")
    if not names & {*_SECONDS, *_RATES}:
        cost = ", ".join((*_SECONDS, *_RATES))
        raise PatternError(f"the pattern must name a group that holds a time or a rate, as in (?P<ms>...): {cost}")
    literal = longest_literal(text)
    if not literal.isprintable():
        raise PatternError("the pattern's fixed text must consist of characters that can be printed")
    if len(literal) < _SHORTEST_LITERAL:
        raise PatternError(
            f"the pattern must hold at least {_SHORTEST_LITERAL} characters of fixed text, by which its lines are found"
        )

    class PatternLog(TrainingLog):
        kind: ClassVar[str] = "training-log-by-pattern"
        literals: ClassVar[tuple[bytes, ...]] = (literal.encode(),)

        def read_record(self, text: str) -> Record | None:
            return _record(pattern, text)

    return PatternLog


def _record(pattern: re.Pattern[str], line: str) -> Record | None:
    match = pattern.search(line)
    if match is None:
        return None
    values = {name: value for name, text in match.groupdict().items() if (value := _value(text)) is not None}
    if any(text is not None and name not in values for name, text in match.groupdict().items()):
        return None
    seconds = next((values[name] * scale for name, scale in _SECONDS.items() if values.get(name)), None)
    if seconds is None and values.get("steps_per_second"):
        seconds = 1 / values["steps_per_second"]
    samples, tokens = values.get("samples_per_second") or None, values.get("tokens_per_second") or None
    if seconds is None and samples is None and tokens is None:
        return None
    return Record(
        "other",
        step=int(values["step"]) if "step" in values else None,
        seconds=seconds,
        samples_per_second=samples,
        units_per_second=tokens,
        tflops=values.get("tflops") or None,
        global_batch=int(values["global_batch"]) if values.get("global_batch") else None,
    )


def _value(text: str | None) -> float | None:
    """A number as programs and locales write it: `1234.5`, `1,234.5`, `1.234,5`, `3,5`, `2e-3`; None for all else."""
    if text is None or (match := _NUMBER.fullmatch(text.strip())) is None:
        return None
    if match["comma"]:
        text = text.replace(".", "").replace(",", ".")
    value = float(text.replace(",", ""))
    return value if value == 0 or _SMALLEST <= value <= _LARGEST else None


def longest_literal(pattern: str) -> str:
    """The longest piece of a pattern that every line it matches must hold as it stands.

    Only text outside of groups, classes and alternatives counts, and no character that a quantifier may take away.
    """
    pieces: list[str] = [""]
    depth = 0
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            escape = _ESCAPE.match(pattern, at)
            text = escape.group() if escape else "\\"
            fixed = text[1] if len(text) == 2 and not text[1].isalnum() else None
            at += len(text) - 1
        elif character == "[":
            at = _end_of_class(pattern, at)
            fixed = None
        elif character in "()":
            depth += 1 if character == "(" else -1
            fixed = None
        elif character == "|" and depth == 0:
            return ""
        else:
            fixed = None if character in _META else character
        optional = pattern[at + 1 : at + 2] in ("*", "?", "{")
        if fixed is None or depth or optional:
            pieces.append("")
        else:
            pieces[-1] += fixed
            if pattern[at + 1 : at + 2] == "+":
                pieces.append("")
        if character == "{":
            at = max(at, pattern.find("}", at))
        at += 1
    return max(pieces, key=len)


def _end_of_class(pattern: str, at: int) -> int:
    """Place of the bracket that closes the class that begins at `at`."""
    end = at + 1
    if pattern[end : end + 1] == "^":
        end += 1
    if pattern[end : end + 1] == "]":
        end += 1
    while end < len(pattern) and pattern[end] != "]":
        end += 2 if pattern[end] == "\\" else 1
    return end
