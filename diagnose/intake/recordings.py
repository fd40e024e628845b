"""Recordings of a machine: which machine it is, what its files are called in reports, what did not answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.live.base import RecorderStatus
from collectors.live.record import Machine, Record

if TYPE_CHECKING:
    from collectors.inputs import Readings
    from diagnose.facts import Source
    from diagnose.simulate.environment import Scenario

LIVE = "live"
"""What reports call the recording of a machine."""
_GPUS = "nvml-system"


def machine_of(scenario: Scenario) -> Machine:
    """The machine that a scenario stands in for."""
    return Machine(scenario.root, scenario.name, dict(scenario.environment), scenario.commands)


def lacks(record: Record) -> list[str]:
    """What could not be read for want of privilege, one sentence each."""
    return list(dict.fromkeys(sentence for report in record.recorders for sentence in report.lacked))


def unanswered(record: Record) -> list[str]:
    """Parts of a machine that did not answer, one sentence each, and its GPUs where none was read at all.

    The want of a right is none of these: it is the same every time, and whoever wires a program up decides about it.
    """
    silent = (RecorderStatus.PARTIAL, RecorderStatus.TIMED_OUT, RecorderStatus.CRASHED)
    return [
        f"{report.name}: {report.detail or report.status.value}"
        for report in record.recorders
        if report.status in silent or (report.name == _GPUS and report.status is RecorderStatus.ABSENT)
    ]


def renamed(readings: Readings, folder: Path, name: str = LIVE) -> Readings:
    """The readings with a recording's folder called by a name of its own, since the folder's says nothing."""
    from collectors.inputs import Readings

    prefix = f"{folder}/"

    def rename(path: str) -> str:
        return f"{name}/{path.removeprefix(prefix)}" if path.startswith(prefix) else path

    def in_sources(sources: Sequence[Source]) -> tuple[Source, ...]:
        return tuple(
            source.model_copy(update={"path": rename(source.path)}) if source.path is not None else source
            for source in sources
        )

    return Readings(
        [fact.model_copy(update={"sources": in_sources(fact.sources)}) for fact in readings.facts],
        [report.model_copy(update={"path": rename(report.path)}) for report in readings.inputs],
        [replace(item, sources=in_sources(item.sources)) for item in readings.series],
    )
