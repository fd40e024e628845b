"""The kernel log: from the journal, which reaches further back, else from the kernel's own buffer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from collectors.live.base import Folder, Recorder, Window
from collectors.live.programs import Output, find_program, run_program

_LINES = 100_000
_JOURNAL = ("-k", "-b", "-o", "short-iso-precise", "--no-pager", "-q", "-n", str(_LINES))
_JOURNAL_LIMIT_SECONDS = 15.0
_DMESG_LIMIT_SECONDS = 5.0
_BUFFER_LIMIT_BYTES = 32 << 20


class KernelLog(Recorder):
    """Messages of this boot."""

    name: ClassVar[str] = "kernel-log"
    title: ClassVar[str] = "the kernel log"
    directory: ClassVar[str] = "kernel-log"
    time_limit_seconds: ClassVar[float] = 25.0

    def record(self, folder: Folder, window: Window) -> None:
        """The first source that answers."""
        # Programs know nothing of a stand-in tree.
        if folder.root == Path("/") and (self._journal(folder) or self._dmesg(folder)):
            return
        try:
            text = _buffer(folder.root / "dev/kmsg")
        except PermissionError:
            folder.lacked("The kernel log needs root, or the group that may read the journal (adm or systemd-journal)")
        except OSError:
            folder.absent("There is no journal, no dmesg and no /dev/kmsg")
        else:
            folder.write("kmsg.txt", text)

    @staticmethod
    def _journal(folder: Folder) -> bool:
        program = find_program("journalctl")
        if program is None:
            return False
        output = run_program(program, _JOURNAL, _JOURNAL_LIMIT_SECONDS)
        if not _usable(output):
            return False
        folder.write("journalctl-k.txt", f"$ journalctl {' '.join(_JOURNAL)}\n{output.text}")
        return True

    @staticmethod
    def _dmesg(folder: Folder) -> bool:
        program = find_program("dmesg")
        if program is None:
            return False
        output = run_program(program, (), _DMESG_LIMIT_SECONDS)
        if output.status != 0 or not output.text.strip():
            return False
        folder.write("dmesg.txt", f"$ dmesg\n{output.text}")
        return True


def _usable(output: Output) -> bool:
    """Whether the journal gave kernel messages: without the right it prints nothing, or a hint."""
    return output.status == 0 and " kernel: " in output.text[:4000]


def _buffer(path: Path) -> str:
    """All records of /dev/kmsg, one each read; the read that would wait for the next one ends it."""
    pieces: list[bytes] = []
    size = 0
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while size < _BUFFER_LIMIT_BYTES:
            try:
                piece = os.read(descriptor, 8192)
            except BlockingIOError:
                break
            except BrokenPipeError:  # the record was overwritten before it was read: the next one follows
                continue
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
    finally:
        os.close(descriptor)
    return b"".join(pieces).decode("utf-8", "surrogateescape")
