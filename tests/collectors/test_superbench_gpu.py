from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collectors.superbench_gpu import GpuCopy, GpuStream
from tests.collectors.helpers import block, damaged, opened

COPY = """\
cpu_to_gpu0_by_sm_under_numa0 20.1
cpu_to_gpu0_by_dma_under_numa0 26.2
cpu_to_gpu0_by_dma_under_numa1 24.0
gpu0_to_gpu0_by_dma 657.3
gpu0_to_gpu1_write_by_dma 279.2
gpu1_to_gpu0_read_by_dma 270.1
gpu_all_to_gpu_all_write_by_sm 55.6
"""
STREAM = """\
STREAM Benchmark
Device 0: "NVIDIA H100 80GB HBM3"  132 SMs(9.0)  Memory: 2619MHz x 5120-bit = 3352 GB/s PEAK   ECC is ON
STREAM_COPY_double_gpu_0_buffer_4294967296_block_128    2900.00 86.51
STREAM_TRIAD_double_gpu_0_buffer_4294967296_block_128    3050.00 90.99
"""


def test_copies_are_told_apart_by_engine_and_cpu_node() -> None:
    found: list[Any] = [fact for fact in GpuCopy.parse(block(COPY)).facts if fact.kind == "gpu-bandwidth"]
    by_dma = next(fact for fact in found if fact.copy_engine and fact.direction == "host-to-device")
    assert (by_dma.bytes_per_second, by_dma.lowest_bytes_per_second) == (26.2e9, 24.0e9)
    assert {fact.direction for fact in found} == {"host-to-device", "device-memory"}


def test_pairs_have_the_slower_direction() -> None:
    (pair,) = [fact for fact in GpuCopy.parse(block(COPY)).facts if fact.kind == "peer-bandwidth"]
    assert pair.values()["bytes_per_second"] == pytest.approx(270.1e9)


def test_the_best_of_the_streams_is_the_gpus_rate() -> None:
    (fact,) = [fact for fact in GpuStream.parse(block(STREAM)).facts if fact.kind == "gpu-bandwidth"]
    assert fact.values() == {
        "tool": "gpu-stream",
        "direction": "device-memory",
        "bytes_per_second": 3050e9,
        "bidirectional": False,
        "concurrent": False,
        "size_bytes": 4294967296,
        "peak_ratio": pytest.approx(0.9099),
    }


def test_results_are_recognised() -> None:
    assert GpuCopy.resembles(COPY.splitlines()) == 1
    assert GpuCopy.resembles(["gpu0 is fine 26.2"]) == 0
    assert opened(GpuStream, STREAM)[0] == "STREAM Benchmark"


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(COPY):
        GpuCopy.parse(block(text))
    for text in damaged(STREAM):
        GpuStream.parse(block(text))


def test_the_files_of_the_corpus_cover_two_gpus(corpus: Path) -> None:
    folder = corpus / "files" / "gpu-bw"
    for collector, name in ((GpuCopy, "superbench-gpu-copy-bw.log"), (GpuStream, "superbench-gpu-stream.log")):
        facts = collector.parse(block((folder / name).read_text())).facts
        assert {fact.subject.gpu_index for fact in facts if fact.kind == "gpu-bandwidth"} == {0, 1}
