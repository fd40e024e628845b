"""`diagnose bundle`: look into bundles, check them, take out what names people and machines."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click

from diagnose.cli.exit_codes import ExitCode
from diagnose.cli.output import remark

_BUNDLE = click.argument("path", metavar="FILE", type=click.Path(path_type=Path))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def bundle() -> None:
    """Look into bundles, check them, redact them."""


@bundle.command()
@_BUNDLE
def show(path: Path) -> ExitCode:
    """Say what a bundle holds: where and when it was recorded, how each recorder ended, its files."""
    from diagnose.bundle.read import Bundle
    from diagnose.bundle.show import write_summary

    with _sentences():
        opened = Bundle(path)
        write_summary(opened, sys.stdout)
    return ExitCode.NOTHING_FOUND if opened.problem is None else ExitCode.INCOMPLETE


@bundle.command()
@_BUNDLE
def verify(path: Path) -> ExitCode:
    """Check that every file that the manifest lists is there and unchanged."""
    from diagnose.bundle.read import Bundle
    from diagnose.bundle.verify import verify as check

    with _sentences():
        found = check(Bundle(path))
    for problem in found.problems:
        click.echo(problem)
    click.echo(f"{found.files:,} files, {found.bytes:,} bytes: {'whole' if not found.problems else 'not whole'}")
    return ExitCode.INCOMPLETE if found.problems else ExitCode.NOTHING_FOUND


@bundle.command()
@_BUNDLE
@click.option("-o", "--output", required=True, metavar="OUT", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--key-file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Equal names get equal stand-ins in all bundles made with this key. [default: a key for this bundle alone]",
)
def redact(path: Path, output: Path, key_file: Path | None) -> ExitCode:
    """Write a bundle without what names people and machines, from a bundle, an archive, a folder or a file.

    The same diagnosis comes of it: stand-ins are consistent and keep their shape.
    """
    from diagnose.bundle.pseudonyms import read_key
    from diagnose.bundle.redact import redact as write_redacted
    from diagnose.cli.progress import Progress

    with _sentences(), _terminated_as_interrupted(), Progress(sys.stderr) as progress:
        key = read_key(key_file) if key_file is not None else None
        done = write_redacted(path, output, key, progress)
    for left_out, why in done.left_out:
        remark(f"left out: {left_out}: {why}")
    remark(f"{output}: {done.files:,} files")
    return ExitCode.NOTHING_FOUND


@contextmanager
def _sentences() -> Iterator[None]:
    from diagnose.bundle.errors import BundleError

    try:
        yield
    except BundleError as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """The signal that ends a program cleans up as Ctrl-C does."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
