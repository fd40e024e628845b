from __future__ import annotations

from pathlib import Path

import pytest

from collectors.base import Parsed
from collectors.peer_bandwidth import PeerBandwidthMatrix
from diagnose.facts.topology import PeerAccess, PeerBandwidth, PeerBandwidthSummary
from tests.collectors.helpers import block, damaged, opened

FULL = """\
[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, NVIDIA A40, pciBusID: 1b, pciDeviceID: 0, pciDomainID:0
Device: 1, NVIDIA A40, pciBusID: 1c, pciDeviceID: 0, pciDomainID:0
Device: 2, NVIDIA A40, pciBusID: 8a, pciDeviceID: 0, pciDomainID:0
Device=0 CAN Access Peer Device=1
Device=0 CANNOT Access Peer Device=2
Device=1 CAN Access Peer Device=0
Device=1 CAN Access Peer Device=2

P2P Connectivity Matrix
     D\\D     0     1     2
     0\t     1     1     0
     1\t     1     1     1
     2\t     0     1     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1      2
     0 600.00  16.00  15.00
     1  16.10 601.00  15.20
     2  15.30  15.10 602.00
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1      2
     0 600.00  52.00  15.00
     1  51.00 601.00  24.00
     2  15.30  24.50 602.00
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\\D     0      1      2
     0 600.00 104.00  30.00
     1 104.10 601.00  48.00
     2  30.30  48.10 602.00
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1      2
     0   1.60   1.90  20.00
     1   1.90   1.60   1.90
     2  20.10   1.90   1.60

NOTE: The CUDA Samples are not meant for performance measurements.
"""

DASHES = """\
D\\D     0      1
  0    \u2014     26
  1    25      \u2014
"""


def parse(text: str, path: str = "x.txt") -> Parsed:
    return PeerBandwidthMatrix.parse(block(text, path=path))


def pairs(parsed: Parsed) -> dict[tuple[int | None, str], float]:
    return {
        (fact.subject.gpu_index, fact.peer): fact.bytes_per_second
        for fact in parsed.facts
        if isinstance(fact, PeerBandwidth)
    }


def summaries(parsed: Parsed) -> list[PeerBandwidthSummary]:
    return [fact for fact in parsed.facts if isinstance(fact, PeerBandwidthSummary)]


def test_pairs_come_from_the_matrix_with_peer_access_and_one_direction() -> None:
    assert pairs(parse(FULL)) == {(0, "1"): 51e9, (0, "2"): 15e9, (1, "2"): 24e9}


def test_each_bandwidth_matrix_is_summed_up_and_no_other() -> None:
    found = [
        (fact.bidirectional, fact.p2p_enabled, fact.pairs, fact.lowest_pair, fact.lowest_bytes_per_second)
        for fact in summaries(parse(FULL))
    ]
    assert found == [
        (False, False, 3, "GPU0-GPU2", 15e9),
        (False, True, 3, "GPU0-GPU2", 15e9),
        (True, True, 3, "GPU0-GPU2", 30e9),
    ]


def test_summary_compares_the_slowest_pair_with_the_median_and_with_its_ends() -> None:
    fact = summaries(parse(FULL))[1]
    assert fact.median_bytes_per_second == 24e9
    assert fact.lowest_to_median_ratio == pytest.approx(0.625)
    assert fact.ends_elsewhere_to_median_ratio == pytest.approx(1.0)


def test_ends_are_open_where_they_have_no_other_partner() -> None:
    (fact,) = summaries(parse(DASHES))
    assert fact.ends_elsewhere_to_median_ratio is None


def test_peer_access_is_read_with_the_failing_direction_first() -> None:
    access = [fact for fact in parse(FULL).facts if isinstance(fact, PeerAccess)]
    assert {(fact.subject.gpu_index, fact.peer): fact.status for fact in access} == {
        (0, "1"): "OK",
        (0, "2"): "NS",
        (1, "2"): "OK",
    }


def test_dashes_on_the_diagonal_are_passed_over() -> None:
    assert pairs(parse(DASHES)) == {(0, "1"): 25e9}


@pytest.mark.parametrize(
    ("path", "bidirectional"), [("p2p_bidir.txt", True), ("p2p_unidirectional.txt", False), ("p2p.txt", None)]
)
def test_direction_of_a_bare_matrix_comes_from_the_file_name(path: str, bidirectional: bool | None) -> None:
    assert {fact.bidirectional for fact in summaries(parse(DASHES, path))} == {bidirectional}


def test_sources_point_at_the_row() -> None:
    (fact,) = [fact for fact in parse(DASHES).facts if isinstance(fact, PeerBandwidth)]
    assert fact.sources[0].line == 3


def test_opening_lines() -> None:
    assert opened(PeerBandwidthMatrix, DASHES) == [DASHES.splitlines()[0]]
    assert opened(PeerBandwidthMatrix, FULL)[0] == FULL.splitlines()[0]
    assert opened(PeerBandwidthMatrix, "NCCL_P2P=1\nP2P=Enabled\n") == []


@pytest.mark.parametrize("text", [FULL, DASHES])
def test_damaged_text_never_raises(text: str) -> None:
    for broken in damaged(text):
        parse(broken)


def test_field_matrices_have_every_pair(corpus: Path) -> None:
    files = [*corpus.glob("files/gpu-bw/mleng-*"), *corpus.glob("cases/*/p2p_bidir_healthy.txt")]
    for path in files:
        parsed = parse(path.read_text(), path.name)
        assert len(pairs(parsed)) == 28, path
        assert summaries(parsed)[0].lowest_to_median_ratio > 0.9, path
    assert len(files) == 3


def test_pairs_are_told_with_and_without_peer_access() -> None:
    pairs = [fact for fact in parse(FULL).facts if isinstance(fact, PeerBandwidth)]
    told = {(fact.subject.gpu_index, fact.peer): fact.without_peer_access_bytes_per_second for fact in pairs}
    assert sorted(told.values(), key=str) == [15e9, 15.1e9, 16e9]
    only = FULL.replace("Unidirectional P2P=Disabled", "Bidirectional P2P=Disabled")
    alone = [fact for fact in parse(only).facts if isinstance(fact, PeerBandwidth)]
    assert {fact.without_peer_access_bytes_per_second for fact in alone} == {None}
