"""Fields that facts about latency share."""

from __future__ import annotations

import math
from typing import Any

from diagnose.analysis.latency.quantiles import Quantile
from diagnose.analysis.latency.study import Study

FOUND, NOT_FOUND, TOO_FEW = "found", "not-found", "too-few"


def about(study: Study) -> dict[str, Any]:
    """Subject, sources, stream and metric."""
    stream = study.stream
    return {"subject": stream.subject, "sources": stream.sources, "stream": stream.name, "metric": study.metric}


def interval(name: str, unit: str, quantile: Quantile | None) -> dict[str, float]:
    """A value and the ends of its interval that are known."""
    if quantile is None:
        return {}
    fields = {f"{name}{unit}": quantile.value}
    if quantile.low > 0.0:
        fields[f"{name}_low{unit}"] = quantile.low
    if math.isfinite(quantile.high):
        fields[f"{name}_high{unit}"] = quantile.high
    return fields


def too_few(study: Study, needed: int) -> str:
    """Why there is no verdict."""
    return f"{study.quantiles.count} values; {needed} are needed"
