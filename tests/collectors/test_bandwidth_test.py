from __future__ import annotations

from pathlib import Path
from typing import Any

from collectors.bandwidth_test import BandwidthTest
from tests.collectors.helpers import block, damaged, opened

TABLES = """\
[CUDA Bandwidth Test] - Starting...
Running on...

 Device 0: NVIDIA A100-SXM4-80GB
 Quick Mode

 Host to Device Bandwidth, 1 Device(s)
 PINNED Memory Transfers
   Transfer Size (Bytes)\tBandwidth(GB/s)
   32000000\t\t\t25.1

 Device to Device Bandwidth, 1 Device(s)
 PINNED Memory Transfers
   Transfer Size (Bytes)\tBandwidth(GB/s)
   32000000\t\t\t1300.5

Result = PASS
"""
LINES = """\
 Device 0: Tesla V100-PCIE-32GB
bandwidthTest-H2D-Pinned, Bandwidth = 4.0 GB/s, Time = 0.00000 s, Size = 16000 bytes, NumDevsUsed = 1
bandwidthTest-H2D-Pinned, Bandwidth = 12.4 GB/s, Time = 0.00500 s, Size = 64000000 bytes, NumDevsUsed = 1
bandwidthTest-D2H-Paged, Bandwidth = 800.0 MB/s, Time = 0.00500 s, Size = 64000000 bytes, NumDevsUsed = 1
"""


def rates(text: str) -> dict[str, Any]:
    return {
        fact.values()["direction"]: fact
        for fact in BandwidthTest.parse(block(text)).facts
        if "direction" in fact.values()
    }


def test_each_table_is_a_direction() -> None:
    found = rates(TABLES)
    assert found["host-to-device"].bytes_per_second == 25.1e9
    assert found["device-memory"].bytes_per_second == 1300.5e9
    assert found["host-to-device"].pinned is True


def test_the_largest_copy_counts_in_a_sweep() -> None:
    found = rates(LINES)
    assert (found["host-to-device"].bytes_per_second, found["host-to-device"].size_bytes) == (12.4e9, 64000000)
    assert (found["device-to-host"].bytes_per_second, found["device-to-host"].pinned) == (0.8e9, False)


def test_a_sum_over_devices_belongs_to_none() -> None:
    assert rates(LINES.replace("NumDevsUsed = 1", "NumDevsUsed = 8")) == {}


def test_the_gpu_is_named() -> None:
    names = [
        fact.values()["product_name"] for fact in BandwidthTest.parse(block(LINES)).facts if fact.kind == "gpu-identity"
    ]
    assert names == ["Tesla V100-PCIE-32GB"]


def test_title_and_results_open() -> None:
    assert opened(BandwidthTest, TABLES)[0].startswith("[CUDA Bandwidth Test]")
    assert len(opened(BandwidthTest, LINES)) == 3


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(TABLES + LINES):
        BandwidthTest.parse(block(text))


def test_the_file_of_the_corpus_gives_the_rate_at_the_end(corpus: Path) -> None:
    text = (corpus / "files" / "gpu-bw" / "superbench-cuda-h2d.log").read_text()
    assert rates(text)["host-to-device"].bytes_per_second == 12.4e9
