"""Lists of CPUs as the kernel writes them: `0-15,32-47`."""

from __future__ import annotations

import re
from collections.abc import Iterable

_RANGE = re.compile(r"^(\d{1,5})(?:-(\d{1,5})(?::(\d{1,5})/(\d{1,5}))?)?$")


def parse_cpu_list(text: str | None) -> frozenset[int]:
    """The numbers of a list, also of nodes; empty for no list. Groups of a range (`0-31:2/4`) are understood."""
    found: set[int] = set()
    for part in (text or "").strip().split(","):
        match = _RANGE.match(part.strip())
        if match is None:
            continue
        first, last = int(match[1]), int(match[2] or match[1])
        used, group = int(match[3] or 1), int(match[4] or 1)
        found.update(cpu for cpu in range(first, last + 1) if group and (cpu - first) % group < used)
    return frozenset(found)


def format_cpu_list(cpus: Iterable[int]) -> str:
    """Numbers as ranges: `0 1 2 5` becomes `0-2,5`."""
    ranges: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
