from __future__ import annotations

import pytest

from collectors.job_exit import JobExit
from diagnose.facts.hang import ProcessExit
from tests.collectors.helpers import damaged, feed

TORCHRUN = (
    "E0103 10:00:00.1 88 api.py:869] failed (exitcode: -9) local_rank: 2 (pid: 4242) of binary: /opt/py/bin/python\n"
)
SRUN = """\
srun: error: gpu-b: tasks 8-15: Terminated
srun: error: gpu-a: task 3: Exited with exit code 139
srun: error: gpu-a: tasks 0-2,4-7: Exited with exit code 143
"""
MPIRUN = "mpirun noticed that process rank 5 with PID 777 on node gpu-c exited on signal 11 (Segmentation fault).\n"


def one(text: str) -> ProcessExit:
    (fact,) = feed(JobExit, text).facts
    assert isinstance(fact, ProcessExit)
    return fact


@pytest.mark.parametrize(
    ("text", "launcher", "signal", "host"),
    [(TORCHRUN, "torchrun", 9, None), (SRUN, "srun", 11, "gpu-a"), (MPIRUN, "mpirun", 11, "gpu-c")],
)
def test_the_end_that_nobody_ordered_is_told(text: str, launcher: str, signal: int, host: str | None) -> None:
    fact = one(text)
    assert (fact.launcher, fact.signal, fact.exit_code, fact.subject.host) == (launcher, signal, None, host)


def test_lines_are_counted_and_the_rank_is_named() -> None:
    fact = one(SRUN)
    assert (fact.count, fact.subject.rank) == (3, 3)


def test_error_of_the_program_is_an_exit_code() -> None:
    fact = one("srun: error: gpu-a: task 0: Exited with exit code 1\n")
    assert (fact.exit_code, fact.signal) == (1, None)


def test_job_that_was_only_cancelled_says_so() -> None:
    assert one("srun: error: gpu-b: tasks 8-15: Terminated\n").signal == 15


def test_other_errors_of_a_launcher_are_left() -> None:
    assert feed(JobExit, "srun: error: Unable to create step for job 7: Job credential expired\n").facts == []


@pytest.mark.parametrize("text", [TORCHRUN, SRUN, MPIRUN])
def test_damaged_text_never_raises(text: str) -> None:
    for broken in damaged(text):
        feed(JobExit, broken)
