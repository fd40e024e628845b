"""Gathers what one GPU's values are, from one reading or from many, and makes facts of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median, median_low
from typing import Any

from collectors.base import Block
from collectors.nvidia_smi_values import Convert, Value, read
from diagnose.facts import Fact, Missing, Subject
from diagnose.facts.bandwidth import NvlinkTraffic
from diagnose.facts.gpu import (
    GpuActivity,
    GpuClocks,
    GpuFan,
    GpuLoad,
    GpuMemory,
    GpuPcieLink,
    GpuPower,
    GpuTemperature,
)

# What goes up and down: over several readings the median tells what was typical. Of everything else (counters, names)
# the last reading counts.
_GAUGES: tuple[type[Fact], ...] = (
    GpuClocks,
    GpuFan,
    GpuLoad,
    GpuMemory,
    GpuPcieLink,
    GpuPower,
    GpuTemperature,
    GpuActivity,
    NvlinkTraffic,
)
_COUNTERS = frozenset({"replay_count", "replay_rollover_count"})
# Reasons that say something of the device. A fact of which every field is merely not applicable is left out.
_TELLING = frozenset({Missing.UNKNOWN_ERROR, Missing.ERROR, Missing.NO_PERMISSION, Missing.LOST, Missing.BLANK})


class Reading:
    """Values of one GPU by kind of fact and field."""

    def __init__(self) -> None:
        self._readings: dict[type[Fact], dict[str, list[Value | Missing]]] = {}
        self._lines: dict[type[Fact], int] = {}

    def put(self, kind: type[Fact], name: str, value: Value | Missing | None, line: int) -> None:
        """Note a value or the reason for its absence; None, a text that was not understood, leaves no trace."""
        if value is None:
            return
        self._lines.setdefault(kind, line)
        self._readings.setdefault(kind, {}).setdefault(name, []).append(value)

    def take(self, kind: type[Fact], name: str, text: str, convert: Convert, line: int) -> None:
        """Read a text and note what it says."""
        self.put(kind, name, read(text, convert), line)

    def reasons(self) -> set[Missing]:
        """Every reason for an absence that was noted."""
        return {
            value
            for fields in self._readings.values()
            for values in fields.values()
            for value in values
            if isinstance(value, Missing)
        }

    def facts(self, subject: Subject, block: Block) -> Iterator[Fact]:
        """One fact for each kind, with the line where its first value stands."""
        for kind, fields in self._readings.items():
            known: dict[str, Any] = {}
            missing: dict[str, Missing] = {}
            for name, readings in fields.items():
                values = [value for value in readings if not isinstance(value, Missing)]
                if values:
                    known[name] = typical(values, kind in _GAUGES and name not in _COUNTERS)
                else:
                    missing[name] = next(value for value in reversed(readings) if isinstance(value, Missing))
            if known or _TELLING.intersection(missing.values()):
                yield kind(subject=subject, sources=(block.source(self._lines[kind]),), missing=missing, **known)


def typical(values: Sequence[Value], gauge: bool) -> Value:
    """One value for several: flags by majority, gauges by the median, anything else by the last."""
    if all(isinstance(value, bool) for value in values):
        return sum(map(bool, values)) * 2 > len(values) if len(values) > 1 else values[0]
    numbers = [value for value in values if not isinstance(value, str)]
    if not gauge or len(numbers) < len(values):
        return values[-1]
    return median_low(numbers) if all(isinstance(value, int) for value in numbers) else median(numbers)
