from __future__ import annotations

from pathlib import Path

import pytest

from collectors.base import Parsed
from collectors.pair_test import PairTest
from diagnose.facts.topology import PeerBandwidth, PeerBandwidthSummary
from tests.collectors.helpers import block, damaged, opened

TEXT = """\
--- TEST 1: same switch ---
GPU0(P0)\u2192GPU5 + GPU1(P0)\u2192GPU7
two pairs at once
  Write:   3.0 GB/s  <- slow
  Read:   50.0 GB/s

--- TEST 2: other switch ---
GPU0(P0)\u2192GPU5 + GPU2(P1)\u2192GPU7
  Write:  78.0 GB/s

--- BASELINE: GPU0\u2192GPU5: 40.0 GB/s ---

RESULT
  Collapse: 3.0 GB/s (expected 40)
"""


def parse(text: str) -> Parsed:
    return PairTest.parse(block(text))


def facts(text: str) -> list[PeerBandwidth]:
    return [fact for fact in parse(text).facts if isinstance(fact, PeerBandwidth)]


def test_results_of_pairs_are_read_with_their_baseline() -> None:
    found = [
        (fact.subject.gpu_index, fact.peer, fact.bytes_per_second, fact.concurrent, fact.reference_bytes_per_second)
        for fact in facts(TEXT)
    ]
    assert found == [
        (0, "5", 3e9, True, 40e9),
        (0, "5", 50e9, True, 40e9),
        (0, "5", 78e9, True, 40e9),
        (0, "5", 40e9, False, None),
    ]


def test_label_holds_the_pairs_and_the_name_of_the_result() -> None:
    assert facts(TEXT)[0].label == "GPU0(P0)\u2192GPU5 + GPU1(P0)\u2192GPU7, Write"


def test_summary_tells_that_the_slowest_result_was_a_concurrent_one() -> None:
    (summary,) = [fact for fact in parse(TEXT).facts if isinstance(fact, PeerBandwidthSummary)]
    assert summary.lowest_is_concurrent is True
    assert summary.lowest_to_reference_ratio == pytest.approx(0.075)


def test_arrows_may_be_plain_and_units_may_be_bits() -> None:
    (fact,) = facts("GPU 3 -> GPU 1: 80 Gb/s\n")
    assert (fact.subject.gpu_index, fact.peer, fact.bytes_per_second, fact.concurrent) == (3, "1", 10e9, False)


@pytest.mark.parametrize(
    "line",
    [
        "if (a->b) GPU0 is used",
        "n1:1:2 [0] NCCL INFO Channel 00 : 0[1] -> 1[2] via P2P/IPC",
        "we moved the job from the old node with GPU0 -> GPU1 to another",
        "a => b: 3 GB/s",
    ],
)
def test_arrows_elsewhere_do_not_open(line: str) -> None:
    assert opened(PairTest, line) == []


def test_results_without_a_pair_above_are_not_read() -> None:
    assert facts("GPU0 -> GPU1 warm-up\n\n  Write: 3.0 GB/s\n") == []


def test_damaged_text_never_raises() -> None:
    for broken in damaged(TEXT):
        parse(broken)


def test_field_case_shows_the_collapse(corpus: Path) -> None:
    text = (corpus / "cases/single-p2p-posted-write-collapse/p2p_test.txt").read_text()
    slow = min(facts(text), key=lambda fact: fact.bytes_per_second)
    assert slow.bytes_per_second == pytest.approx(2.7e9)
    assert slow.reference_bytes_per_second == pytest.approx(39.7e9)
    assert slow.concurrent is True
    assert len(facts(text)) == 5
