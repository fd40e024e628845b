"""How Slurm writes amounts, times and resources."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from diagnose.facts.cpu_lists import parse_cpu_list

_ABSENT = frozenset({"", "(null)", "n/a", "none", "unknown", "none assigned", "invalid"})
_GPU_COUNT = re.compile(r"(?:^|[,\s])(?:gres[:/])?gpu(?:[:/][A-Za-z][\w.-]*)?[:=](\d{1,5})(?=$|[,\s(])")
_GPU_INDEX = re.compile(r"gpu[^,\s(]*\((?:IDX|GPU):([\d,-]{1,200})\)", re.IGNORECASE)
_CPUS = re.compile(r"(?:^|,)cpu=(\d{1,6})(?=$|,)")
_MIG = re.compile(r"gpu[:/]\w*?(\d+g\.\d+gb)[:=](\d{1,4})")
RUNNING = frozenset({"R", "RUNNING", "CG", "COMPLETING", "CF", "CONFIGURING", "S", "SUSPENDED", "ST", "STOPPED"})
"""States of a job that has its nodes."""


def known(text: str | None) -> str | None:
    """The text, None where it is one of Slurm's words for no value."""
    return None if text is None or text.strip().lower() in _ABSENT else text.strip()


def gpu_count(resources: str | None) -> int | None:
    """GPUs in `gres/gpu:h100=8`, `gpu:4`, `cpu=8,gres/gpu=4`; of a sum and its sorts told together, the sum."""
    text = known(resources)
    counts = [int(count) for count in _GPU_COUNT.findall(text or "")]
    return max(counts, default=None)


def gpu_indices(resources: str | None) -> str | None:
    """Indices in `gpu:h100:4(IDX:0-3)`, separated by blanks."""
    match = _GPU_INDEX.search(resources or "")
    numbers = sorted(parse_cpu_list(match[1])) if match else []
    return " ".join(map(str, numbers)) or None


def mig_slices(resources: str | None) -> int | None:
    """MIG instances in `gpu:1g.10gb:2`."""
    match = _MIG.search(resources or "")
    return int(match[2]) if match else None


def cpu_count(resources: str | None) -> float | None:
    """CPUs in `cpu=32,mem=...`."""
    match = _CPUS.search(resources or "")
    return float(match[1]) if match else None


def local_seconds(text: str | None) -> float | None:
    """`2026-02-03T04:05:06` as seconds since 1970, as if the clock showed UTC; None for no time."""
    try:
        moment = datetime.fromisoformat(known(text) or "")
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC).timestamp() if moment.tzinfo is None else moment.timestamp()


def number(text: str | None) -> float | None:
    """A number."""
    value = known(text)
    return float(value) if value is not None and re.fullmatch(r"\d{1,15}(?:\.\d{1,15})?", value) else None
