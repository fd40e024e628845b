"""Writes many small files of /proc and /sys into one text file, in the format of `collectors.recorded_tree`."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from collectors.live.base import Folder

TITLE = "=== recorded tree 1: "
ENTRY = "@ "
CONTENT = "|"
FILE_LIMIT_BYTES = 1 << 20
"""Nothing that is read this way is larger; what is, is cut off at a line's end."""

_SILENT = {errno.ENOENT, errno.ENOTDIR, errno.ESRCH}
_DENIED = {errno.EACCES, errno.EPERM}


class TreeWriter:
    """One file of a recording. Paths are given without the leading slash and read below the folder's root.

    Attributes:
        denied: paths that could not be read for want of privilege.
    """

    def __init__(self, folder: Folder, subject: str, name: str = "tree.txt") -> None:
        self._folder = folder
        self._name = name
        self.root = folder.root
        self.denied: list[str] = []
        folder.append(name, f"{TITLE}{subject}")

    def read(self, path: str, *, timed: bool = False, keep: Callable[[str], bool] | None = None) -> str | None:
        """Record a text file, or only the lines that `keep` is true for; its text, None where it cannot be read.

        A file that does not exist leaves no entry. `timed` is for counters that are read several times.
        """
        data = self._bytes(path)
        if data is None:
            return None
        text = data.decode("utf-8", "surrogateescape")
        lines = [line for line in text.split("\n") if keep is None or keep(line)]
        self.note(path, lines, timed=timed)
        return "\n".join(lines)

    def read_hexadecimal(self, path: str) -> int | None:
        """Record a binary file, such as the configuration space of a PCI device; its size, None where unreadable."""
        data = self._bytes(path)
        if data is None:
            return None
        self.note(path, [data[at : at + 32].hex() for at in range(0, len(data), 32)])
        return len(data)

    def link(self, path: str) -> str | None:
        """Record where a symbolic link leads; its target as it is written, None where there is none."""
        try:
            target = str((self.root / path).readlink())
        except OSError as error:
            self._failed(path, error)
            return None
        self._folder.append(self._name, f"{ENTRY}{path} -> {target}")
        return target

    def note(self, path: str, lines: list[str], *, what: str | None = None, timed: bool = False) -> None:
        """Record lines for a path; `what` says what they are where they are not the file's content."""
        mark = f" ({what})" if what else ""
        stamp = f" at {time.time():.3f}" if timed else ""
        while lines and not lines[-1]:
            lines = lines[:-1]
        body = "".join(f"\n{CONTENT}{line}" for line in lines)
        self._folder.append(self._name, f"{ENTRY}{path}{mark}{stamp}{body}")

    def note_error(self, path: str, code: str) -> None:
        """Record why there is no content."""
        self._folder.append(self._name, f"{ENTRY}{path} !{code}")

    def space(self, path: str) -> None:
        """Record size and free space of the file system at a path. A stand-in tree has none of its own."""
        if self.root != Path("/"):
            return
        try:
            state = os.statvfs(self.root / path)
        except OSError as error:
            self._failed(path, error)
            return
        sizes = {"size": state.f_blocks, "free": state.f_bfree, "available": state.f_bavail}
        self.note(path, [f"{name}_bytes {blocks * state.f_frsize}" for name, blocks in sizes.items()], what="space")

    def names(self, path: str) -> list[str]:
        """Names in a folder, sorted; nothing is recorded."""
        try:
            return sorted(entry.name for entry in (self.root / path).iterdir())
        except OSError as error:
            if error.errno in _DENIED:
                self.denied.append(path)
            return []

    def folders(self, path: str, prefix: str = "") -> Iterator[str]:
        """Paths of what a folder holds, numbers in their order, by the beginning of the name."""
        names = [name for name in self.names(path) if name.startswith(prefix)]
        for name in sorted(names, key=lambda name: (len(name), name) if prefix else (0, name)):
            yield f"{path}/{name}"

    def exists(self, path: str) -> bool:
        """Whether something stands at the path."""
        return os.path.lexists(self.root / path)

    def _bytes(self, path: str) -> bytes | None:
        try:
            with (self.root / path).open("rb") as file:
                data = file.read(FILE_LIMIT_BYTES)
        except OSError as error:
            self._failed(path, error)
            return None
        return data if len(data) < FILE_LIMIT_BYTES else data[: data.rfind(b"\n") + 1]

    def _failed(self, path: str, error: OSError) -> None:
        if error.errno in _SILENT:
            return
        if error.errno in _DENIED:
            self.denied.append(path)
        self.note_error(path, errno.errorcode.get(error.errno or 0, "EIO"))
