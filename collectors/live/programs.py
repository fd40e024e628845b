"""Runs other programs: found on PATH, with fixed arguments, no shell, English output, limits on time and size."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

OUTPUT_LIMIT_BYTES = 32 << 20
_ELSEWHERE = ("/usr/sbin", "/sbin", "/usr/local/sbin", "/opt/mellanox/iproute2/sbin")
"""Where system programs lie that an ordinary user's PATH leaves out."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a program printed."""

    text: str
    status: int | None
    """None where it was stopped at its time limit."""
    cut_off: bool = False


def find_program(name: str) -> str | None:
    """The program's full path; None where it is not installed."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *_ELSEWHERE]))


def run_program(program: str, arguments: Sequence[str], limit_seconds: float) -> Output:
    """Run a program to its end or its limit. Standard error is part of the output: it says what was not possible."""
    # A file and not a pipe, so that a program that never stops printing costs no memory.
    with tempfile.TemporaryFile() as file:
        process = subprocess.Popen(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=os.environ | {"LC_ALL": "C", "TERM": "dumb", "PAGER": "cat"},
            cwd="/",
        )
        # Nor does it fill the disk: the kernel ends it a little above the limit.
        largest = OUTPUT_LIMIT_BYTES + 1
        with contextlib.suppress(OSError):
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest, largest))
        try:
            status: int | None = process.wait(limit_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            status = None
        file.seek(0)
        data = file.read(largest)
    cut_off = len(data) > OUTPUT_LIMIT_BYTES
    return Output(data[:OUTPUT_LIMIT_BYTES].decode("utf-8", "surrogateescape"), status, cut_off)


def command_line(name: str, arguments: Sequence[str]) -> str:
    """The command as people would type it."""
    return " ".join([Path(name).name, *arguments])
