"""Metrics in the Prometheus text format: dcgm-exporter, node_exporter, inference servers; others are passed over."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from collectors import dcgm_metrics, node_metrics, serving_metrics
from collectors.base import Block, BlockCollector, Parsed, share
from collectors.dcgm_metrics import gpu_metric_facts
from collectors.node_metrics import node_metric_facts
from collectors.prometheus_samples import COMMENT, SAMPLE, read_metrics
from collectors.serving_metrics import serving_metric_facts

_PREFIXES = (*dcgm_metrics.PREFIXES, *node_metrics.PREFIXES, *serving_metrics.PREFIXES)
_OPENING = ("# HELP DCGM_FI_", "# HELP node_", "# HELP go_gc_", "# HELP python_gc_", "# HELP nv_")
_SAMPLES = ("DCGM_FI_DEV_", *serving_metrics.PREFIXES)
_ANY = re.compile(f"{COMMENT.pattern}|{SAMPLE.pattern}")


class PrometheusText(BlockCollector):
    """One scrape."""

    kind: ClassVar[str] = "prometheus-metrics"
    literals: ClassVar[tuple[bytes, ...]] = tuple(word.encode() for word in dict.fromkeys((*_OPENING, *_SAMPLES)))
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bcurl\b.*/metrics\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The help of a metric of one of these exporters, or a sample of DCGM's or of a server's."""
        return (
            text.startswith(_OPENING)
            or (text.startswith("# HELP ") and text[7:].startswith(serving_metrics.PREFIXES))
            or (text.startswith(_SAMPLES) and SAMPLE.match(text) is not None)
        )

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Samples, any of them of these exporters."""
        return share(lines, _ANY) if any(line.startswith(_PREFIXES) for line in lines) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of GPUs, host, and inference servers."""
        metrics = read_metrics(block, _PREFIXES)
        facts = [
            *gpu_metric_facts(metrics, block),
            *node_metric_facts(metrics, block),
            *serving_metric_facts(metrics, block),
        ]
        if facts:
            return Parsed(facts)
        return Parsed(
            problems=[
                f"line {block.lines[0].number}: metrics of an exporter that says nothing of GPUs, network or serving"
            ]
        )
