from __future__ import annotations

from typing import Any

from collectors.base import Block, Line
from collectors.gpu_burn import GpuBurn
from tests.collectors.helpers import block, damaged, opened

BURN = """\
Burning for 60 seconds.
10.0%  proc'd: 0 (0 Gflop/s) - 334 (15000 Gflop/s)   errors: 0 - 3  (WARNING!)  temps: 51 C - --
100.0%  proc'd: 2618 (15421 Gflop/s) - 2590 (12000 Gflop/s)   errors: 0 - 12  (WARNING!)  temps: 61 C - 74 C
Killing processes.. done

Tested 2 GPUs:
\tGPU 0: OK
\tGPU 1: FAULTY
"""


def facts(text: str) -> dict[tuple[str, int | None], Any]:
    return {(fact.kind, fact.subject.gpu_index): fact for fact in GpuBurn.parse(block(text)).facts}


def test_verdicts_and_errors_of_each_gpu() -> None:
    found = facts(BURN)
    assert found["diagnostic-result", 0].outcome == "pass"
    faulty = found["diagnostic-result", 1]
    assert (faulty.outcome, faulty.code, faulty.value) == ("fail", "wrong-results", 15.0)


def test_the_last_rate_and_the_highest_temperature_count() -> None:
    found = facts(BURN)
    assert found["compute-rate", 0].flops_per_second == 15421e9
    assert round(found["compute-rate", 1].to_median_ratio, 2) == 0.88
    assert found["gpu-temperature", 0].gpu_celsius == 61
    assert found["gpu-temperature", 1].gpu_celsius == 74


def test_progress_behind_carriage_returns_is_read() -> None:
    rows = BURN.splitlines()
    joined = Block("x.log", [Line(1, "\r".join(rows[1:3])), *[Line(n, row) for n, row in enumerate(rows[3:], start=2)]])
    found = {(fact.kind, fact.subject.gpu_index): fact for fact in GpuBurn.parse(joined).facts}
    assert found["diagnostic-result", 1].values()["value"] == 15.0


def test_a_run_that_died_is_no_verdict() -> None:
    (fact,) = GpuBurn.parse(block("Burning for 10 seconds.\nNo clients are alive!  Aborting\n")).facts
    assert (fact.values()["outcome"], fact.subject.gpu_index) == ("error", None)


def test_its_lines_open() -> None:
    assert opened(GpuBurn, BURN)[0] == "Burning for 60 seconds."
    assert opened(GpuBurn, "Tested on 2 GPUs\n") == []


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(BURN):
        GpuBurn.parse(block(text))
