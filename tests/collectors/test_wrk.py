from __future__ import annotations

import pytest

from collectors.durations_text import duration
from collectors.wrk import Wrk
from tests.collectors.helpers import block, damaged, opened

WRK = """\
Running 30s test @ http://127.0.0.1:8000/v1/completions
  4 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   635.91us    0.89ms  12.92ms   93.69%
    Req/Sec    56.20k     8.07k   62.00k    86.54%
  Latency Distribution
     50%  250.00us
     99%    4.50ms
  22464657 requests in 30.00s, 17.76GB read
  Socket errors: connect 1, read 2, write 0, timeout 7
  Non-2xx or 3xx responses: 10
Requests/sec: 748868.53
Transfer/sec:    606.33MB
"""
WRK2 = """\
Running 30s test @ http://127.0.0.1:8000/
  2 threads and 100 connections
  Thread calibration: mean lat.: 9.7ms, rate sampling interval: 10ms
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     5.97ms    1.20ms  80.50ms   70.00%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    5.50ms
 99.000%    1.10s
  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       1.000     0.000000            1         1.00
       5.500     0.500000          500         2.00
    1100.000     0.990000          990       100.00
    1500.000     0.999000          999      1000.00
#[Mean    =        5.970, StdDeviation   =        1.200]
  60000 requests in 30.00s, 19.87MB read
Requests/sec:   2000.00
Transfer/sec:    678.14KB
"""


def test_wrk_keeps_connections_and_so_closes_the_loop() -> None:
    assert len(opened(Wrk, WRK)) == 1
    (fact,) = Wrk.parse(block(WRK)).facts
    assert fact.values() == {
        "tool": "wrk",
        "load_model": "closed",
        "max_concurrency": 64.0,
        "duration_seconds": 30.0,
        "completed": 22464657,
        "failed": 20,
        "requests_per_second": 748868.53,
        "e2e_mean_seconds": pytest.approx(635.91e-6),
        "e2e_p50_seconds": pytest.approx(250e-6),
        "e2e_p99_seconds": pytest.approx(0.0045),
        "e2e_max_seconds": pytest.approx(0.01292),
    }


def test_wrk2_sends_at_a_rate() -> None:
    (fact,) = Wrk.parse(block(WRK2)).facts
    values = fact.values()
    assert (values["tool"], values["load_model"]) == ("wrk2", "open")
    assert (values["e2e_p99_seconds"], values["e2e_p999_seconds"]) == (pytest.approx(1.1), pytest.approx(1.5))


def test_damage_does_not_raise() -> None:
    for text in (*damaged(WRK), *damaged(WRK2)):
        Wrk.parse(block(text))


@pytest.mark.parametrize(
    ("text", "seconds"), [("1.5s", 1.5), ("2m3s", 123.0), ("90ms", 0.09), ("7µs", 7e-6), ("1h", 3600.0)]
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "1,5s", "1.5", "1.5s ", "5 ms"])
def test_other_text_is_no_duration(text: str) -> None:
    assert duration(text) is None
