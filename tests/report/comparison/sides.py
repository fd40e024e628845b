"""Two results to compare, made of facts by the real rules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import numpy as np

from diagnose.engine.session import SessionRunner
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.gpu import GpuClockReasons, GpuClocks, GpuLoad, GpuTemperature
from diagnose.facts.series import Clock, Measurement, Requests
from diagnose.knowledge.loader import load_knowledge
from diagnose.ranking.diagnosis import diagnose
from diagnose.report.build import build_report
from diagnose.report.comparison.compare import Side

SOURCES = (Source(path="x", line=1),)
NOW = datetime(2026, 2, 3, tzinfo=UTC)


@cache
def runner() -> SessionRunner:
    return SessionRunner(load_knowledge())


def side(name: str, facts: Sequence[Fact], series: Sequence[Measurement] = (), with_facts: bool = True) -> Side:
    """A result of these facts."""
    found = diagnose(runner(), facts, series=series)
    report = build_report(found, runner().knowledge, [], NOW)
    return Side(name, report, facts if with_facts else None, series)


def of(kind: type[Fact], host: str = "n1", gpu: int | None = None, **values: Any) -> Fact:
    return kind(subject=Subject(host=host, gpu_index=gpu), sources=SOURCES, **values)


def gpu(hot: bool, host: str = "n1", index: int = 0) -> list[Fact]:
    """A busy GPU, too hot or not."""
    return [
        of(GpuClockReasons, host, index, hw_thermal_slowdown=hot, hw_slowdown=hot),
        of(GpuTemperature, host, index, gpu_celsius=91.0 if hot else 60.0),
        of(GpuClocks, host, index, sm_mhz=1110.0 if hot else 1980.0, sm_max_mhz=1980.0),
        of(GpuLoad, host, index, gpu_utilization_ratio=0.99),
    ]


def requests(seed: int, scale: float = 1.0, count: int = 4000, rate: float = 10.0) -> Requests:
    """Latencies of requests that come at random."""
    random = np.random.default_rng(seed)
    starts = np.cumsum(random.exponential(1 / rate, count))
    latency = scale * 0.2 * np.exp(0.3 * random.normal(size=count))
    columns = {"start_seconds": starts, "end_to_end_seconds": latency}
    return Requests(Subject(host="n1"), columns, Clock.UTC, SOURCES)
