"""How fast the terminal interface is: its first screen beside that of an empty application, and keys to repaint.

    python benchmarks/tui_speed.py --megabytes 300 --rows 10000

Every program runs at a terminal of 120x40 of its own. The first screen is timed from the start of the process to the
words that stand on it, in turn with an empty Textual application. A key is timed from its being written to the last
byte of what it draws. The figures are of this machine at this moment. The bar for the first screen is twice the time of
the empty application's.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
COLUMNS, LINES = 120, 40
LIMIT_SECONDS = 60.0
QUIET_SECONDS = 0.06
BAR = 2.0

_EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("READY")
Empty().run()
"""
_OURS = "from diagnose.cli.main import main; import sys; sys.argv = ['diagnose']; main()"
_VIEWER = """
import sys
from pathlib import Path
from diagnose.settings import load_settings
from diagnose.tui.app import DiagnoseApp
from diagnose.tui.jobs.raw_source import Found
from diagnose.tui.screens.raw import RawPlace, RawScreen
DiagnoseApp._begin = lambda app: app.open(RawScreen([RawPlace("log", 1, Found(Path(sys.argv[1])))]))
DiagnoseApp(load_settings()).run()
"""
_LIST = """
import sys
from datetime import UTC, datetime
from diagnose.report.model import Report, ReportCause, ReportEvidence, ReportSource
from diagnose.settings import load_settings
from diagnose.tui.app import DiagnoseApp
from diagnose.tui.model.events import Collected, Origin, OriginKind, Place, Ranked, Started
now = datetime(2026, 1, 1, tzinfo=UTC)
def piece(number):
    return ReportEvidence(
        rule="c/r", direction="for", weight=1.0, counted=True, group="r", weight_source="made up",
        text=f"GPU {number % 8} reported error {number}", subject="h/gpu/1",
        sources=(ReportSource(path="log", line=number + 1),))
cause = ReportCause(
    id="c", title="A cause", explanation="Made up.", symptoms=(), component="gpu", subjects=("h/gpu/1",),
    probability=0.9, severity="warning", root_of=(), explained_by=None, prior=0.1, prior_source="made up",
    instances=(), evidence=tuple(map(piece, range(int(sys.argv[1])))), looked_and_found_nothing=(), missing=(),
    fixes=(), references=())
report = Report(
    generated_at=now, tool_version="0", hosts=("h",), inputs=(), symptoms=(), causes=(cause,), checks=())
def begin(app):
    app.conductor.take_up([
        Started(at=now, origin=Origin(kind=OriginKind.FILES, paths=("log",))),
        Collected(at=now, purpose="diagnose", run=1, facts=(), inputs=(), parts=(), complete=True),
        Ranked(at=now, purpose="diagnose", report=report)])
    app.show(Place.CAUSES)
DiagnoseApp._begin = begin
DiagnoseApp(load_settings()).run()
"""


