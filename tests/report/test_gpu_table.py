"""The table of GPUs with bars."""

from __future__ import annotations

from diagnose.facts import Fact, Source, Subject
from diagnose.facts.gpu import GpuLoad, GpuMemory, GpuPower, GpuTemperature
from diagnose.report.gpu_table import gpu_gauges, gpu_table

SOURCE = (Source(path="q.txt", line=1),)


def of(gpu: int) -> Subject:
    return Subject(host="node-a", gpu_index=gpu)


FACTS: list[Fact] = [
    GpuLoad(subject=of(0), sources=SOURCE, gpu_utilization_ratio=0.1),
    GpuLoad(subject=of(0), sources=SOURCE, gpu_utilization_ratio=1.0),
    GpuMemory(subject=of(0), sources=SOURCE, total_bytes=80 * 2**30, used_bytes=40 * 2**30),
    GpuTemperature(subject=of(0), sources=SOURCE, gpu_celsius=45, slowdown_celsius=90),
    GpuPower(subject=of(0), sources=SOURCE, draw_watts=700, limit_watts=700),
    GpuTemperature(subject=of(1), sources=SOURCE, gpu_celsius=70),
    GpuLoad(subject=of(2), sources=SOURCE, performance_state=0),
]


def test_bars_are_shares_of_limits_from_the_last_reading() -> None:
    rows = gpu_table(gpu_gauges(FACTS), 76, "utf-8")
    assert rows[0].split() == ["GPU", "busy", "memory", "temperature", "power"]
    assert rows[1].split() == [
        "0", "██████████", "100%", "█████.....", "40.0G", "█████.....", "45", "C", "██████████", "700", "W",
    ]  # fmt: skip


def test_what_is_not_told_is_no_zero_and_without_a_limit_there_is_no_bar() -> None:
    row = gpu_table(gpu_gauges(FACTS), 76, "utf-8")[2]
    assert row.split() == ["1", "not", "told", "not", "told", "70", "C", "not", "told"]


def test_a_gpu_of_which_nothing_is_told_is_left_out() -> None:
    assert list(gpu_gauges(FACTS)) == [0, 1]


def test_no_line_is_wider_than_asked_and_ascii_is_kept() -> None:
    for width in (52, 66, 80, 200):
        rows = gpu_table(gpu_gauges(FACTS), width, "ascii")
        assert all(len(row) <= width and row.isascii() for row in rows)
