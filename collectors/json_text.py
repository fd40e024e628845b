"""JSON in blocks: text that may be cut, may stand behind a remark, and is never trusted to have a shape."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, TypeVar

from collectors.base import Block, Parsed

T = TypeVar("T")


def load_object(block: Block) -> dict[str, Any] | Parsed:
    """The object that begins at the first brace, or what is wrong with it."""
    text = "\n".join(block.texts())
    start = text.find("{")
    if start >= 0:
        try:
            content, _ = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            pass
        else:
            return content if isinstance(content, dict) else Parsed()
    return Parsed(problems=[f"line {block.lines[0].number}: the JSON is damaged or incomplete"])


def items(value: object, kind: type[T]) -> Iterator[T]:
    """Items of a list that are of a type; none where it is no list."""
    return (item for item in value if isinstance(item, kind)) if isinstance(value, list) else iter(())


def mapping(value: object) -> dict[str, Any]:
    """The object, or an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def real(value: object) -> float | None:
    """A finite number, also one written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def whole(value: object) -> int | None:
    """A whole number, also one written as text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 19:
        return int(value)
    return None
