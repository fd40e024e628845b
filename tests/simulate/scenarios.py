"""Recordings of the scenarios, each made once in a run of the tests."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

from collectors.live.base import Window
from collectors.live.record import Machine, Record
from collectors.live.run import Collection
from diagnose.cli.check import RECORDERS
from diagnose.simulate.build import BuildError, library_folder
from diagnose.simulate.environment import load_scenario


def _without_compiler() -> str | None:
    try:
        library_folder()
    except BuildError as error:
        return str(error)
    return None


NEEDS_LIBRARY = pytest.mark.skipif(_without_compiler() is not None, reason=str(_without_compiler()))


def python(scenario: str, program: str, limit_seconds: float = 20) -> str:
    """What a program prints that runs with the scenario's library."""
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=dict(load_scenario(scenario).environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=limit_seconds,
    )
    return result.stdout + result.stderr


@cache
def recorded(scenario: str) -> tuple[Path, Record]:
    """The folder of a recording of what `diagnose check` reads, and its record."""
    folder = Path(tempfile.mkdtemp(prefix=f"recorded-{scenario}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    found = load_scenario(scenario)
    machine = Machine(found.root, found.name, dict(found.environment), found.commands)
    window = Window(0.2, 0.1)
    return folder, Collection(Record(folder, machine, window, "0"), machine, window).run(RECORDERS)
