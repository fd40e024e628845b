from __future__ import annotations

from pathlib import Path

import pytest

from collectors.benchmark_console import BenchmarkConsole
from collectors.benchmark_values import is_redacted, number
from collectors.scan import scan_file
from tests.collectors.helpers import block, damaged, opened

VLLM = """\
Traffic request rate: 5.0
Burstiness factor: 1.0 (Poisson process)
Maximum request concurrency: None
============ Serving Benchmark Result ============
Successful requests:                     200
Failed requests:                         3
Benchmark duration (s):                  41.50
Total input tokens:                      40000
Total generated tokens:                  20000
Request throughput (req/s):              4.82
Output token throughput (tok/s):         481.93
---------------Time to First Token----------------
Mean TTFT (ms):                          81.20
Median TTFT (ms):                        60.10
P99 TTFT (ms):                           950.00
-----Time per Output Token (excl. 1st token)------
Median TPOT (ms):                        12.00
---------------Inter-token Latency----------------
P99 ITL (ms):                            44.00
----------------End-to-end Latency----------------
Median E2EL (ms):                        1250.00
==================================================
"""
SGLANG = """\
============ Serving Benchmark Result ============
Backend:                                 sglang-oai
Traffic request rate:                    inf
Max request concurrency:                 64
Successful requests:                     100
Concurrency:                             61.5
Request throughput (req/s):              9.50
----------------End-to-End Latency----------------
Mean E2E Latency (ms):                   6000.00
Median E2E Latency (ms):                 5900.00
---------------Inter-Token Latency----------------
Max ITL (ms):                            310.00
==================================================
"""


def test_the_table_of_vllm_with_the_load_above_it() -> None:
    (fact,) = BenchmarkConsole.parse(block(VLLM)).facts
    assert fact.values() == {
        "tool": "serving-bench",
        "load_model": "open",
        "requested_rate_per_second": 5.0,
        "duration_seconds": 41.5,
        "completed": 200,
        "failed": 3,
        "input_tokens": 40_000,
        "output_tokens": 20_000,
        "requests_per_second": 4.82,
        "output_tokens_per_second": 481.93,
        "ttft_mean_seconds": pytest.approx(0.0812),
        "ttft_p50_seconds": pytest.approx(0.0601),
        "ttft_p99_seconds": pytest.approx(0.95),
        "tpot_p50_seconds": pytest.approx(0.012),
        "itl_p99_seconds": pytest.approx(0.044),
        "e2e_p50_seconds": pytest.approx(1.25),
    }


def test_the_table_of_sglang_has_rows_of_its_own() -> None:
    (fact,) = BenchmarkConsole.parse(block(SGLANG)).facts
    values = fact.values()
    assert (values["tool"], values["engine"], values["load_model"]) == ("sglang-bench", "sglang", "closed")
    assert (values["max_concurrency"], values["mean_concurrency"]) == (64.0, 61.5)
    assert (values["e2e_p50_seconds"], values["itl_max_seconds"]) == (pytest.approx(5.9), pytest.approx(0.31))


def test_each_table_of_a_file_is_a_result(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text(VLLM + "\n" + SGLANG + "\n" + SGLANG)
    result = scan_file(tmp_path / "out.txt", "out.txt")
    assert [fact.kind for fact in result.facts] == ["benchmark-result"] * 3


def test_values_that_are_blacked_out_are_refused() -> None:
    text = "".join(f"{line.rpartition(' ')[0]} XX\n" if " (ms)" in line else f"{line}\n" for line in VLLM.splitlines())
    parsed = BenchmarkConsole.parse(block(text))
    assert parsed.problems == ["line 4: 6 values of this benchmark are blacked out (`mean ttft (ms): XX`)"]
    assert parsed.facts[0].values()["requests_per_second"] == 4.82
    assert "ttft_p50_seconds" not in parsed.facts[0].values()


def test_a_decimal_comma_is_refused() -> None:
    parsed = BenchmarkConsole.parse(block(VLLM.replace("60.10", "60,10")))
    assert parsed.problems == ["line 4: 1 values are no numbers (`median ttft (ms): 60,10`)"]


def test_only_heads_open() -> None:
    assert len(opened(BenchmarkConsole, VLLM)) == 2
    assert opened(BenchmarkConsole, "the Serving Benchmark Result was good\n") == []


def test_damage_does_not_raise() -> None:
    for text in (*damaged(VLLM), *damaged(SGLANG)):
        BenchmarkConsole.parse(block(text))


@pytest.mark.parametrize("text", ["xxx", "XX", "...", "<value>", "N/A", "--", "[redacted]"])
def test_what_stands_for_a_number_is_known(text: str) -> None:
    assert is_redacted(text)
    assert number(text) is None


def test_numbers_may_have_groups_of_thousands() -> None:
    assert (number("1,234.5"), number("12,5"), number("1.234,5"), number("9e9999")) == (1234.5, None, None, None)


def test_results_of_the_corpus_are_read_or_refused(corpus: Path) -> None:
    folder = corpus / "files" / "inference-bench"
    assert len(scan_file(folder / "dstack-vllm-mi300x.txt", "x").facts) >= 20
    for name in ("sglang-serving-deepseek-h100.txt", "vllm-serving-g4.txt"):
        result = scan_file(folder / name, "x")
        assert not result.facts
        assert "blacked out" in (result.reports[0].detail or "")
