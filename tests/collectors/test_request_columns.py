from __future__ import annotations

import pytest

from collectors.request_columns import HintError, column_of, hints_of, request_columns, unit_of


@pytest.mark.parametrize(
    ("name", "meaning", "scale"),
    [
        ("latency_ms", "end_to_end_seconds", 1e-3),
        ("request_latency_s", "end_to_end_seconds", 1.0),
        ("e2eLatency", "end_to_end_seconds", None),
        ("End-to-End Latency (ms)", "end_to_end_seconds", 1e-3),
        ("duration_us", "end_to_end_seconds", 1e-6),
        ("latency(µs)", "end_to_end_seconds", 1e-6),
        ("responseTimeMillis", "end_to_end_seconds", 1e-3),
        ("ttft", "ttft_seconds", None),
        ("TTFT [s]", "ttft_seconds", 1.0),
        ("time_to_first_token_ms", "ttft_seconds", 1e-3),
        ("mean_itl_ms", "itl_seconds", 1e-3),
        ("queue_time", "queue_seconds", None),
        ("timestamp", "start_seconds", None),
        ("request_start_ns", "start_seconds", 1e-9),
        ("time", "start_seconds", None),
        ("prompt_tokens", "input_tokens", None),
        ("GeneratedTokens", "output_tokens", None),
        ("number_output_tokens", "output_tokens", None),
        ("status_code", "status", None),
        ("success", "succeeded", None),
    ],
)
def test_names_tell_meaning_and_unit(name: str, meaning: str, scale: float | None) -> None:
    column = column_of(name)
    assert column is not None
    assert (column.meaning, column.scale) == (meaning, scale)


@pytest.mark.parametrize("name", ["model", "p99_latency", "bandwidth", "avg_latency_of_ring", "ms", ""])
def test_other_names_tell_nothing(name: str) -> None:
    assert column_of(name) is None


@pytest.mark.parametrize(
    "names",
    [
        ["rank", "latency_ms", "timestamp"],
        ["gpus", "latency_ms", "status"],
        ["batch_size", "latency_ms", "output_tokens"],
        ["p50", "p99", "latency", "time"],
        ["concurrency", "ttft_ms", "latency_ms"],
        ["timestamp", "name", "utilization.gpu [%]"],
        ["model", "latency_ms"],
        ["input_tokens", "output_tokens"],
    ],
)
def test_tables_of_something_else_are_left_alone(names: list[str]) -> None:
    assert request_columns(names) == []


def test_a_trace_of_requests_needs_no_latency() -> None:
    assert len(request_columns(["TIMESTAMP", "ContextTokens", "GeneratedTokens"])) == 3


def test_of_two_columns_that_with_a_unit_is_taken() -> None:
    names = [column.name for column in request_columns(["latency", "latency_ms", "status"])]
    assert names == ["latency_ms", "status"]


@pytest.mark.parametrize(
    ("medians", "scale"),
    [
        ({"end_to_end_seconds": 0.4}, 1.0),
        ({"end_to_end_seconds": 450.0}, 1e-3),
        ({"end_to_end_seconds": 12.0}, None),
        ({"end_to_end_seconds": 12.0, "itl_seconds": 0.02}, 1.0),
        ({"end_to_end_seconds": 900.0, "ttft_seconds": 70.0}, 1e-3),
        ({"end_to_end_seconds": 5000.0}, None),
        ({"end_to_end_seconds": 5000.0, "itl_seconds": 25.0}, 1e-3),
    ],
)
def test_only_one_sensible_unit_is_guessed(medians: dict[str, float], scale: float | None) -> None:
    assert unit_of(medians)[0] == scale


def test_hints_are_checked() -> None:
    hints = hints_of(["e2e=lat"], ["lat=ms"])
    assert hints is not None
    assert [(c.meaning, c.scale) for c in request_columns(["who", "lat"], hints)] == [("end_to_end_seconds", 1e-3)]
    assert hints_of([], []) is None
    with pytest.raises(HintError, match="MEANING one of e2e"):
        hints_of(["speed=lat"], [])
    with pytest.raises(HintError, match="UNIT one of s, ms, us, ns"):
        hints_of([], ["lat=minutes"])
