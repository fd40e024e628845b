"""Lists of host names as Slurm writes them: `node[01-03,07],login1`."""

from __future__ import annotations

import re
from collections.abc import Iterator

_MOST_HOSTS = 20_000
_PART = re.compile(r"([^,\[\]\s]*)(?:\[([0-9,-]+)\])?([^,\[\]\s]*)(?:,|$)")
_RANGE = re.compile(r"^(\d{1,9})(?:-(\d{1,9}))?$")


def expand(text: str) -> list[str]:
    """The names in order, each once; empty where the text is no such list or names too many hosts."""
    if re.search(r"[^\w.,\[\]-]", text):
        return []
    names: dict[str, None] = {}
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None or match.end() == at:
            return []
        for name in _names(match):
            names[name] = None
            if len(names) > _MOST_HOSTS:
                return []
        at = match.end()
    return [name for name in names if name]


def _names(match: re.Match[str]) -> Iterator[str]:
    front, ranges, back = match.groups()
    if ranges is None:
        yield front + back
        return
    for part in ranges.split(","):
        numbers = _RANGE.match(part)
        if numbers is None:
            return
        first, last = numbers[1], numbers[2] or numbers[1]
        for number in range(int(first), min(int(last), int(first) + _MOST_HOSTS) + 1):
            yield f"{front}{number:0{len(first)}}{back}"
