"""Draws measurements while they are at hand: they are too many to be kept in a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diagnose.facts.series import Measurement
from diagnose.tui.model.events import Picture

if TYPE_CHECKING:
    from diagnose.analysis.latency.study import StreamStudy, Study

_WIDTH = 72
_FIRST = ("ttft", "itl", "e2e")


def latency_pictures(series: Sequence[Measurement]) -> tuple[Picture, ...]:
    """Latency over time, with what drives it beneath, and its distribution, for each stream of requests."""
    if not series:
        return ()
    from diagnose.analysis.latency.study import studies

    return tuple(picture for found in studies(series) for picture in _of_stream(found))


def _of_stream(found: StreamStudy) -> list[Picture]:
    by_metric = {study.metric: study for study in found.latencies}
    study = next((by_metric[name] for name in _FIRST if name in by_metric), None)
    return [] if study is None else _of_study(study, found.stream.name)


def _of_study(study: Study, name: str) -> list[Picture]:
    from diagnose.report.latency_picture import conditional_tails, distribution, over_time, suspect
    from diagnose.report.latency_plot import columns_of, distribution_text, marks_for, over_time_text, tails_text

    marks, columns = marks_for("utf-8"), columns_of(_WIDTH)
    driver = suspect(study)
    drawn: list[tuple[str, list[str]]] = []
    if (course := over_time(study, columns, driver)) is not None:
        drawn.append((f"{study.metric} over time, {name}", over_time_text(course, marks)))
    if (shape := distribution(study, columns)) is not None:
        drawn.append((f"How {study.metric} is distributed, {name}", distribution_text(shape, marks)))
    if driver is not None and (tails := conditional_tails(study, driver)) is not None:
        drawn.append((f"{study.metric} with and without what drives it, {name}", tails_text(tails)))
    return [Picture(sort="latency", title=title, rows=tuple(rows)) for title, rows in drawn]
