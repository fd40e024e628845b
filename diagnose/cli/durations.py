"""Lengths of time on the command line, as types of options: `60`, `60s`, `1.5m`."""

from __future__ import annotations

import re

import click

_DURATION = re.compile(r"^(\d{1,6}(?:\.\d{1,3})?)(s|m|h)?$")
_SECONDS = {None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
SHORTEST_INTERVAL_SECONDS = 0.05
"""Reading faster would itself load the machine."""


def duration(text: str) -> float:
    """Seconds, from a number with or without `s`, `m` or `h`."""
    match = _DURATION.match(text)
    if match is None:
        raise click.BadParameter(f"{text!r} is no length of time; write 60s, 5m or 1h")
    return float(match[1]) * _SECONDS[match[2]]


def interval(text: str) -> float:
    """Seconds between readings."""
    seconds = duration(text)
    if seconds < SHORTEST_INTERVAL_SECONDS:
        raise click.BadParameter(f"{text!r} is shorter than {SHORTEST_INTERVAL_SECONDS:g} s")
    return seconds
