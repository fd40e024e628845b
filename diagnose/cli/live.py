"""Recording the machine from the command line: what `collect` and `analyze --live` share."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
from diagnose.intake.recordings import machine_of

if TYPE_CHECKING:
    # Loaded when the recording is done, so that it starts at once.
    pass

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
    return machine_of(scenario)


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


def _line(report: RecorderReport) -> str:
    detail = f"  {report.detail}" if report.detail else ""
    return f"{report.name:<16} {report.status:<12} {report.seconds:6.1f} s{detail}"
