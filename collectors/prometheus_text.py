"""Metrics in the Prometheus text format from dcgm-exporter and node_exporter; those of others are passed over."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from collectors import dcgm_metrics, node_metrics
from collectors.base import Block, BlockCollector, Parsed, share
from collectors.dcgm_metrics import gpu_metric_facts
from collectors.node_metrics import node_metric_facts
from collectors.prometheus_samples import COMMENT, SAMPLE, read_metrics

_PREFIXES = (*dcgm_metrics.PREFIXES, *node_metrics.PREFIXES)
_ANY = re.compile(f"{COMMENT.pattern}|{SAMPLE.pattern}")


class PrometheusText(BlockCollector):
    """One scrape."""

    kind: ClassVar[str] = "prometheus-metrics"
    literals: ClassVar[tuple[bytes, ...]] = (b"# HELP DCGM_FI_", b"# HELP node_", b"# HELP go_gc_", b"DCGM_FI_DEV_")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bcurl\b.*/metrics\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The help of a metric of one of these exporters, or a sample of DCGM's."""
        return text.startswith(("# HELP DCGM_FI_", "# HELP node_", "# HELP go_gc_")) or (
            text.startswith("DCGM_FI_DEV_") and SAMPLE.match(text) is not None
        )

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Samples, any of them of these exporters."""
        return share(lines, _ANY) if any(line.startswith(_PREFIXES) for line in lines) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of GPUs and host."""
        metrics = read_metrics(block, _PREFIXES)
        facts = [*gpu_metric_facts(metrics, block), *node_metric_facts(metrics, block)]
        if facts:
            return Parsed(facts)
        return Parsed(
            problems=[f"line {block.lines[0].number}: metrics of an exporter that says nothing of GPUs or network"]
        )
