"""Sentences with values filled in: `GPU {link.gpu} draws {power.draw_watts:.0f} W`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from diagnose.knowledge.expression import ExpressionError, Scope, suggestion

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_REFERENCE = re.compile(r"^([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)(?::(.+))?$")

COUNT_FIELD = "count"
"""`{alias.count}` of a counted pattern."""

UNKNOWN = "unknown"
"""Stands in a sentence for a value that is absent."""


def _binary(value: float, unit: str) -> str:
    for prefix, size in (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if abs(value) >= size:
            return f"{value / size:.4g} {prefix}{unit}"
    return f"{value:.4g} {unit}"


def _decimal(value: float, unit: str) -> str:
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.4g} {prefix}{unit}"
    return f"{value:.4g} {unit}"


FORMATS: Mapping[str, Callable[[float], str]] = {
    "percent": lambda ratio: f"{ratio * 100:.3g}%",
    "bytes": lambda value: _binary(value, "B"),
    "rate": lambda value: _decimal(value, "B/s"),
    "times": lambda value: {1: "once", 2: "twice"}.get(round(value), f"{value:.0f} times"),
    "lines": lambda value: "1 line" if value == 1 else f"{value:.0f} lines",
}
"""Named formats for numbers, beside those of Python's `format`."""


def placeholders(text: str) -> Iterator[tuple[str, str, str | None]]:
    """Alias, field and format of every placeholder. Raises ExpressionError for one that is none."""
    for match in _PLACEHOLDER.finditer(text):
        reference = _REFERENCE.match(match.group(1))
        if reference is None:
            raise ExpressionError(f"`{match.group(0)}` is no placeholder; write `{{alias.field}}`")
        yield reference.group(1), reference.group(2), reference.group(3)


def check_template(text: str, scope: Scope, counted: set[str]) -> None:
    """Every placeholder names a field that exists, with a format that fits. Raises ExpressionError."""
    for alias, field, style in placeholders(text):
        if alias in counted:
            if field != COUNT_FIELD:
                raise ExpressionError(f"`{alias}` is counted, so only `{{{alias}.{COUNT_FIELD}}}` can be said")
            continue
        if alias not in scope:
            raise ExpressionError(f"no fact is called `{alias}` here{suggestion(alias, dict(scope))}")
        if field not in scope[alias]:
            raise ExpressionError(f"`{alias}` has no field `{field}`{suggestion(field, scope[alias])}")
        if style is not None and style not in FORMATS:
            sample: object = "x" if scope[alias][field] == "string" else 1
            try:
                format(sample, style)
            except ValueError:
                raise ExpressionError(f"format `{style}` does not fit `{alias}.{field}`") from None


def fill(text: str, values: Callable[[str, str], object | None]) -> str:
    """Put the values in. Whole numbers lose their decimal point; absent values read `unknown`."""

    def one(match: re.Match[str]) -> str:
        reference = _REFERENCE.match(match.group(1))
        if reference is None:
            return match.group(0)
        alias, field, style = reference.groups()
        return _show(values(alias, field), style)

    return _PLACEHOLDER.sub(one, text)


def _show(value: object | None, style: str | None) -> str:
    match value:
        case None:
            return UNKNOWN
        case bool():
            return "yes" if value else "no"
        case int() | float() if style in FORMATS:
            return FORMATS[style or ""](value)
        case int() | float() if style is not None:
            return format(value, style)
        case float():
            return f"{value:.6g}"
    return str(value)
