from __future__ import annotations

from typing import Any

import pytest

from diagnose.analysis.benchmark_stages import features
from diagnose.facts import Source
from diagnose.facts.serving import BenchmarkResult


def result(rate: float, served: float, ttft: float, **more: Any) -> BenchmarkResult:
    return BenchmarkResult(
        sources=(Source(path=f"{rate}.json"),),
        tool="inference-perf",
        requested_rate_per_second=rate,
        requests_per_second=served,
        ttft_p50_seconds=ttft,
        **more,
    )


def test_a_load_that_is_not_answered_saturates() -> None:
    (found,) = features([result(120.0, 80.0, 3.0, client_delay_p50_seconds=5.0), result(40.0, 39.5, 0.05),
                         result(80.0, 78.0, 0.06)])  # fmt: skip
    values = found.values()
    assert (values["stages"], values["saturated"], values["saturated_from_rate_per_second"]) == (3, True, 120.0)
    assert values["served_rate_max_per_second"] == 80.0
    assert values["ttft_p50_ratio"] == pytest.approx(60.0)
    assert values["client_delay_p50_highest_seconds"] == 5.0


def test_a_server_that_keeps_up_is_not_saturated() -> None:
    (found,) = features([result(40.0, 39.5, 0.05), result(120.0, 118.0, 0.06)])
    assert found.values()["saturated"] is False
    assert "saturated_from_rate_per_second" not in found.values()


def test_one_load_is_no_comparison() -> None:
    assert features([result(40.0, 39.5, 0.05), result(40.0, 39.0, 0.05)]) == []


def test_models_are_kept_apart() -> None:
    assert features([result(40.0, 39.5, 0.05, model="a"), result(80.0, 60.0, 0.05, model="b")]) == []
