"""`diagnose collect`: a recording of this machine, as a bundle or a folder."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import click

from diagnose.cli.durations import duration as duration_type
from diagnose.cli.durations import interval as interval_type
from diagnose.cli.exit_codes import ExitCode
from diagnose.cli.output import remark

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
@click.option("--no-redact", is_flag=True, help="Leave names, addresses and serial numbers in the bundle.")
@click.option(
    "--key-file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Equal names get equal stand-ins in all bundles made with this key. [default: a key for this bundle alone]",
)
def collect(
    output: Path | None,
    duration: float,
    interval: float,
    symptoms: tuple[str, ...],
    no_redact: bool,
    key_file: Path | None,
) -> ExitCode:
    """Record this machine, so that `diagnose analyze` gives the same causes elsewhere.

    Only reads; changes nothing and runs no load. A bundle has stand-ins for what names people and machines; a folder is
    left as it was read. Ctrl-C ends it early and keeps what there is. While it records, and where it is killed, the
    recording is a folder beside the bundle, PATH.partial, which can be analysed too.

    Exit code 3 says that a part of the machine did not answer, or that no GPU was read.
    """
    from diagnose.bundle.errors import BundleError
    from diagnose.bundle.pseudonyms import random_key, read_key
    from diagnose.cli.live import machine, record_machine, window_of
    from diagnose.intake.recordings import lacks, unanswered

    if symptoms:
        from diagnose.cli.symptoms import check_symptoms
        from diagnose.knowledge.loader import load_knowledge

        # Better now than after the recording.
        check_symptoms(symptoms, load_knowledge())
    try:
        key = None if no_redact else (read_key(key_file) if key_file is not None else random_key())
    except BundleError as error:
        raise click.UsageError(str(error)) from error
    recorded = machine()
    target = output or Path(_default_name(recorded.host(), key))
    packed = target.name.endswith(_BUNDLE_ENDING)
    if packed and target.exists():
        raise click.UsageError(f"{target} exists already")
    folder = _new_folder(target.with_name(f"{target.name}.partial") if packed else target)
    record, stopped = record_machine(folder, recorded, window_of(duration, interval), symptoms, verbose=True)
    for sentence in lacks(record):
        remark(f"Not read: {sentence}")
    if recorded.simulated is not None:
        remark(f"Simulated: {recorded.simulated}")
    if packed:
        _pack(folder, target, key)
    click.echo(str(target))
    if stopped:
        return ExitCode.INTERRUPTED
    return ExitCode.INCOMPLETE if unanswered(record) else ExitCode.NOTHING_FOUND


def _default_name(host: str, key: bytes | None) -> str:
    """A name for the bundle. That of a redacted one does not name the host either."""
    from diagnose.bundle.pseudonyms import Pseudonyms

    shown = host if key is None else Pseudonyms(key).host(host)
    return f"{shown}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}{_BUNDLE_ENDING}"


def _pack(folder: Path, target: Path, key: bytes | None) -> None:
    """Make the bundle and remove the folder, which stays where that fails."""
    from diagnose.bundle.errors import BundleError
    from diagnose.bundle.redact import NOT_REDACTED, redact
    from diagnose.bundle.write import write_bundle
    from diagnose.cli.progress import Progress

    try:
        if key is None:
            write_bundle(folder, target)
            remark(NOT_REDACTED)
        else:
            with Progress(sys.stderr) as progress:
                redact(folder, target, key, progress)
    except BundleError as error:
        raise click.ClickException(f"{error}; the recording is left in {folder}") from error
    shutil.rmtree(folder)


def _new_folder(path: Path) -> Path:
    """The folder, made now and for this user only. An old recording is not mixed with a new one."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise click.UsageError(f"{path} exists already")
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path
