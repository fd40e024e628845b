"""Ends a worker when the program that started it is gone, however that ended."""

from __future__ import annotations

import os
import signal
import threading


def hold(descriptor: int) -> None:
    """Watch a pipe that the other program holds open: at its end this process and those that it started are killed."""
    threading.Thread(target=_wait, args=(descriptor,), daemon=True).start()


def _wait(descriptor: int) -> None:
    while os.read(descriptor, 1):
        pass
    # In a session of its own the group is this process and what it started.
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
