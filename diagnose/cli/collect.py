"""`diagnose collect`: a recording of this machine, as a bundle or a folder."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import click

from diagnose.cli.durations import duration as duration_type
from diagnose.cli.durations import interval as interval_type
from diagnose.cli.exit_codes import ExitCode

_BUNDLE_ENDING = ".tar.zst"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help=f"A bundle where it ends in {_BUNDLE_ENDING}, else a folder.  [default: HOST-TIME{_BUNDLE_ENDING}]",
)
@click.option("--duration", type=duration_type, default="1s", show_default=True, help="How long to watch.")
@click.option("--interval", type=interval_type, default="1s", show_default=True, help="Time between readings.")
@click.option("--symptom", "symptoms", multiple=True, metavar="ID", help="A symptom that you see; may be repeated.")
def collect(output: Path | None, duration: float, interval: float, symptoms: tuple[str, ...]) -> ExitCode:
    """Record this machine, so that `diagnose analyze` gives the same causes elsewhere.

    Only reads; changes nothing and runs no load. Ctrl-C ends it early and keeps what there is. While it records, and
    where it is killed, the recording is a folder beside the bundle, PATH.partial, which can be analysed too.
    """
    from collectors.live.base import Window
    from diagnose.cli.live import lacks, machine, record_machine

    recorded = machine()
    target = output or Path(f"{recorded.host()}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}{_BUNDLE_ENDING}")
    packed = target.name.endswith(_BUNDLE_ENDING)
    if packed and target.exists():
        raise click.UsageError(f"{target} exists already")
    folder = _new_folder(target.with_name(f"{target.name}.partial") if packed else target)
    record, stopped = record_machine(folder, recorded, Window(duration, interval), symptoms, verbose=True)
    if packed:
        from diagnose.bundle.write import write_bundle

        write_bundle(folder, target)
        shutil.rmtree(folder)
    for sentence in lacks(record):
        click.echo(f"Not read: {sentence}", err=True)
    if recorded.simulated is not None:
        click.echo(f"Simulated: {recorded.simulated}", err=True)
    click.echo(str(target))
    return ExitCode.INTERRUPTED if stopped else ExitCode.NOTHING_FOUND


def _new_folder(path: Path) -> Path:
    """The folder, made now and for this user only. An old recording is not mixed with a new one."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise click.UsageError(f"{path} exists already")
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path
