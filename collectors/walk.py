"""Finds the files behind the paths that the user names, and says why it leaves something out."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from collectors.inputs import InputReport, Status

STANDARD_INPUT = "-"


class Found(NamedTuple):
    """A file to read; the path is None for standard input."""

    path: Path | None
    name: str


_SPECIAL = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def walk(paths: Sequence[str]) -> Iterator[Found | InputReport]:
    """Files in the order of the paths, sorted within folders; a report for each that is not read."""
    walker = _Walker()
    for path in paths:
        if path == STANDARD_INPUT:
            yield Found(None, STANDARD_INPUT)
        else:
            yield from walker.named(path)


class _Walker:
    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], str] = {}

    def named(self, given: str) -> Iterator[Found | InputReport]:
        """What the user names is followed through links."""
        try:
            # Not Path(given).stat(): the empty path is no name for the current folder.
            state = os.stat(given)  # noqa: PTH116
            path = Path(given)
            root = path.resolve()
        except (OSError, ValueError, RuntimeError) as error:
            yield _report(given, Status.UNREADABLE, _words(error))
            return
        if stat.S_ISDIR(state.st_mode):
            yield from self._folder(path, given, root)
        else:
            yield from self._file(path, given, state)

    def _folder(self, folder: Path, name: str, root: Path) -> Iterator[Found | InputReport]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            yield _report(name, Status.UNREADABLE, _words(error), kind="folder")
            return
        if not entries:
            yield _report(name, Status.SKIPPED, "The folder is empty", kind="folder")
        for entry in entries:
            yield from self._entry(folder / entry.name, f"{name.rstrip('/')}/{entry.name}", root)

    def _entry(self, path: Path, name: str, root: Path) -> Iterator[Found | InputReport]:
        if path.name.startswith("."):
            yield _report(name, Status.SKIPPED, "Hidden files are not read; name the file to read it")
            return
        try:
            if path.is_symlink():
                target = path.resolve(strict=True)
                if not target.is_relative_to(root):
                    yield _report(name, Status.SKIPPED, "The symbolic link leads out of the folder")
                    return
                if target.is_dir():
                    yield _linked_folder(path, name, target)
                    return
            state = path.stat()
        except (OSError, RuntimeError) as error:
            yield _report(name, Status.UNREADABLE, _words(error))
            return
        if stat.S_ISDIR(state.st_mode):
            yield from self._folder(path, name, root)
        else:
            yield from self._file(path, name, state)

    def _file(self, path: Path, name: str, state: os.stat_result) -> Iterator[Found | InputReport]:
        for test, words in _SPECIAL:
            if test(state.st_mode) and not _handed_over(path, state):
                yield _report(name, Status.SKIPPED, f"This is {words}, not a file")
                return
        identity = (state.st_dev, state.st_ino)
        if identity in self._seen:
            yield _report(name, Status.SKIPPED, f"The same file is read as {self._seen[identity]} already")
            return
        self._seen[identity] = name
        yield Found(path, name)


def _handed_over(path: Path, state: os.stat_result) -> bool:
    """Whether it is a pipe that the shell opened for this process, as `<(command)` does: it has a writer and an end."""
    return stat.S_ISFIFO(state.st_mode) and path.resolve().parent == Path(f"/proc/{os.getpid()}/fd")


def _linked_folder(path: Path, name: str, target: Path) -> InputReport:
    if path.parent.resolve().is_relative_to(target):
        return _report(name, Status.UNREADABLE, "The symbolic link leads back to a folder above: a loop", kind="folder")
    detail = f"The symbolic link leads to {target.name} in the same folder, which is read where it lies"
    return _report(name, Status.SKIPPED, detail, kind="folder")


def _words(error: Exception) -> str:
    if isinstance(error, RuntimeError):
        return "Symbolic links lead in a circle"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)


def _report(name: str, status: Status, detail: str, kind: str = "file") -> InputReport:
    return InputReport(path=name, kind=kind, status=status, detail=detail)
