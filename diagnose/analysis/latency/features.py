"""The way from measurements to facts about latency."""

from __future__ import annotations

from collections.abc import Sequence

from diagnose.facts.base import Fact
from diagnose.facts.series import Measurement, Requests, Series


def features(measurements: Sequence[Measurement], _: Sequence[Fact]) -> list[Fact]:
    """Facts about every latency that the measurements hold; a pure function of them."""
    if not any(isinstance(item, Requests | Series) for item in measurements):
        return []
    # Loaded only where there is something to analyse: a health check starts without it.
    from diagnose.analysis.latency.as_facts import facts_of
    from diagnose.analysis.latency.study import studies

    return [fact for found in studies(measurements) for fact in facts_of(found)]
