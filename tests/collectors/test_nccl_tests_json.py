from __future__ import annotations

import json
from typing import Any

import pytest

from collectors.nccl_tests_json import NcclTestsJson
from diagnose.facts import Missing
from diagnose.facts.nccl import NcclTest
from tests.collectors.helpers import block, damaged, opened


def group(microseconds: float, bandwidth: float, wrong: float | None = 0.0) -> dict[str, float | None]:
    return {"time": microseconds, "alg_bw": bandwidth, "bus_bw": bandwidth * 0.875, "nwrong": wrong}


def content(wrong: float | None = 0.0) -> dict[str, Any]:
    row = {"count": 32768, "type": "float", "redop": "none", "root": "    -1"}
    return {
        "version": 2,
        "args": ["/opt/nccl-tests/build/all_gather_perf", "-b", "1M"],
        "env": ["HOME=/home/user"],
        "nccl_version": 22605,
        "config": {
            "nthreads": 1,
            "ngpus": 4,
            "devices": [
                {"rank": 0, "hostname": "gpu01", "device": 0, "device_info": "NVIDIA H200"},
                {"rank": 4, "hostname": "gpu02", "device": 0, "device_info": "NVIDIA H200"},
            ],
        },
        "results": [
            {"size": 1048576, **row, "out_of_place": group(50.0, 20.0, wrong), "in_place": group(40.0, 25.0, wrong)},
            {"size": 8388608, **row, "out_of_place": None, "in_place": group(80.0, 100.0, wrong)},
        ],
        "average_bus_bandwidth": {"bandwidth": 40.0, "okay": "unchecked"},
    }


def one(value: object) -> NcclTest:
    (fact,) = NcclTestsJson.parse(block(json.dumps(value))).facts
    assert isinstance(fact, NcclTest)
    return fact


def test_run_is_summed_up() -> None:
    fact = one(content())
    assert (fact.operation, fact.nccl_version, fact.ranks, fact.hosts) == ("all_gather", "2.26.5", 8, 2)
    assert (fact.subject.host, fact.gpu_name) == ("gpu01", "NVIDIA H200")
    assert fact.sizes_bytes == (1 << 20, 1 << 23)
    assert fact.largest_busbw_bytes_per_second == pytest.approx(87.5e9)
    assert fact.smallest_latency_seconds == pytest.approx(40e-6)
    assert fact.reported_average_busbw_bytes_per_second == pytest.approx(40e9)
    assert fact.wrong_results == 0


def test_unchecked_results_are_absent() -> None:
    fact = one(content(wrong=None))
    assert fact.wrong_results is None
    assert fact.missing == {"wrong_results": Missing.NOT_APPLICABLE}


def test_single_line_opens_and_many_lines_resemble() -> None:
    assert len(opened(NcclTestsJson, json.dumps(content()))) == 1
    assert NcclTestsJson.resembles(json.dumps(content(), indent=1).splitlines()) >= 0.5
    assert NcclTestsJson.resembles(['{"bus_bw": 3}']) == 0.0


def test_cut_file_is_a_problem() -> None:
    parsed = NcclTestsJson.parse(block(json.dumps(content())[:-40]))
    assert parsed.facts == []
    assert parsed.problems == ["line 1: the JSON is damaged or incomplete"]


@pytest.mark.parametrize("name", ["args", "nccl_version", "config", "results", "average_bus_bandwidth"])
@pytest.mark.parametrize("value", [None, 7, "text", [1, "a", None], {"devices": 3}])
def test_fields_of_other_types_never_raise(name: str, value: object) -> None:
    NcclTestsJson.parse(block(json.dumps(content() | {name: value})))


def test_damaged_text_never_raises() -> None:
    for text in damaged(json.dumps(content(), indent=1)):
        NcclTestsJson.parse(block(text))
