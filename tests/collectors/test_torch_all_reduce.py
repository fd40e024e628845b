from __future__ import annotations

from pathlib import Path

import pytest

from collectors.torch_all_reduce import TorchAllReduce
from diagnose.facts.nccl import NcclTest
from tests.collectors.helpers import block, damaged, opened

TABLE = """\
| payload |    busbw   |    algbw   |
| ------: | ---------: | ---------: |
|   32KiB |   1.50GBps |   0.86GBps |
|    1MiB |  40.00GBps |  22.86GBps |
|   16GiB | 480.00GBps | 274.29GBps |
"""
LINES = """\
The average bandwidth of all_reduce with a 4.0GB payload (5 trials, 16 ranks):
 algbw: 20.000 GBps (160.0 Gbps)
 busbw: 37.500 GBps (300.0 Gbps)
"""
RANKS = """\
0 data size: 4.0 GB
1 data size: 4.0 GB
0:
 duration: 0.0500 sec
 algo throughput: 1280000000000.0 bps, 1280.0000 Gbps
 busbw: 960.0000  Gbps
1:
 duration: 0.0400 sec
 algo throughput: 1600000000000.0 bps, 1600.0000 Gbps
 busbw: 1200.0000  Gbps
"""


def one(text: str) -> NcclTest:
    (fact,) = TorchAllReduce.parse(block(text)).facts
    assert isinstance(fact, NcclTest)
    return fact


def test_table_gives_bus_bandwidth_by_payload() -> None:
    fact = one(TABLE)
    assert (fact.operation, fact.largest_size_bytes) == ("all_reduce", 16 << 30)
    assert fact.largest_busbw_bytes_per_second == pytest.approx(480e9)
    assert fact.sizes_bytes == (32 << 10, 1 << 20, 16 << 30)


def test_columns_may_be_swapped() -> None:
    swapped = TABLE.replace("busbw", "XX").replace("algbw", "busbw").replace("XX", "algbw")
    assert one(swapped).largest_busbw_bytes_per_second == pytest.approx(274.29e9)


def test_payload_line_names_ranks() -> None:
    fact = one(LINES)
    assert (fact.ranks, fact.largest_size_bytes) == (16, 4_000_000_000)
    assert fact.largest_busbw_bytes_per_second == pytest.approx(37.5e9)


def test_gigabits_become_bytes_and_repeats_their_median() -> None:
    assert one(RANKS).largest_busbw_bytes_per_second == pytest.approx(135e9)


@pytest.mark.parametrize("text", [TABLE, LINES, RANKS])
def test_first_line_opens(text: str) -> None:
    assert opened(TorchAllReduce, text)[0] == text.splitlines()[0]


def test_other_text_about_payloads_does_not_open() -> None:
    assert opened(TorchAllReduce, "the payload | was 3 GB\nwith a 4 GB payload\nx data size: 3 GB\n") == []


@pytest.mark.parametrize("text", [TABLE, LINES, RANKS])
def test_damaged_text_never_raises(text: str) -> None:
    for broken in damaged(text):
        TorchAllReduce.parse(block(broken))


def test_field_table_is_read(corpus: Path) -> None:
    fact = one((corpus / "files/nccl-tests/mleng-torch-all-reduce-bench.txt").read_text())
    assert fact.largest_busbw_bytes_per_second == pytest.approx(482.26e9)
    assert len(fact.sizes_bytes or ()) == 20
