"""Ranks that ended before the others, as torchrun, srun and mpirun tell it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from collectors.base import Line, LineCollector, Parsed
from diagnose.facts import Fact, Subject
from diagnose.facts.hang import ProcessExit

_TORCHRUN = re.compile(
    r"\bfailed \(exitcode: (?P<code>-?\d{1,4})\) local_rank: (?P<local>\d{1,4}) \(pid: (?P<pid>\d{1,10})\)"
)
_SRUN = re.compile(
    r"\bsrun: error: (?P<host>[\w.-]{1,100}): tasks? (?P<rank>\d{1,7})\b[\d,-]*: "
    r"(?:Exited with exit code (?P<code>\d{1,3})|(?P<word>Killed|Segmentation fault|Bus error|Aborted|Terminated"
    r"|Out Of Memory))"
)
_MPIRUN = re.compile(
    r"process rank (?P<rank>\d{1,7}) with PID (?P<pid>\d{1,10}) on node (?P<host>\S{1,100}) exited on signal "
    r"(?P<signal>\d{1,3})"
)
_SIGNALS = {"Killed": 9, "Out Of Memory": 9, "Segmentation fault": 11, "Bus error": 7, "Aborted": 6, "Terminated": 15}
_FIRST_OF_A_SIGNAL = 128
"""A shell reports the end by signal n as code 128 + n."""


@dataclass(frozen=True, slots=True)
class _Exit:
    number: int
    launcher: str
    subject: Subject
    code: int | None
    signal: int | None


class JobExit(LineCollector):
    """The first end that no signal from outside brought about: the others follow from it."""

    kind: ClassVar[str] = "job-exit"
    literals: ClassVar[tuple[bytes, ...]] = (b"failed (exitcode: ", b"srun: error: ", b" exited on signal ")

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._exits: list[_Exit] = []
        self._count = 0

    def feed(self, line: Line, host: str | None) -> bool:
        """Take a line that names a rank's end."""
        found = _read(line, host)
        if found is None:
            return False
        self._count += 1
        if len(self._exits) < 10_000:
            self._exits.append(found)
        return True

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """One fact: a job is torn down by SIGTERM and SIGABRT, which tell nothing of the beginning."""
        own = [item for item in self._exits if item.signal not in (6, 15)] or self._exits
        return Parsed([self._fact(own[0])] if own else [])

    def _fact(self, item: _Exit) -> Fact:
        return ProcessExit(
            subject=item.subject,
            sources=(self.source(item.number),),
            launcher=item.launcher,
            exit_code=item.code,
            signal=item.signal,
            count=self._count,
        )


def _read(line: Line, host: str | None) -> _Exit | None:
    if match := _TORCHRUN.search(line.text):
        code = int(match["code"])
        # The local rank is no rank of the job and not for certain the GPU's index.
        subject = Subject(host=host, process_id=int(match["pid"]))
        return _Exit(line.number, "torchrun", subject, *_ended(code))
    if match := _SRUN.search(line.text):
        subject = Subject(host=match["host"], rank=int(match["rank"]))
        ended = (None, _SIGNALS[match["word"]]) if match["word"] else _ended(int(match["code"]))
        return _Exit(line.number, "srun", subject, *ended)
    if match := _MPIRUN.search(line.text):
        subject = Subject(host=match["host"], rank=int(match["rank"]), process_id=int(match["pid"]))
        return _Exit(line.number, "mpirun", subject, None, int(match["signal"]))
    return None


def _ended(code: int) -> tuple[int | None, int | None]:
    """Exit code or signal: torchrun tells signals as negative codes, shells as 128 and more."""
    if code < 0:
        return None, -code
    if _FIRST_OF_A_SIGNAL < code < _FIRST_OF_A_SIGNAL + 65:
        return None, code - _FIRST_OF_A_SIGNAL
    return code, None
