from __future__ import annotations

from pathlib import Path

import pytest

from collectors.hdr_histogram import HdrHistogramTable, decode
from collectors.scan import scan_file
from tests.collectors.helpers import block, damaged, opened

# Of 120000, 130000, 150000 and 900000, recorded with two digits by an independent implementation.
FOUR = b"HISTFAAAACp4nJNpmSzMwMDAxQABTFCaEURcm7yEwf4DROCyKJMykzpTPysTAIw7Bl4="
TABLE = """\
       Value     Percentile TotalCount 1/(1-Percentile)

     200.000 0.000000000000          1           1.00
     350.000 0.500000000000        500           2.00
     900.000 0.990625000000        991         106.67
#[Mean    =      380.250, StdDeviation   =       90.000]
#[Max     =     1200.000, Total count    =         1000]
"""


def test_the_table_is_a_result_where_its_unit_is_clear() -> None:
    assert len(opened(HdrHistogramTable, TABLE)) == 1
    (fact,) = HdrHistogramTable.parse(block(TABLE)).facts
    assert fact.values() == {
        "tool": "hdr-histogram",
        "completed": 991,
        "e2e_mean_seconds": pytest.approx(0.38025),
        "e2e_p50_seconds": pytest.approx(0.35),
        "e2e_p90_seconds": pytest.approx(0.9),
        "e2e_p99_seconds": pytest.approx(0.9),
        "e2e_max_seconds": pytest.approx(1.2),
    }


def test_a_unit_that_is_not_clear_is_a_problem() -> None:
    parsed = HdrHistogramTable.parse(block(TABLE.replace("350.000", "12.000")))
    assert parsed.problems == ["the histogram does not tell its unit, and its median 12 fits s as well as ms"]


def test_compressed_counts_are_decoded() -> None:
    found = [(value, count) for value, count in decode(FOUR)]
    assert [count for _, count in found] == [1, 1, 1, 1]
    for (value, _), recorded in zip(found, (120000, 130000, 150000, 900000), strict=True):
        assert value == pytest.approx(recorded, rel=0.01)


def test_a_log_is_summed_up_over_its_intervals(tmp_path: Path) -> None:
    path = tmp_path / "latency.hlog"
    path.write_bytes(
        b"#[Histogram log format version 1.3]\n"
        b'"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
        b"0.1,1.0,0.09," + FOUR + b"\n1.1,1.0,0.09," + FOUR + b"\n2.1,1.0,0.09,AAAA\n"
    )
    result = scan_file(path, "latency.hlog")
    assert [report.kind for report in result.reports] == ["hdr-histogram-log"]
    assert "1 intervals could not be decoded" in (result.reports[0].detail or "")
    (fact,) = result.facts
    assert fact.values()["completed"] == 8
    assert fact.values()["e2e_max_seconds"] == pytest.approx(0.9, rel=0.01)


def test_damage_does_not_raise(tmp_path: Path) -> None:
    for text in damaged(TABLE):
        HdrHistogramTable.parse(block(text))
    path = tmp_path / "x.hlog"
    for text in list(damaged(FOUR.decode()))[::9]:
        path.write_text(f"#[Histogram log format version 1.3]\n0.1,1.0,0.09,{text}\n")
        result = scan_file(path, "x.hlog")
        assert not any(", reading " in (report.detail or "") for report in result.reports)
