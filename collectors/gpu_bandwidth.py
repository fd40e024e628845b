"""Measured copy rates of GPUs, whatever tool printed them, and their facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median

from collectors.base import Block, Line
from diagnose.facts import Fact
from diagnose.facts.bandwidth import GpuBandwidth, GpuBandwidthSummary

GIGA = 1e9


@dataclass(slots=True)
class CopyTest:
    """One test: for each GPU the rates with each CPU node, in bytes per second."""

    tool: str
    name: str
    direction: str
    line: Line
    bidirectional: bool = False
    concurrent: bool = False
    copy_engine: bool | None = None
    pinned: bool | None = None
    size_bytes: int | None = None
    rates: dict[int, list[float]] = field(default_factory=dict)
    peak_ratios: Mapping[int, float] = field(default_factory=dict)

    def add(self, gpu: int, bytes_per_second: float) -> None:
        """Take a rate; one of zero is none."""
        if bytes_per_second > 0:
            self.rates.setdefault(gpu, []).append(bytes_per_second)


def copy_facts(test: CopyTest, block: Block) -> Iterator[Fact]:
    """One fact for each GPU, and the sum of them where there are at least two."""
    sources = (block.source(test.line),)
    best = {gpu: max(rates) for gpu, rates in test.rates.items()}
    for gpu, rate in sorted(best.items()):
        rates = test.rates[gpu]
        yield GpuBandwidth(
            subject=block.subject().model_copy(update={"gpu_index": gpu}),
            sources=sources,
            tool=test.tool,
            direction=test.direction,
            bytes_per_second=rate,
            lowest_bytes_per_second=min(rates) if len(rates) > 1 else None,
            bidirectional=test.bidirectional,
            concurrent=test.concurrent,
            copy_engine=test.copy_engine,
            pinned=test.pinned,
            size_bytes=test.size_bytes,
            peak_ratio=test.peak_ratios.get(gpu),
        )
    if len(best) < 2:
        return
    middle = median(best.values())
    lowest = min(best, key=lambda gpu: best[gpu])
    yield GpuBandwidthSummary(
        subject=block.subject(),
        sources=sources,
        tool=test.tool,
        test=test.name,
        direction=test.direction,
        gpus=len(best),
        lowest_bytes_per_second=best[lowest],
        median_bytes_per_second=middle,
        lowest_to_median_ratio=best[lowest] / middle,
        lowest_gpu=str(lowest),
    )
