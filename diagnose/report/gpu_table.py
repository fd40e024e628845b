"""GPUs of a host beside each other: how busy, full, hot and hungry each is, as bars of characters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from diagnose.facts import Fact
from diagnose.facts.gpu import GpuLoad, GpuMemory, GpuPower, GpuTemperature
from diagnose.report.latency_plot import marks_for

_HEADINGS = ("busy", "memory", "temperature", "power")
_LABEL = 4
_VALUE = 6
_NARROWEST, _WIDEST = 4, 20
_UNKNOWN = "not told"


@dataclass(frozen=True, slots=True)
class Gauge:
    """A value in words, and what share of its limit it is; None where the limit is not known."""

    words: str
    ratio: float | None


def gpu_gauges(facts: Sequence[Fact]) -> Mapping[int, tuple[Gauge | None, ...]]:
    """GPU index to its gauges, in the order of the headings, from the last reading that tells each; of one host."""
    told: dict[int, dict[str, float]] = defaultdict(dict)
    for fact in facts:
        if fact.subject.gpu_index is not None and isinstance(fact, GpuLoad | GpuMemory | GpuTemperature | GpuPower):
            told[fact.subject.gpu_index] |= {
                name: float(value)
                for name, value in fact.values().items()
                if isinstance(value, int | float) and not isinstance(value, bool)
            }
    found = {gpu: tuple(_gauges(told[gpu])) for gpu in sorted(told)}
    return {gpu: gauges for gpu, gauges in found.items() if any(gauge is not None for gauge in gauges)}


def _gauges(told: Mapping[str, float]) -> Iterator[Gauge | None]:
    busy = told.get("gpu_utilization_ratio")
    yield None if busy is None else Gauge(f"{busy:.0%}", busy)
    used, total = told.get("used_bytes"), told.get("total_bytes")
    yield None if used is None else Gauge(f"{used / 2**30:.1f}G", used / total if total else None)
    degrees = told.get("gpu_celsius")
    limit = told.get("slowdown_celsius") or told.get("max_operating_celsius") or told.get("shutdown_celsius")
    yield None if degrees is None else Gauge(f"{degrees:.0f} C", degrees / limit if limit else None)
    watts = told.get("draw_watts", told.get("instant_draw_watts"))
    most = told.get("limit_watts") or told.get("default_limit_watts")
    yield None if watts is None else Gauge(f"{watts:.0f} W", watts / most if most else None)


def gpu_table(gauges: Mapping[int, tuple[Gauge | None, ...]], width: int, encoding: str | None) -> list[str]:
    """Lines of the table, none wider than `width` (but never narrower than 52); bars are shares of limits."""
    bars = marks_for(encoding).bars
    length = min(_WIDEST, max(_NARROWEST, (width - _LABEL) // len(_HEADINGS) - _VALUE - 2))
    column = length + _VALUE + 2
    rows = ["GPU".ljust(_LABEL) + "".join(heading.ljust(column) for heading in _HEADINGS)]
    for gpu, told in gauges.items():
        cells = (
            _UNKNOWN.ljust(column)
            if gauge is None
            else f"{_bar(gauge.ratio, length, bars[-1])} {gauge.words:<{_VALUE}} "
            for gauge in told
        )
        rows.append(f"{gpu:<{_LABEL}}" + "".join(cells))
    return [row.rstrip() for row in rows]


def _bar(ratio: float | None, length: int, full: str) -> str:
    if ratio is None:
        return " " * length
    filled = round(min(max(ratio, 0.0), 1.0) * length)
    return full * filled + "." * (length - filled)
