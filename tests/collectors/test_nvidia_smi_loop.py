from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from collectors.inputs import Readings, Status
from collectors.nvidia_smi_dmon import NvidiaSmiDmon
from collectors.nvidia_smi_loop import NvidiaSmiDmonFile, NvidiaSmiQueryFile
from collectors.nvidia_smi_query import NvidiaSmiQuery
from collectors.scan import read_inputs
from collectors.telemetry_table import SAMPLED_ROWS, Sample
from diagnose.facts.gpu import GpuPower
from diagnose.facts.series import Clock, Series
from tests.collectors.helpers import block, damaged

START = datetime(2026, 2, 3, 23, 59, 50, tzinfo=UTC)
QUERY_TITLES = (
    "timestamp, index, utilization.gpu [%], power.draw [W], memory.used [MiB], clocks.current.sm [MHz], "
    "clocks_event_reasons.sw_power_cap, clocks_event_reasons_counters.sw_thermal_slowdown [us]"
)


def query(seconds: int, units: bool = True) -> str:
    rows = [QUERY_TITLES]
    for second in range(seconds):
        stamp = (START + timedelta(seconds=second)).strftime("%Y/%m/%d %H:%M:%S.250")
        for gpu in (0, 1):
            power = "[N/A]" if second == 2 else f"{300 + second + gpu}.50 W"
            cap = "Active" if second % 2 else "Not Active"
            row = f"{stamp}, {gpu}, {second % 100} %, {power}, 1024 MiB, 1980 MHz, {cap}, {second * 500000} us"
            rows.append(row if units else row.replace(" W", "").replace(" %", "").replace(" M", "").replace("Hz", ""))
    return "\n".join(rows) + "\n"


def dmon(seconds: int, dated: bool = True) -> str:
    titles = "#Date       Time        gpu    pwr  gtemp     sm    mem   mclk   pclk  rxpci\n"
    titles += "#YYYYMMDD   HH:MM:SS    Idx      W      C      %      %    MHz    MHz   MB/s\n"
    if not dated:
        titles = titles.replace("#Date       Time        gpu", "# gpu").replace("#YYYYMMDD   HH:MM:SS    Idx", "# Idx")
    rows = []
    for second in range(seconds):
        stamp = (START + timedelta(seconds=second)).strftime(" %Y%m%d   %H:%M:%S") if dated else ""
        rows += [
            f"{stamp}      {gpu}    {100 + second}     -     {second % 100}      9   2619   1980     12\n"
            for gpu in (0, 1)
        ]
        if second % 20 == 19:
            rows.append(titles)
    return titles + "".join(rows)


def only(readings: Readings | list[Series], metric: str, gpu: int = 0) -> Series:
    found = readings.series if isinstance(readings, Readings) else readings
    (one,) = (
        item for item in found if isinstance(item, Series) and item.metric == metric and item.subject.gpu_index == gpu
    )
    return one


def written(folder: Path, name: str, text: str) -> Readings:
    (folder / name).write_text(text)
    return read_inputs([str(folder / name)])


def test_a_query_in_a_loop_gives_series_with_local_times(tmp_path: Path) -> None:
    found = written(tmp_path, "gpu.csv", query(300))
    power = only(found, "gpu_power_watts", 1)
    assert (len(power), power.clock, power.values[0]) == (299, Clock.LOCAL, 301.5)
    assert power.times_seconds[0] == START.timestamp() + 0.25
    assert np.diff(power.times_seconds).tolist() == [1.0, 2.0] + [1.0] * 296
    assert only(found, "gpu_utilization_ratio").values[:3].tolist() == pytest.approx([0, 0.01, 0.02])
    assert set(only(found, "gpu_power_limited_ratio").values) == {0, 1}
    assert only(found, "gpu_thermal_limited_ratio").values.tolist() == [0.5] * 299
    assert set(only(found, "gpu_memory_used_bytes").values) == {1 << 30}
    (report,) = found.inputs
    assert (report.kind, report.status) == (NvidiaSmiQuery.kind, Status.PARSED)


def test_facts_of_a_whole_file_are_those_of_the_same_text_pasted(tmp_path: Path) -> None:
    whole = written(tmp_path, "gpu.csv", query(200))
    pasted = NvidiaSmiQuery.parse(block(query(200)))
    assert [fact.values() for fact in whole.facts] == [fact.values() for fact in pasted.facts]
    assert {fact.draw_watts for fact in whole.facts if isinstance(fact, GpuPower)} == {400.5, 401.5}
    assert len(pasted.series) == len(whole.series)


def test_a_device_monitor_with_dates_gives_series_over_midnight(tmp_path: Path) -> None:
    found = written(tmp_path, "dmon.txt", dmon(200))
    power = only(found, "gpu_power_watts")
    assert (len(power), power.clock, power.values[-1]) == (200, Clock.LOCAL, 299)
    assert power.times_seconds[0] == START.timestamp()
    assert (np.diff(power.times_seconds) == 1).all()
    assert only(found, "gpu_pcie_receive_bytes_per_second").values[0] == 12e6
    assert not [item for item in found.series if isinstance(item, Series) and "temperature" in item.metric]


def test_without_dates_times_count_from_the_first_reading() -> None:
    parsed = NvidiaSmiDmon.parse(block(dmon(30, dated=False), command="nvidia-smi dmon -d 5"))
    power = only([one for one in parsed.series if isinstance(one, Series)], "gpu_power_watts")
    assert (power.clock, power.times_seconds[:3].tolist()) == (Clock.RELATIVE, [0, 5, 10])


def test_times_without_dates_go_on_after_midnight() -> None:
    rows = ["#Time        gpu    pwr", "#HH:MM:SS    Idx      W"]
    rows += [f" {(START + timedelta(seconds=second)):%H:%M:%S}      0    {second}" for second in range(20)]
    (power,) = NvidiaSmiDmon.parse(block("\n".join(rows))).series
    assert isinstance(power, Series)
    assert np.diff(power.times_seconds).tolist() == [1.0] * 19


def test_a_file_that_goes_on_with_something_else_is_left_to_the_scanner() -> None:
    text = query(100) + "$ nvidia-smi -L\n" + "GPU 0: NVIDIA L40S\n"
    assert NvidiaSmiQueryFile.recognises(query(100).encode()[:8192], "x")
    assert not NvidiaSmiQueryFile.recognises(("$ nvidia-smi\n" + text).encode()[:8192], "x")
    assert not NvidiaSmiQueryFile.recognises(text.encode()[-8192:], "x")
    assert not NvidiaSmiDmonFile.recognises(query(100).encode()[:8192], "x")
    assert NvidiaSmiDmonFile.recognises(dmon(100).encode()[:8192], "x")


@pytest.mark.parametrize("gpus", [1, 2, 4, 8, 16])
def test_the_sample_of_a_long_file_holds_every_gpu_alike(gpus: int) -> None:
    sample = Sample()
    for first in range(0, 80_000, 1000):
        sample.take(b"".join(b"%d\n" % (number % gpus) for number in range(first, first + 1000)))
    counts = np.bincount([int(line.text) for line in sample.lines])
    assert len(counts) == gpus
    assert counts.max() - counts.min() <= 1
    assert len(sample.lines) <= 7 * SAMPLED_ROWS
    assert all(int(line.text) == (line.number - 1) % gpus for line in sample.lines)


def test_damaged_text_is_read_without_an_error() -> None:
    for broken in islice(damaged(query(5)), 0, None, 11):
        NvidiaSmiQuery.parse(block(broken))
    for broken in islice(damaged(dmon(5)), 0, None, 11):
        NvidiaSmiDmon.parse(block(broken))
