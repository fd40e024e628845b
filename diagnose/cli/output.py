"""Standard output: what it is safe to write to it, and what happens when nobody reads it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click

from diagnose.printable import printable_lines


def open_closed_streams() -> None:
    """Streams that whoever started the program closed lead nowhere, or else the next files would take their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - it stays open


def accept_every_character() -> None:
    """Names of files and lines of logs may hold what the terminal's encoding lacks: such characters are escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Standard output for an answer. A reader that leaves early, as `head` does, is no error and no other exit code."""
    try:
        yield sys.stdout
        sys.stdout.flush()
    except OSError as error:
        # Python flushes once more at exit; into a broken pipe or a full disk that would be a second complaint.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def remark(text: str) -> None:
    """A sentence beside the answer, on standard error. It may quote names of files and texts of inputs."""
    click.echo(printable_lines(text), err=True)
