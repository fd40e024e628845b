"""What a scenario puts in place of the machine: environment of the workers, root of /proc and /sys, commands."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from diagnose.simulate.build import library_folder

SCENARIOS = Path(__file__).parent / "scenarios"
_CONFIGURATION = "nvml.conf"
_ROOT = "root"
_COMMANDS = "commands"
_LIBRARY = "library"
_FILES = "files"
_ANSWERS = "answers"
_AFTER = "after"


class UnknownScenarioError(Exception):
    """No scenario has this name; the text lists those that there are."""


@dataclass(frozen=True)
class Scenario:
    """A simulated machine."""

    name: str
    title: str
    """One sentence: its first line of comment."""
    root: Path
    """Stands for `/` wherever /proc, /sys, /etc or /dev is read; may not exist, then there is nothing to read."""
    commands: Path
    """Folder of outputs, `<command-with-dashes>.txt`, in place of what commands would print; may not exist."""
    files: Path
    """Folder of what users of the machine keep, such as logs of jobs and tables of latencies; may not exist."""
    environment: Mapping[str, str] = field(repr=False)
    """Environment of the worker processes."""


def scenario_names() -> list[str]:
    """Every scenario, in alphabetical order."""
    return sorted(path.parent.name for path in SCENARIOS.glob(f"*/{_CONFIGURATION}"))


def scenario_title(name: str) -> str:
    """What a scenario is, in one sentence."""
    first = (SCENARIOS / name / _CONFIGURATION).read_text(encoding="utf-8").partition("\n")[0]
    return first.lstrip("# ").strip()


def load_scenario(name: str, *, repaired: bool = False) -> Scenario:
    """A scenario, its library built. Raises UnknownScenarioError and BuildError.

    `repaired` asks for the machine as it is once its fault was cured, which the folder `after` of a scenario holds;
    without one, nothing that is done to it helps.
    """
    names = scenario_names()
    if name not in names:
        raise UnknownScenarioError(f"no scenario is called {name!r}; there are: {', '.join(names)}")
    whole = SCENARIOS / name
    after = whole / _AFTER
    folder = after if repaired and after.is_dir() else whole
    return Scenario(
        name=name,
        title=scenario_title(name),
        # What a repair does not touch stands in the scenario's own folder alone.
        root=folder / _ROOT if (folder / _ROOT).is_dir() else whole / _ROOT,
        commands=folder / _COMMANDS,
        files=folder / _FILES,
        environment=_environment(folder),
    )


def answer_of(name: str, check: str, *, repaired: bool = False) -> str | None:
    """What a check prints on a scenario's machine, None where the scenario does not tell."""
    folder = SCENARIOS / name / (_AFTER if repaired else "") / _ANSWERS
    path = folder / f"{check}.txt"
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _environment(folder: Path) -> dict[str, str]:
    """This process's environment with the stand-in ahead of any real library.

    A scenario with a folder `library` brings one of its own. That of a machine without a driver holds a file that no
    loader takes, because the system's search would otherwise find a real library.
    """
    environment = dict(os.environ)
    own = folder / _LIBRARY
    library = own if own.is_dir() else library_folder()
    searched = environment.get("LD_LIBRARY_PATH")
    environment["LD_LIBRARY_PATH"] = f"{library}{os.pathsep}{searched}" if searched else str(library)
    environment["DIAGNOSE_SIMULATION"] = str(folder / _CONFIGURATION)
    return environment
