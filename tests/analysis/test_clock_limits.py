from __future__ import annotations

import numpy as np
import pytest

from diagnose.analysis.clock_limits import features
from diagnose.facts import Source, Subject
from diagnose.facts.gpu import GpuClockLimit
from diagnose.facts.series import Clock, Series

GPU = Subject(host="n1", gpu_index=3)


def series(metric: str, values: list[float]) -> Series:
    times = np.arange(len(values), dtype=np.float64) * 15
    return Series(metric, GPU, times, np.array(values), Clock.UTC, (Source(path="x"),))


def test_the_share_of_the_time_and_the_clocks_in_it_are_told() -> None:
    held = [1.0, 0.0] * 20
    clock = [1100.0, 1980.0] * 20
    (one,) = features([series("gpu_thermal_limited_ratio", held), series("gpu_sm_clock_mhz", clock)], [])
    assert isinstance(one, GpuClockLimit)
    assert (one.reason, one.readings, one.observed_seconds) == ("thermal", 40, 585)
    assert one.time_ratio == pytest.approx(0.5)
    assert (one.sm_held_mhz, one.sm_free_mhz) == (1100, 1980)


def test_without_clocks_or_without_being_held_down_nothing_is_made_up() -> None:
    (alone,) = features([series("gpu_power_limited_ratio", [0.25] * 30)], [])
    assert isinstance(alone, GpuClockLimit)
    assert (alone.reason, alone.sm_held_mhz, alone.sm_free_mhz) == ("power", None, None)
    free = features([series("gpu_power_limited_ratio", [0.0] * 30), series("gpu_sm_clock_mhz", [1980.0] * 30)], [])
    assert [fact.values()["sm_free_mhz"] for fact in free] == [1980]
    assert "sm_held_mhz" not in free[0].values()


def test_a_few_readings_tell_no_share() -> None:
    assert features([series("gpu_thermal_limited_ratio", [1.0] * 19)], []) == []
