from __future__ import annotations

import json
from pathlib import Path

import pytest

from collectors.k6 import K6Json, K6Summary
from collectors.scan import scan_file
from diagnose.facts.series import Clock, Requests
from tests.collectors.helpers import block, damaged, feed

TEXT = """\
     http_req_duration..............: avg=117.55ms min=90.10ms med=101.5ms max=1.25s p(90)=180ms p(95)=1m2s p(99)=950µs
       { expected_response:true }...: avg=1ms min=1ms med=1ms max=1ms p(90)=1ms p(95)=1ms
     http_req_failed................: 1.00%  ✓ 3  ✗ 297
     http_reqs......................: 300    29.5/s
     iteration_duration.............: avg=1.1s min=1s med=1s max=2s p(90)=1s p(95)=1s
     vus_max........................: 50     min=50 max=50
"""
SUMMARY = {
    "metrics": {
        "http_req_duration": {"type": "trend", "values": {"avg": 120.0, "med": 100.0, "p(90)": 300.0, "max": 900.0}},
        "http_reqs": {"type": "counter", "values": {"count": 300, "rate": 29.5}},
        "http_req_failed": {"type": "rate", "values": {"rate": 0.01, "passes": 3, "fails": 297}},
        "vus_max": {"values": {"value": 50, "min": 50, "max": 50}},
    }
}
CSV = """\
metric_name,timestamp,metric_value,check,error,status,url
http_reqs,1700000010,1.000000,,,200,http://a
http_req_duration,1700000010,500.000000,,,200,http://a
http_req_duration,1700000012,30000.000000,,timeout,0,http://a
"""
POINTS = (
    '{"type":"Metric","data":{"name":"http_req_duration"},"metric":"http_req_duration"}\n'
    '{"metric":"http_req_duration","type":"Point","data":{"time":"2023-11-14T22:13:30.5Z","value":500,"tags":{"status":"200"}}}\n'
    '{"metric":"http_req_duration","type":"Point","data":{"time":"2023-11-14T22:13:32+00:00","value":250,"tags":{"status":"500"}}}\n'
)


def test_the_printed_summary() -> None:
    (fact,) = feed(K6Summary, TEXT).facts
    assert fact.values() == {
        "tool": "k6",
        "max_concurrency": 50.0,
        "completed": 300,
        "failed": 3,
        "requests_per_second": 29.5,
        "e2e_mean_seconds": pytest.approx(0.11755),
        "e2e_p50_seconds": pytest.approx(0.1015),
        "e2e_p90_seconds": pytest.approx(0.18),
        "e2e_p99_seconds": pytest.approx(950e-6),
        "e2e_max_seconds": 1.25,
    }


def test_the_summary_as_json() -> None:
    text = json.dumps(SUMMARY, indent=1)
    assert K6Json.resembles(text.splitlines()) >= 0.5
    (fact,) = K6Json.parse(block(text)).facts
    values = fact.values()
    assert (values["e2e_p50_seconds"], values["e2e_p90_seconds"], values["failed"]) == (0.1, 0.3, 3)


@pytest.mark.parametrize(("name", "text"), [("out.csv", CSV), ("out.json", POINTS)])
def test_outputs_hold_the_requests(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    result = scan_file(tmp_path / name, name)
    assert [report.kind for report in result.reports] == ["k6-output"]
    (table,) = result.series
    assert isinstance(table, Requests)
    assert (len(table), table.clock) == (2, Clock.UTC)
    assert table.columns["start_seconds"][0] == pytest.approx(1_700_000_009.5 if name == "out.csv" else 1_700_000_010.0)
    assert list(table.columns["succeeded"]) == [1, 0]


def test_damage_does_not_raise(tmp_path: Path) -> None:
    for text in damaged(TEXT):
        feed(K6Summary, text)
    for text in damaged(json.dumps(SUMMARY)):
        K6Json.parse(block(text))
    path = tmp_path / "out"
    for text in (CSV, POINTS):
        for at, cut in enumerate(damaged(text)):
            if at % 31 == 0:
                path.write_text(cut)
                result = scan_file(path, "out")
                assert not any(", reading " in (report.detail or "") for report in result.reports)
