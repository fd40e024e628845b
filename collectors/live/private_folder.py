"""A temporary folder that is gone when the program is, even where the program is killed.

The folder belongs to a small process of its own, which waits for the end of its standard input and removes it. Run as
a script, this file is that process.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_REMOVAL_SECONDS = 10.0
_QUIET_SECONDS = 1.0
"""How long the folder of a killed program must stay away: a worker that just begins may make it anew before it ends."""


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """An empty folder that only this user can read. Raises OSError where there is no place for one."""
    keeper = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    try:
        path = os.fsdecode(keeper.stdout.readline().rstrip(b"\n"))
        if not path:
            raise OSError(0, "no temporary folder can be made", tempfile.gettempdir())
        yield Path(path)
    finally:
        with contextlib.suppress(OSError):
            keeper.stdin.write(b"ended")
            keeper.stdin.close()
        keeper.stdout.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            keeper.wait(_REMOVAL_SECONDS)


def _keep() -> None:
    folder = tempfile.mkdtemp(prefix="diagnose-")
    try:
        sys.stdout.buffer.write(os.fsencode(folder) + b"\n")
        sys.stdout.buffer.flush()
        quiet = 0.0 if sys.stdin.buffer.read() else _QUIET_SECONDS
    except BaseException:
        quiet = _QUIET_SECONDS
    # Workers of a killed program may still write while they are being killed themselves.
    begin = seen = time.monotonic()
    while seen - begin < _REMOVAL_SECONDS:
        if Path(folder).exists():
            shutil.rmtree(folder, ignore_errors=True)
            seen = time.monotonic()
        elif time.monotonic() - seen >= quiet:
            break
        time.sleep(0.02)


if __name__ == "__main__":
    _keep()
