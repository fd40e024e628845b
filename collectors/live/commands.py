"""Outputs of programs that operators know, as they print them, beside what is read directly."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar, NamedTuple

from collectors.live.base import Folder, Recorder, Window
from collectors.live.programs import Output, command_line, find_program, run_program

STAND_IN = "DIAGNOSE_COMMANDS"
"""Variable that names a folder of outputs to take in place of running programs."""
_AT_ONCE = 4


class Invocation(NamedTuple):
    """A program with its arguments."""

    program: str
    arguments: tuple[str, ...]
    limit_seconds: float = 10.0

    @property
    def file(self) -> str:
        """Name of the file that holds the output."""
        words = [word.strip("-/").replace("/", "-") for word in (self.program, *self.arguments)]
        return "-".join(word for word in words if word) + ".txt"


_ALWAYS = (
    Invocation("nvidia-smi", (), 20.0),
    Invocation("nvidia-smi", ("-q",), 20.0),
    Invocation("nvidia-smi", ("topo", "-m"), 20.0),
    Invocation("nvidia-smi", ("topo", "-p2p", "r"), 20.0),
    Invocation("nvidia-smi", ("nvlink", "-s"), 20.0),
    Invocation("nvidia-smi", ("nvlink", "-e"), 20.0),
    Invocation("lspci", ("-vvv",), 15.0),
    Invocation("lscpu", ()),
    Invocation("df", ("-k", "/", "/dev/shm")),
    Invocation("ibstat", ()),
    Invocation("ibv_devinfo", ("-v",)),
)
"""What numactl prints is read from sysfs by the host recorder, and a node told twice would be counted twice."""
_COUNTERS = "-S"
_FOR_INTERFACE = ((), (_COUNTERS,), ("-g",), ("-a",), ("-i",), ("-l",), ("-c",))


class Commands(Recorder):
    """Outputs of nvidia-smi, lspci, ethtool and their kind."""

    name: ClassVar[str] = "commands"
    title: ClassVar[str] = "outputs of nvidia-smi, lspci, ibstat, ethtool and others"
    directory: ClassVar[str] = "commands"
    time_limit_seconds: ClassVar[float] = 45.0

    def record(self, folder: Folder, window: Window) -> None:
        """Run what is installed, a few at once, each with its own limit; counters once more when the window ends."""
        if STAND_IN in os.environ:
            _copy(folder, Path(os.environ[STAND_IN]))
            return
        if folder.root != Path("/"):
            folder.absent("A stand-in tree is read, of which programs know nothing")
            return
        of_interfaces = tuple(_for_interfaces(folder.root))
        counters = tuple(item for item in of_interfaces if _COUNTERS in item.arguments)
        readings = (((*_ALWAYS, *of_interfaces), ""), (counters, "-again"))
        for (wanted, ending), _ in zip(readings, window.ends(), strict=True):
            _run(folder, wanted, ending)


def _run(folder: Folder, wanted: Sequence[Invocation], ending: str) -> None:
    found = [(item, program) for item in wanted if (program := find_program(item.program)) is not None]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        outputs = pool.map(lambda pair: run_program(pair[1], pair[0].arguments, pair[0].limit_seconds), found)
        for (item, _), output in zip(found, outputs, strict=True):
            _write(folder, item, output, ending)


def _copy(folder: Folder, outputs: Path) -> None:
    """Outputs that a scenario brings."""
    paths = sorted(outputs.glob("*.txt")) if outputs.is_dir() else []
    if not paths:
        folder.absent("The scenario brings no outputs of programs")
    for path in paths:
        text = path.read_text(encoding="utf-8")
        folder.write(path.name, text if text.startswith("$ ") else f"$ {path.stem.replace('-', ' ')}\n{text}")


def _for_interfaces(root: Path) -> Iterator[Invocation]:
    """ethtool for every interface that is a device."""
    folder = root / "sys/class/net"
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    for name in names:
        if not (folder / name / "device").exists() or not name.replace("_", "").replace("-", "").isalnum():
            continue
        for option in _FOR_INTERFACE:
            yield Invocation("ethtool", (*option, name))


def _write(folder: Folder, item: Invocation, output: Output, ending: str) -> None:
    line = command_line(item.program, item.arguments)
    if output.status is None:
        folder.incomplete(f"{line} did not end within {item.limit_seconds:.0f} s")
    if output.cut_off:
        folder.incomplete(f"{line} printed more than can be kept")
    if output.text.strip():
        folder.write(f"{item.file.removesuffix('.txt')}{ending}.txt", f"$ {line}\n{output.text}")
