from __future__ import annotations

import json
from pathlib import Path

import pytest

from collectors.perf_analyzer import PerfAnalyzerCsv
from collectors.scan import scan_file
from diagnose.facts.series import Clock, Requests
from tests.collectors.helpers import block, damaged, opened

CSV = """\
Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency
1,120.5,30,500,40,10,7000,20,5,8200,8500,8700,9900
8,160,30,600,41000,10,7100,20,5,49000,52000,53000,61000
"""  # noqa: E501  # the format's own line
START = 1_700_000_000_000_000_000
EXPORT = {
    "experiments": [
        {
            "experiment": {"mode": "concurrency", "value": 2},
            "requests": [
                {"timestamp": START, "response_timestamps": [START + 50_000_000, START + 70_000_000]},
                {"timestamp": START + 10_000_000, "response_timestamps": [START + 90_000_000]},
                {"timestamp": START, "response_timestamps": []},
            ],
        }
    ],
    "version": "2.40",
}


def test_each_load_is_a_result_and_its_parts() -> None:
    assert len(opened(PerfAnalyzerCsv, CSV)) == 1
    facts = PerfAnalyzerCsv.parse(block(CSV)).facts
    results = [fact.values() for fact in facts if fact.kind == "benchmark-result"]
    assert [(r["load_model"], r["max_concurrency"]) for r in results] == [("closed", 1.0), ("closed", 8.0)]
    assert results[1]["e2e_p99_seconds"] == pytest.approx(0.061)
    parts = {fact.values()["metric"]: fact.values()["mean_seconds"] for fact in facts[-6:]}
    assert parts["queue"] == pytest.approx(0.041)
    assert parts["client"] == pytest.approx(35e-6)


def test_a_rate_makes_the_load_open() -> None:
    (fact, *_) = PerfAnalyzerCsv.parse(block(CSV.replace("Concurrency", "Request Rate", 1))).facts
    assert fact.values()["load_model"] == "open"
    assert fact.values()["requested_rate_per_second"] == 1.0


def test_the_export_holds_requests(tmp_path: Path) -> None:
    (tmp_path / "profile_export.json").write_text(json.dumps(EXPORT))
    (table,) = scan_file(tmp_path / "profile_export.json", "profile_export.json").series
    assert isinstance(table, Requests)
    assert table.clock is Clock.UTC
    assert table.columns["end_to_end_seconds"] == pytest.approx([0.07, 0.08])
    assert table.columns["ttft_seconds"] == pytest.approx([0.05, 0.08])
    assert table.inter_token_seconds == pytest.approx([0.02])


def test_damage_does_not_raise(tmp_path: Path) -> None:
    for text in damaged(CSV):
        PerfAnalyzerCsv.parse(block(text))
    path = tmp_path / "export.json"
    for at, text in enumerate(damaged(json.dumps(EXPORT))):
        if at % 16 == 0:
            path.write_text(text)
            result = scan_file(path, "export.json")
            assert not any(", reading " in (report.detail or "") for report in result.reports)
