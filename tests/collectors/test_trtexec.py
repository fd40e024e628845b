from __future__ import annotations

from pathlib import Path

import pytest

from collectors.scan import scan_file
from collectors.trtexec import Trtexec
from tests.collectors.helpers import damaged, feed

NEW = """\
&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=a.onnx
[05/06/2026-07:08:09] [I] Model: a.onnx
[05/06/2026-07:08:19] [I] === Performance summary ===
[05/06/2026-07:08:19] [I] Throughput: 512.5 qps
[05/06/2026-07:08:19] [I] Latency: min = 1.9 ms, max = 9.5 ms, mean = 2.0 ms, median = 1.95 ms, percentile(90%) = 2.1 ms, percentile(99%) = 8.0 ms
[05/06/2026-07:08:19] [I] Enqueue Time: min = 0.3 ms, max = 0.4 ms, mean = 0.35 ms, median = 0.34 ms, percentile(99%) = 0.4 ms
[05/06/2026-07:08:19] [I] GPU Compute Time: min = 1.4 ms, max = 1.6 ms, mean = 1.5 ms, median = 1.5 ms, percentile(99%) = 1.6 ms
"""  # noqa: E501
OLD = """\
[05/06/2021-07:08:19] [I] Host Latency
[05/06/2021-07:08:19] [I] min: 0.6 ms (end to end 1.0 ms)
[05/06/2021-07:08:19] [I] mean: 0.7 ms (end to end 1.0 ms)
[05/06/2021-07:08:19] [I] median: 0.65 ms (end to end 1.0 ms)
[05/06/2021-07:08:19] [I] percentile: 0.9 ms at 99% (end to end 1.4 ms at 99%)
[05/06/2021-07:08:19] [I] throughput: 0 qps
[05/06/2021-07:08:19] [I] GPU Compute
[05/06/2021-07:08:19] [I] median: 0.5 ms
"""


def test_the_summary_tells_the_whole_and_its_parts() -> None:
    whole, enqueue, compute = feed(Trtexec, NEW).facts
    assert whole.values() == {
        "tool": "trtexec",
        "model": "a.onnx",
        "requests_per_second": 512.5,
        "e2e_mean_seconds": pytest.approx(0.002),
        "e2e_p50_seconds": pytest.approx(0.00195),
        "e2e_p90_seconds": pytest.approx(0.0021),
        "e2e_p99_seconds": pytest.approx(0.008),
        "e2e_max_seconds": pytest.approx(0.0095),
    }
    assert (enqueue.values()["metric"], compute.values()["metric"]) == ("enqueue", "gpu-compute")
    assert compute.values()["p99_seconds"] == pytest.approx(0.0016)


def test_the_old_layout_has_a_line_for_each_statistic() -> None:
    whole, compute = feed(Trtexec, OLD).facts
    assert (whole.values()["e2e_p50_seconds"], whole.values()["e2e_p99_seconds"]) == (
        pytest.approx(0.00065),
        pytest.approx(0.0009),
    )
    assert "requests_per_second" not in whole.values()
    assert compute.values()["p50_seconds"] == pytest.approx(0.0005)


def test_a_log_without_a_summary_gives_nothing() -> None:
    assert feed(Trtexec, NEW.split("[05/06/2026-07:08:19] [I] Latency")[0]).facts == []


def test_damage_does_not_raise() -> None:
    for text in (*damaged(NEW), *damaged(OLD)):
        feed(Trtexec, text)


@pytest.mark.parametrize("name", ["superbench-trt-inference-1.log", "superbench-trt-inference-2.log"])
def test_logs_of_the_corpus_are_read(corpus: Path, name: str) -> None:
    facts = scan_file(corpus / "files" / "inference-bench" / name, name).facts
    assert {"benchmark-result", "serving-latency"} == {fact.kind for fact in facts}
