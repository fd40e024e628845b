"""The real program in a real terminal: tmux types its keys, reads its screen, resizes it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "demo"
LIMIT_SECONDS = 60.0


class Terminal:
    """A tmux server of its own with one shell."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "tmux")
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        shell = "echo shell-is-there; exec sh"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", shell)

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", self._socket, *arguments]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True, check=True).stdout

    def type(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        self._tmux("send-keys", *keys)

    def resize(self, width: int, height: int) -> None:
        """Make the window another size."""
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def screen(self) -> str:
        """What stands on the screen."""
        return self._tmux("capture-pane", "-p")

    def until(self, *words: str) -> str:
        """The screen, once all the words stand on it; it may be caught while it is being drawn."""
        end = time.monotonic() + LIMIT_SECONDS
        while not all(word in (shown := self.screen()) for word in words):
            assert time.monotonic() < end, f"{words} never came:\n{shown}"
            time.sleep(0.1)
        return shown

    def alternate(self) -> bool:
        """Whether a full-screen program has the terminal."""
        return self._tmux("display-message", "-p", "#{alternate_on}").strip() == "1"

    def close(self) -> None:
        """End the server with all that runs in it."""
        self._tmux("kill-server")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    yield made
    made.close()


def test_the_program_runs_in_tmux_follows_a_resize_and_gives_the_terminal_back(terminal: Terminal) -> None:
    program = f"{sys.executable} -m diagnose.cli.main tui {DEMO}; echo ended with $?"
    terminal.until("shell-is-there")
    terminal.type(program, "Enter")
    terminal.until("What do you notice?")
    assert terminal.alternate()
    terminal.until("A GPU or its driver is faulty")

    terminal.type("G", "Enter")
    terminal.until("An NVLink or an NVSwitch port failed")
    terminal.resize(80, 24)
    terminal.type("4")
    shown = terminal.until("Causes, most probable first", "CRITICAL An NVLink or an NVSwitch port", "? Help")
    assert max(map(len, shown.splitlines())) <= 80

    terminal.type("?")
    terminal.until("Keys that work here")
    terminal.type("Escape")
    terminal.until("? Help")
    terminal.type("q")
    terminal.until("The session is saved. To go on: diagnose tui --resume", "ended with 0")
    assert not terminal.alternate()
    terminal.type("echo typed-$((40 + 2))", "Enter")
    terminal.until("typed-42")


def test_without_a_terminal_the_help_is_printed() -> None:
    command = [sys.executable, "-m", "diagnose.cli.main"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)

    assert ended.returncode == 2
    assert "Usage: diagnose" in ended.stderr
    assert ended.stdout == ""


def test_the_interface_needs_a_terminal_and_says_what_does_not() -> None:
    command = [sys.executable, "-m", "diagnose.cli.main", "tui", str(DEMO)]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)

    assert ended.returncode == 2
    assert "`diagnose analyze` gives the answer as text" in ended.stderr