class Terminal:
    """A program at a terminal that a test types at."""

    def __init__(self, code: str, arguments: Sequence[str], home: Path) -> None:
        self.begun = time.perf_counter()
        self.seen = b""
        environment = os.environ | {
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_STATE_HOME": str(home / "state"),
            "PYTHONPATH": str(ROOT),
        }
        self._pid, self.descriptor = pty.fork()
        if self._pid == 0:
            os.execve(sys.executable, [sys.executable, "-c", code, *arguments], environment)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))

    def until(self, words: bytes) -> float:
        """Seconds from the start until the words are drawn."""
        while words not in self.seen:
            if time.perf_counter() - self.begun > LIMIT_SECONDS:
                raise TimeoutError(f"{words!r} never came: {self.seen[-2000:]!r}")
            self._take(1.0)
        return time.perf_counter() - self.begun

    def settle(self) -> None:
        """Wait until nothing is drawn any more."""
        while self._take(0.5):
            pass

    def key(self, key: bytes) -> float:
        """Seconds from a key to the last byte that it draws; nan where it draws nothing."""
        begin = last = time.perf_counter()
        os.write(self.descriptor, key)
        while self._take(QUIET_SECONDS if last > begin else 2.0):
            last = time.perf_counter()
        return last - begin if last > begin else float("nan")

    def end(self) -> None:
        """End the program."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self.descriptor)

    def _take(self, seconds: float) -> bool:
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.descriptor, 1 << 16)
        except OSError:
            return False
        self.seen = (self.seen + data)[-(1 << 20) :]
        return bool(data)


def first_screens(runs: int, home: Path) -> tuple[list[float], list[float]]:
    """Seconds to the first screen: of the empty application, and of ours, in turn."""
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs + 1):
        for code, words, seconds in ((_EMPTY, b"READY", found[0]), (_OURS, b"This machine", found[1])):
            terminal = Terminal(code, (), home)
            seconds.append(terminal.until(words))
            terminal.end()
    return found[0][1:], found[1][1:]  # the first run of each brings files into memory


def keys(terminal: Terminal, pressed: Sequence[tuple[str, Sequence[bytes]]], times: int) -> None:
    """Print what keys take, each pressed in turn with those that undo it."""
    for name, turn in pressed:
        seconds = sorted(terminal.key(turn[at % len(turn)]) for at in range(times))
        print(f"  {name:<24} median {1000 * median(seconds):6.1f} ms   slowest {1000 * seconds[-1]:6.1f} ms")


def search(terminal: Terminal, words: bytes, until: bytes) -> float:
    """Seconds from Enter after the words to the place that holds them."""
    for key in (b"g", b"/", words):
        os.write(terminal.descriptor, key)
        terminal.settle()
    terminal.seen, terminal.begun = b"", time.perf_counter()
    os.write(terminal.descriptor, b"\r")
    return terminal.until(until)


def write_log(path: Path, megabytes: int) -> int:
    """A log of so many megabytes; its number of lines."""
    batch = "".join(
        f"Oct 10 12:{n // 60 % 60:02d}:{n % 60:02d} node kernel: [{n:9d}.125000] eth0: message {n * 7919 % 99991}, "
        f"counted by a driver that writes more about each packet than anybody will ever read, {n * 104729 % 999983}\n"
        for n in range(20_000)
    ).encode()
    times = max(1, megabytes * 1_000_000 // len(batch))
    with path.open("wb") as file:
        for _ in range(times):
            file.write(batch)
        file.write(b"the needle\n")
    return times * 20_000 + 1


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=300, help="size of the log in the viewer")
    parser.add_argument("--rows", type=int, default=10_000, help="pieces of evidence in the list")
    parser.add_argument("--runs", type=int, default=5, help="starts of each application")
    parser.add_argument("--times", type=int, default=20, help="presses of each key")
    given = parser.parse_args()
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / "diagnose" / "tui")], check=False)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        empty, ours = first_screens(given.runs, home)
        ratio = median(ours) / median(empty)
        print(f"first screen: empty application {median(empty):.2f} s, ours {median(ours):.2f} s")
        print(f"  {ratio:.2f} times (the bar is {BAR:.0f})")
        lines = write_log(home / "log", given.megabytes)
        terminal = Terminal(_VIEWER, (str(home / "log"),), home)
        opened = terminal.until(b"of ")
        counted = terminal.until(f"{lines:,}".encode())
        print(
            f"log of {given.megabytes} MB, {lines:,} lines: shown after {opened:.2f} s, counted after {counted:.2f} s"
        )
        terminal.settle()
        moves = (
            ("down", [b"j"]),
            ("page down", [b" "]),
            ("aside", [b"l", b"h"]),
            ("last and first line", [b"G", b"g"]),
        )
        keys(terminal, moves, given.times)
        print(f"  search to the last line  {search(terminal, b'needle', f'line {lines:,}'.encode()):.2f} s")
        terminal.end()
        terminal = Terminal(_LIST, (str(given.rows),), home)
        print(f"list of {given.rows:,} rows: shown after {terminal.until(b'reported error 1'):.2f} s")
        terminal.settle()
        os.write(terminal.descriptor, b"e")
        terminal.settle()
        keys(terminal, (("down", [b"j"]), ("page down", [b"\x04"]), ("last and first", [b"G", b"g"])), given.times)
        terminal.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
