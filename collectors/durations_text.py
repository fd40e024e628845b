"""Durations as load generators print them: `635.91us`, `1.2s`, `1m30.5s`."""

from __future__ import annotations

import re

from collectors.request_columns import UNITS

_PART = re.compile(r"(\d{1,12}(?:\.\d{1,12})?)(h|m(?!s)|s|ms|us|µs|μs|ns)")
_LONG = {"h": 3600.0, "m": 60.0}
DURATION = r"(?:\d{1,12}(?:\.\d{1,12})?(?:h|ms|m|s|us|µs|μs|ns))+"
"""As part of a longer expression."""


def duration(text: str) -> float | None:
    """Seconds; None where the text is no duration."""
    at = 0
    total = 0.0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None:
            return None
        total += float(match[1]) * (_LONG.get(match[2]) or UNITS[match[2]])
        at = match.end()
    return total if text else None
