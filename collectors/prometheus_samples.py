"""The Prometheus text format: samples with labels, and the words of help that tell units."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from collectors.base import Block, Line

SAMPLE = re.compile(
    r"^(?P<name>[A-Za-z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>[-+]?(?:\d[\d.eE+-]*|NaN|Inf))(?:\s+-?\d+)?\s*$"
)
COMMENT = re.compile(r"^# (?:HELP|TYPE|UNIT) \S")
_LABEL = re.compile(r'([A-Za-z_][\w]*)="((?:[^"\\]|\\.)*)"')
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": " "}
_NO_LABELS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Sample:
    """One line: name, labels, value."""

    name: str
    labels: Mapping[str, str]
    value: float
    line: Line


@dataclass(slots=True)
class Metrics:
    """What a scrape holds."""

    samples: list[Sample] = field(default_factory=list)
    help: dict[str, str] = field(default_factory=dict)

    def named(self, prefix: str) -> Iterator[Sample]:
        """Samples whose name begins so."""
        return (sample for sample in self.samples if sample.name.startswith(prefix))


def read_metrics(block: Block, prefixes: tuple[str, ...]) -> Metrics:
    """Samples whose names begin with one of the prefixes; infinite values and those that are no number are left out."""
    metrics = Metrics()
    for line in block.lines:
        if line.text.startswith("# HELP "):
            name, _, words = line.text[7:].partition(" ")
            if name.startswith(prefixes):
                metrics.help[name] = words
        elif line.text.startswith(prefixes) and (match := SAMPLE.match(line.text)) is not None:
            value = _number(match["value"])
            if value is not None:
                labels = _labels(match["labels"]) if match["labels"] else _NO_LABELS
                metrics.samples.append(Sample(match["name"], labels, value, line))
    return metrics


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _labels(text: str) -> dict[str, str]:
    return {
        name: re.sub(r"\\.", lambda escape: _ESCAPES.get(escape[0], escape[0]), value)
        for name, value in _LABEL.findall(text)
    }
