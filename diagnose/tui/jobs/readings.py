"""From readings to what a session keeps of them."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.inputs import Readings
from collectors.resolve import resolve_readings
from diagnose.analysis import series_features
from diagnose.facts import Fact
from diagnose.facts.collection import CollectorStatus
from diagnose.report.build import input_reports
from diagnose.sessions.facts import facts_to_json
from diagnose.tui.jobs.measured_pictures import latency_pictures
from diagnose.tui.jobs.told import Reading

_RUNNING = "running"


def reading_of(readings: Readings, *, over: bool) -> Reading:
    """Facts with the features of measurements, which are too many to keep.

    While a collection runs, that a part of it has not ended is no sign of anything.
    """
    resolved = resolve_readings(readings)
    facts: Sequence[Fact] = [*resolved.facts, *series_features(resolved.series, resolved.facts)]
    if not over:
        facts = [fact for fact in facts if not (isinstance(fact, CollectorStatus) and fact.status == _RUNNING)]
    pictures = latency_pictures(resolved.series) if over else ()
    return Reading(facts_to_json(facts), input_reports(resolved.inputs), pictures)
