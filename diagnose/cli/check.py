"""`diagnose check`: a quick verdict on this machine's health, for programs that ask often."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from diagnose.cli.durations import duration as length_of_time
from diagnose.cli.exit_codes import FAIL_ON, ExitCode, exit_code
from diagnose.cli.output import remark, standard_output

if TYPE_CHECKING:
    from collectors.live.record import Machine, Record
    from diagnose.engine.session import SessionRunner
    from diagnose.report.model import Report, ReportCause

RECORDERS = ("nvml-system", "kernel-log", "pci", "services")
"""Passive ones that take well under a second; settings, programs, processes and networks are left to `analyze`."""
_LOADED_MEANWHILE = (
    "collectors.scan",
    "collectors.recorded_nvml",
    "collectors.recorded_pci",
    "collectors.recorded_services",
    "collectors.kernel_log",
    "diagnose.ranking.diagnosis",
    "diagnose.report.build",
)
"""Modules that the diagnosis needs, which takes a while."""
_NAMED = 3


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="warning",
    show_default=True,
    help="Exit with 1 from this severity on.",
)
@click.option("--duration", type=length_of_time, default="0.3s", show_default=True, help="How long to watch.")
@click.option(
    "--time-limit", type=length_of_time, default="20s", show_default=True, help="End the reading after this time."
)
def check(style: Literal["text", "json"], fail_on: str, duration: float, time_limit: float) -> ExitCode:
    """Say in one line whether this machine's GPUs are healthy; made for cron, Slurm and Kubernetes.

    Only reads, and only what takes well under a second. Standard output carries the answer alone: one line, or with
    --format json the report. Exit codes: 0 healthy, 1 at least one cause, 3 something did not answer and nothing was
    found in the rest. docs/check.md shows how to wire it up.
    """
    from collectors.live.private_folder import private_folder
    from diagnose.cli.live import machine
    from diagnose.intake.recordings import unanswered

    recorded = machine()
    with private_folder() as folder:
        record, runner = _record(folder, recorded, duration, time_limit)
        report = _diagnose(folder, runner)
    severities = [cause.severity for cause in _found(report)]
    code = exit_code(severities, fail_on, unusable=False, incomplete=bool(unanswered(record)))
    with standard_output() as stream:
        if style == "json":
            from diagnose.report.as_json import write_json

            write_json(report, stream, None)
        else:
            stream.write(verdict(report, record, code, simulated=recorded.simulated is not None) + "\n")
    if style == "json" and recorded.simulated is not None:
        remark(f"Simulated: {recorded.simulated}")
    return code


def _record(folder: Path, recorded: Machine, duration: float, time_limit: float) -> tuple[Record, SessionRunner]:
    """Record in a thread, while this one loads what ranking needs, which takes as long.

    Raises KeyboardInterrupt where a signal ended it.
    """
    from collectors.live.base import Window
    from collectors.live.record import Record
    from collectors.live.run import Collection, stopping_on_signals
    from diagnose import __version__

    window = Window(duration, max(duration / 2, 0.05))
    record = Record(folder, recorded, window, __version__)
    collection = Collection(record, recorded, window)
    reading = threading.Thread(target=collection.run, args=(RECORDERS,), daemon=True)
    late = threading.Event()

    def end() -> None:
        late.set()
        collection.stop()

    timer = threading.Timer(time_limit, end)
    timer.daemon = True
    with stopping_on_signals(collection):
        reading.start()
        timer.start()
        runner = _load()
        reading.join()
    timer.cancel()
    if collection.stopped and not late.is_set():
        raise KeyboardInterrupt
    return record, runner


def _load() -> SessionRunner:
    from importlib import import_module

    from diagnose.engine.session import SessionRunner
    from diagnose.knowledge.loader import load_knowledge

    for name in _LOADED_MEANWHILE:
        import_module(name)
    # Whether the examples of our own rules are right is no question of this moment.
    return SessionRunner(load_knowledge(examples=False))


def _diagnose(folder: Path, runner: SessionRunner) -> Report:
    """Read the recording with the few collectors that know what RECORDERS write, and rank."""
    from collectors.kernel_log import KernelLog
    from collectors.manifest import Manifest
    from collectors.recorded_nvml import RecordedNvml
    from collectors.recorded_pci import RecordedPci
    from collectors.recorded_services import RecordedServices
    from collectors.resolve import resolve
    from collectors.scan import read_inputs
    from collectors.systemctl_show import SystemctlShow
    from diagnose.intake.recordings import renamed
    from diagnose.ranking.diagnosis import diagnose
    from diagnose.report.build import build_report, input_reports, simulations

    blocks = (Manifest, RecordedNvml, RecordedPci, RecordedServices, SystemctlShow)
    readings = renamed(read_inputs([str(folder)], block_collectors=blocks, line_collectors=(KernelLog,)), folder)
    facts = resolve(readings.facts)
    diagnosis = diagnose(runner, facts, ())
    now = datetime.now(UTC).replace(microsecond=0)
    return build_report(diagnosis, runner.knowledge, input_reports(readings.inputs), now, simulations(facts))


def _found(report: Report) -> list[ReportCause]:
    """The causes that count."""
    from diagnose.ranking.model import ESTABLISHED

    return [cause for cause in report.causes if cause.probability >= ESTABLISHED]


def verdict(report: Report, record: Record, code: ExitCode, *, simulated: bool) -> str:
    """The one line: how bad, on which host, what."""
    from diagnose.intake.recordings import unanswered

    found = _found(report)
    if found:
        word: str = max((cause.severity for cause in found), key=FAIL_ON.index)
        roots = [cause for cause in found if cause.explained_by is None] or found
        text = "; ".join(_sentence(cause) for cause in roots[:_NAMED])
        if len(found) > len(roots[:_NAMED]):
            text += f"; and {len(found) - len(roots[:_NAMED])} more"
    elif code is ExitCode.INCOMPLETE:
        word, text = "unknown", f"nothing found in what answered; {'; '.join(unanswered(record)[:_NAMED])}"
    else:
        word, text = "ok", f"{_plural(_gpus(record), 'GPU')}, nothing found"
        lacked = [report_.name for report_ in record.recorders if report_.lacked]
        if lacked:
            text += f" (without full rights to read: {', '.join(lacked)})"
    host = f"{record.host} (simulated)" if simulated else record.host
    return " ".join(f"{word}: {host}: {text}".split())


def _sentence(cause: ReportCause) -> str:
    from diagnose.report.numbers import percent

    where = [subject.split("/", 1)[1] for subject in cause.subjects if "/" in subject]
    named = f" ({', '.join(where[:_NAMED])}{', ...' if len(where) > _NAMED else ''})" if where else ""
    return f"{cause.title}{named} [{cause.id}, {percent(cause.probability)}]"


def _gpus(record: Record) -> int:
    return sum(report.name.startswith("nvml-gpu-") for report in record.recorders)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
