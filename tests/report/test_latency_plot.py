from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from diagnose.analysis.latency.study import Study, studies
from diagnose.facts.series import Clock
from diagnose.report.latency_picture import (
    clock_label,
    conditional_tails,
    distribution,
    driver_value,
    duration,
    over_time,
    suspect,
)
from diagnose.report.latency_plot import (
    ASCII,
    UNICODE,
    columns_of,
    distribution_text,
    marks_for,
    over_time_text,
    tails_text,
)
from diagnose.report.latency_svg import latency_svg
from tests.analysis.latency.simulated import arrival_times, requests, series

SECONDS = 1800


@pytest.fixture(scope="module")
def study() -> Study:
    """Traffic of a minute in every five makes requests twice as slow."""
    numbers = np.random.default_rng(1)
    traffic = (np.arange(SECONDS) % 120 < 24).astype(float)
    times = arrival_times(numbers, 8.0, SECONDS)
    ttft = 0.2 * numbers.lognormal(0, 0.2, len(times)) * (1 + 2.0 * traffic[times.astype(int)])
    network = series("nic_transmit_bytes_per_second", 1e10 * traffic + 1e8 * numbers.random(SECONDS), nic="eth0")
    found: Study = next(studies([requests(times, ttft=ttft), network])).latencies[0]
    return found


@pytest.mark.parametrize("width", [40, 72, 100])
def test_no_line_is_wider_than_the_terminal(study: Study, width: int) -> None:
    driver, columns = suspect(study), columns_of(width)
    assert driver is not None
    time, shape = over_time(study, columns, driver), distribution(study, columns)
    assert time is not None
    assert shape is not None
    for line in (*over_time_text(time, UNICODE), *distribution_text(shape, UNICODE)):
        assert len(line) <= width or line.startswith(("nic_", "ttft"))


def test_slow_stretches_stand_above_the_stretches_in_which_the_driver_is_high(study: Study) -> None:
    picture = over_time(study, 75, suspect(study))
    assert picture is not None
    assert picture.driver == "nic_transmit_bytes_per_second of node01/nic/eth0"
    busy = np.array([value or 0.0 for value in picture.driver_values]) > 5e9
    slow = np.array([value or 0.0 for value in picture.slow])
    assert slow[busy].min() > 1.5 * np.median(slow[~busy])
    assert len(picture.times_seconds) == len(picture.slow) == len(picture.driver_values) == 75


def test_distribution_holds_every_request_and_its_modes(study: Study) -> None:
    picture = distribution(study, 80)
    assert picture is not None
    assert sum(picture.counts) == study.quantiles.count
    assert picture.modes_seconds == pytest.approx([0.2, 0.6], rel=0.15)
    lines = distribution_text(picture, ASCII)
    assert any("p50" in line for line in lines)
    assert lines[-1].strip().startswith("M modes:")


def test_conditional_tails_tell_both_ranges_with_their_units(study: Study) -> None:
    driver = suspect(study)
    assert driver is not None
    picture = conditional_tails(study, driver)
    assert picture is not None
    high, low = dict(picture.high), dict(picture.low)
    assert high[0.9] > 2 * low[0.9]
    text = "\n".join(tails_text(picture))
    assert "GB/s" in text
    assert "p99" in text


def test_ascii_is_ascii_but_for_units(study: Study) -> None:
    picture, shape = over_time(study, 60, suspect(study)), distribution(study, 60)
    assert picture is not None
    assert shape is not None
    assert "\n".join((*over_time_text(picture, ASCII), *distribution_text(shape, ASCII))).isascii()


@pytest.mark.parametrize(("encoding", "marks"), [("utf-8", UNICODE), ("ascii", ASCII), (None, ASCII), ("none", ASCII)])
def test_plots_use_what_the_encoding_has(encoding: str | None, marks: object) -> None:
    assert marks_for(encoding) is marks


def test_svg_is_well_formed_and_says_what_it_shows(study: Study) -> None:
    driver = suspect(study)
    assert driver is not None
    drawn = latency_svg(
        "a <b> & c", over_time(study, 200, driver), distribution(study, 80), conditional_tails(study, driver)
    )
    picture = ElementTree.fromstring(drawn)
    space = "{http://www.w3.org/2000/svg}"
    assert picture.findtext(f"{space}title") == "a <b> & c"
    words = " ".join(item.text or "" for item in picture.findall(f"{space}text"))
    for said in ("ttft p99", "p50", "nic_transmit_bytes_per_second of node01/nic/eth0", "Share of requests", "mode"):
        assert said in words
    for line in picture.findall(f"{space}polyline"):
        for point in (line.get("points") or "").split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= 860
            assert 0 <= y <= float(picture.get("height") or 0)


def test_what_is_missing_is_left_out_of_the_svg() -> None:
    numbers = np.random.default_rng(2)
    found = next(studies([requests(np.arange(30.0), ttft=numbers.lognormal(0, 0.2, 30))])).latencies[0]
    assert suspect(found) is None
    assert over_time(found, 50) is None
    ElementTree.fromstring(latency_svg("few", None, distribution(found, 20), None))


@pytest.mark.parametrize("value", [0.2, 1e-9, 4e5])
def test_equal_latencies_can_be_drawn(value: float) -> None:
    times = np.arange(0.0, 600.0, 0.5)
    found = next(studies([requests(times, ttft=np.full(len(times), value))])).latencies[0]
    shape, time = distribution(found, 40), over_time(found, 40)
    assert shape is not None
    assert time is not None
    assert distribution_text(shape, UNICODE)
    assert over_time_text(time, UNICODE)
    ElementTree.fromstring(latency_svg("equal", time, shape, None))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(12.34, "12.3 s"), (0.25, "250 ms"), (1.5e-5, "15 µs"), (0.0, "0 µs"), (1.0, "1 s"), (1234.0, "1234 s")],
)
def test_durations_have_the_unit_that_suits(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("metric", "value", "words"),
    [
        ("nic_transmit_bytes_per_second", 1.2e10, "12 GB/s"),
        ("memory_available_bytes", 5e6, "5 MB"),
        ("gpu_power_watts", 301.2, "301 W"),
        ("gpu_sm_clock_mhz", 1980.0, "1980 MHz"),
        ("tcp_retransmits_per_second", 3.0, "3/s"),
        ("gpu_dram_active_ratio", 0.913, "0.913"),
    ],
)
def test_values_of_drivers_have_their_units(metric: str, value: float, words: str) -> None:
    assert driver_value(metric, value) == words


def test_times_are_told_by_their_clock() -> None:
    assert clock_label(Clock.UTC, 1_760_000_040.0) == "2025-10-09 08:54:00 UTC"
    assert clock_label(Clock.LOCAL, 1_760_000_100.0, 1_760_000_040.0) == "08:55:00"
    assert clock_label(Clock.RELATIVE, 100.0, 40.0) == "60 s"
