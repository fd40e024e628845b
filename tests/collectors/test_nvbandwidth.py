from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from collectors.base import BlockCollector
from collectors.nvbandwidth import Nvbandwidth, NvbandwidthJson
from tests.collectors.helpers import block, damaged, opened

TEXT = """\
nvbandwidth Version: v0.7
Built from Git version: v0.7

CUDA Runtime Version: 12060
CUDA Driver Version: 12060
Driver Version: 560.35.03

Device 0: NVIDIA H100 80GB HBM3 (00000000:1b:00)
Device 1: NVIDIA H100 80GB HBM3 (00000000:43:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.10     12.40

SUM host_to_device_memcpy_ce 67.50

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    377.10
 1    370.20       N/A

SUM device_to_device_memcpy_read_ce 747.30

Running host_device_latency_sm.
memory latency SM CPU(row) <-> GPU(column) (ns)
           0         1
 0    772.58    801.02

NOTE: The reported results may not reflect the full capabilities of the platform.
"""
JSON: dict[str, Any] = {
    "nvbandwidth": {
        "Driver Version": "560.35.03",
        "GPU Device List": [
            "0: NVIDIA H100 80GB HBM3: (00000000:1b:00)",
            "1: NVIDIA H100 80GB HBM3: (00000000:43:00)",
        ],
        "testcases": [
            {
                "name": "device_to_host_memcpy_ce",
                "status": "Passed",
                "bandwidth_matrix": [["55.30", "54.90"]],
            },
            {"name": "host_to_all_memcpy_sm", "status": "Waived"},
        ],
    }
}


def facts(collector: type[BlockCollector], text: str) -> list[Any]:
    return list(collector.parse(block(text)).facts)


def test_the_rate_of_each_gpu_and_how_the_slowest_compares() -> None:
    found = facts(Nvbandwidth, TEXT)
    rates = {fact.subject.gpu_index: fact.bytes_per_second for fact in found if fact.kind == "gpu-bandwidth"}
    assert rates == {0: 55.1e9, 1: 12.4e9}
    (summed,) = [fact for fact in found if fact.kind == "gpu-bandwidth-summary"]
    assert (summed.lowest_gpu, summed.direction) == ("1", "host-to-device")
    assert round(summed.lowest_to_median_ratio, 3) == round(12.4 / 33.75, 3)


def test_gpus_are_joined_by_bus_id() -> None:
    names = {
        fact.subject.gpu_bus_id: fact.product_name for fact in facts(Nvbandwidth, TEXT) if fact.kind == "gpu-identity"
    }
    assert names == {"0000:1b:00.0": "NVIDIA H100 80GB HBM3", "0000:43:00.0": "NVIDIA H100 80GB HBM3"}


def test_pairs_of_gpus_have_the_slower_direction() -> None:
    (pair,) = [fact for fact in facts(Nvbandwidth, TEXT) if fact.kind == "peer-bandwidth"]
    assert (pair.subject.gpu_index, pair.peer, pair.bytes_per_second) == (0, "1", 370.2e9)


def test_latencies_are_no_bandwidths() -> None:
    assert not any(fact.values().get("bytes_per_second", 1e12) < 1e9 for fact in facts(Nvbandwidth, TEXT))


def test_json_says_the_same_and_waived_tests_say_nothing() -> None:
    found = facts(NvbandwidthJson, json.dumps(JSON, indent=1))
    rates = {fact.subject.gpu_index: fact.bytes_per_second for fact in found if fact.kind == "gpu-bandwidth"}
    assert rates == {0: 55.3e9, 1: 54.9e9}
    assert {fact.version for fact in found if fact.kind == "driver"} == {"560.35.03"}


def test_version_and_tests_open() -> None:
    assert opened(Nvbandwidth, TEXT)[0] == "nvbandwidth Version: v0.7"
    assert opened(NvbandwidthJson, json.dumps(JSON)) == [json.dumps(JSON)]
    assert NvbandwidthJson.resembles(json.dumps(JSON, indent=1).splitlines()) > 0.5


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(TEXT):
        Nvbandwidth.parse(block(text))
    for text in damaged(json.dumps(JSON)):
        NvbandwidthJson.parse(block(text))


def test_the_file_of_the_corpus_has_several_cpu_nodes(corpus: Path) -> None:
    text = (corpus / "files" / "nvbandwidth" / "superbench-nvbandwidth.log").read_text()
    first = next(fact for fact in facts(Nvbandwidth, text) if fact.kind == "gpu-bandwidth")
    assert (first.bytes_per_second, first.lowest_bytes_per_second) == (369.36e9, 323.36e9)
