"""Recording the machine from the command line: what `collect` and `analyze --live` share."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from collectors.live.base import RecorderStatus, Window
from collectors.live.private_folder import private_folder
from collectors.live.record import Machine, Record, RecorderReport
from collectors.live.run import Collection, passive_recorders, stopping_on_signals
from diagnose import __version__
from diagnose.cli.durations import SHORTEST_INTERVAL_SECONDS
from diagnose.cli.output import remark
from diagnose.cli.progress import Progress

if TYPE_CHECKING:
    # Loaded when the recording is done, so that it starts at once.
    from collectors.inputs import Readings
    from diagnose.facts import Source

NAME = "live"
"""What reports call the recording of this machine."""
_INTERVAL_SECONDS = 1.0


def machine() -> Machine:
    """This machine, or the scenario that the group's option `--simulate` names."""
    name = click.get_current_context().find_root().params.get("simulate")
    if name is None:
        return Machine()
    from diagnose.simulate.environment import UnknownScenarioError, load_scenario

    try:
        scenario = load_scenario(name)
    except UnknownScenarioError as error:
        raise click.UsageError(str(error)) from error
    return Machine(scenario.root, scenario.name, dict(scenario.environment), scenario.commands)


def record_machine(
    folder: Path, recorded: Machine, window: Window, symptoms: Sequence[str] = (), *, verbose: bool = False
) -> tuple[Record, bool]:
    """Record into a folder that exists; the record, and whether a signal ended it early."""
    record = Record(folder, recorded, window, __version__, symptoms)
    with Progress(sys.stderr) as progress:

        def changed(report: RecorderReport) -> None:
            done = sum(item.status is not RecorderStatus.RUNNING for item in record.recorders)
            if verbose:
                remark(_line(report))
            else:
                progress(f"reading the machine, {done} of {len(record.recorders)} parts done")

        collection = Collection(record, recorded, window, changed)
        with stopping_on_signals(collection):
            collection.run(passive_recorders())
    return record, collection.stopped


def window_of(duration_seconds: float, interval_seconds: float) -> Window:
    """The window, with a reading at its end even where it is shorter than the interval."""
    return Window(duration_seconds, min(interval_seconds, max(duration_seconds, SHORTEST_INTERVAL_SECONDS)))


@contextmanager
def recording(duration_seconds: float) -> Iterator[Path]:
    """A recording of this machine that is gone afterwards. Raises KeyboardInterrupt where a signal ended it early."""
    recorded = machine()
    window = window_of(duration_seconds, _INTERVAL_SECONDS)
    with private_folder() as folder:
        _, stopped = record_machine(folder, recorded, window)
        if stopped:
            raise KeyboardInterrupt
        if recorded.simulated is not None:
            remark(f"Simulated: {recorded.simulated}")
        yield folder


def lacks(record: Record) -> list[str]:
    """What could not be read for want of privilege, one sentence each."""
    return list(dict.fromkeys(sentence for report in record.recorders for sentence in report.lacked))


_GPUS = "nvml-system"


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


def shown_as_live(readings: Readings, folder: Path) -> Readings:
    """The readings with the temporary folder called `live`, since it is gone when the report is read."""
    from collectors.inputs import Readings

    prefix = f"{folder}/"

    def rename(path: str) -> str:
        return f"{NAME}/{path.removeprefix(prefix)}" if path.startswith(prefix) else path

    def renamed(sources: Sequence[Source]) -> tuple[Source, ...]:
        return tuple(
            source.model_copy(update={"path": rename(source.path)}) if source.path is not None else source
            for source in sources
        )

    return Readings(
        [fact.model_copy(update={"sources": renamed(fact.sources)}) for fact in readings.facts],
        [report.model_copy(update={"path": rename(report.path)}) for report in readings.inputs],
        [replace(item, sources=renamed(item.sources)) for item in readings.series],
    )


def _line(report: RecorderReport) -> str:
    detail = f"  {report.detail}" if report.detail else ""
    return f"{report.name:<16} {report.status:<12} {report.seconds:6.1f} s{detail}"
