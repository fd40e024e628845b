from __future__ import annotations

from pathlib import Path
from typing import Any

from collectors.perftest import Perftest
from tests.collectors.helpers import block, damaged, opened

BANDWIDTH = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Number of qps   : 4\t\tTransport type : IB
 Connection type : RC\t\tUsing SRQ      : OFF
 Mtu             : 4096[B]
 Link type       : Ethernet
---------------------------------------------------------------------------------------
 local address: LID 0000 QPN 0x0001 PSN 0x1 RKey 0x1 VAddr 0x1
 remote address: LID 0000 QPN 0x0002 PSN 0x2 RKey 0x2 VAddr 0x2
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             392.10             391.80             0.747
 8388608    5000             200.00             196.00             0.003
---------------------------------------------------------------------------------------
"""
LATENCY = """\
                    RDMA_Write Latency Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Link type       : IB
 local address: LID 0x09 QPN 0x0001 PSN 0x1
 remote address: LID 0x0b QPN 0x0002 PSN 0x2
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   \
99% percentile[usec]   99.9% percentile[usec]
 2     1000     1.50     9.80     1.60     1.61     0.05     1.90     9.80
 4     1000     1.50     9.80     1.70     1.71     0.05     2.00     9.80
"""


def facts(text: str) -> list[Any]:
    return list(Perftest.parse(block(text)).facts)


def test_the_largest_message_and_the_peak_in_bytes() -> None:
    (fact,) = facts(BANDWIDTH)
    assert fact.subject.nic == "mlx5_0"
    assert fact.values() == {
        "tool": "ib_write_bw",
        "operation": "write",
        "largest_size_bytes": 8388608,
        "largest_bytes_per_second": 24.5e9,
        "peak_bytes_per_second": 391.8e9 / 8,
        "bidirectional": False,
        "queue_pairs": 4,
        "link_layer": "ethernet",
        "mtu_bytes": 4096,
    }


def test_the_smallest_message_gives_the_latency() -> None:
    (fact,) = facts(LATENCY)
    assert (fact.tool, fact.size_bytes) == ("ib_write_lat", 2)
    assert round(fact.typical_seconds * 1e6, 3) == 1.6
    assert round(fact.percentile_99_seconds * 1e6, 3) == 1.9


def test_a_second_test_in_the_output_is_a_second_fact() -> None:
    assert [fact.kind for fact in facts(BANDWIDTH + LATENCY)] == ["network-bandwidth", "network-latency"]


def test_titles_open() -> None:
    assert len(opened(Perftest, BANDWIDTH + LATENCY)) == 2


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(BANDWIDTH + LATENCY):
        Perftest.parse(block(text))


def test_client_and_server_in_one_output_are_one_test(corpus: Path) -> None:
    (fact,) = facts((corpus / "files" / "perftest" / "superbench-ib-loopback-all.log").read_text())
    assert fact.loopback is True
    assert fact.largest_bytes_per_second == 23240.68 * 1048576
