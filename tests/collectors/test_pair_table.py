from __future__ import annotations

from pathlib import Path

import pytest

from collectors.base import Parsed
from collectors.pair_bandwidth import unit_bytes_per_second
from collectors.pair_table import PairTable
from diagnose.facts.topology import PeerBandwidth, PeerBandwidthSummary
from tests.collectors.helpers import block, damaged, opened

NOW_AND_BEFORE = """\
path,healthy_GBps,now_GBps
same switch GPU0-GPU1,52,51
across GPU0-GPU4,48,9
"""

HOSTS = """\
node_a,node_b,busbw_GBps
n01,n02,20
n02,n01,21
n01,n03,40
n02,n04,41
"""


def parse(text: str) -> Parsed:
    return PairTable.parse(block(text))


def facts(text: str) -> list[PeerBandwidth]:
    return [fact for fact in parse(text).facts if isinstance(fact, PeerBandwidth)]


def summary(text: str) -> PeerBandwidthSummary:
    (fact,) = [fact for fact in parse(text).facts if isinstance(fact, PeerBandwidthSummary)]
    return fact


def test_two_columns_of_one_unit_are_reference_and_now() -> None:
    found = [
        (fact.subject.gpu_index, fact.peer, fact.reference_bytes_per_second, fact.bytes_per_second, fact.label)
        for fact in facts(NOW_AND_BEFORE)
    ]
    assert found == [
        (0, "1", 52e9, 51e9, "same switch GPU0-GPU1"),
        (0, "4", 48e9, 9e9, "across GPU0-GPU4"),
    ]
    assert summary(NOW_AND_BEFORE).lowest_to_reference_ratio == pytest.approx(0.1875)


@pytest.mark.parametrize(
    ("header", "reference", "now"),
    [
        ("pair,now_GBps,healthy_GBps", 9e9, 7e9),
        ("pair,GB/s,baseline GB/s", 9e9, 7e9),
        ("pair,gen5_GBps,gen2_GBps", 7e9, 9e9),
        ("pair,first_GBps,second_GBps", 7e9, 9e9),
    ],
)
def test_names_tell_which_column_is_the_reference(header: str, reference: float, now: float) -> None:
    (fact,) = facts(f"{header}\nGPU2-GPU3,7,9\n")
    assert (fact.reference_bytes_per_second, fact.bytes_per_second) == (reference, now)


def test_pairs_of_hosts_have_the_host_as_subject_and_count_once() -> None:
    found = {(fact.subject.host, fact.peer): fact.bytes_per_second for fact in facts(HOSTS)}
    assert found == {("n01", "n02"): 20e9, ("n01", "n03"): 40e9, ("n02", "n04"): 41e9}
    assert {fact.between_hosts for fact in facts(HOSTS)} == {True}


def test_hosts_that_are_called_like_gpus_are_hosts_where_the_columns_say_so() -> None:
    found = facts("node_a,node_b,busbw_GBps\ngpu01,gpu02,20\ngpu01,gpu03,40\n")
    assert {fact.between_hosts for fact in found} == {True}
    assert {fact.subject.host for fact in found} == {"gpu01"}
    assert {fact.subject.gpu_index for fact in facts("pair,GB/s\nGPU2-GPU3,7\n")} == {2}


def test_summary_of_hosts_tells_that_both_ends_are_fast_elsewhere() -> None:
    fact = summary(HOSTS)
    assert (fact.lowest_pair, fact.subject.host) == ("n01-n02", None)
    assert fact.lowest_to_median_ratio == pytest.approx(0.5)
    assert fact.ends_elsewhere_to_median_ratio == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "first", "peer"),
    [
        ("gpu_a;gpu_b;bandwidth (GB/s)\n0;3;10\n", 0, "3"),
        ("| src | dst | Gb/s |\n| GPU0 | GPU3 | 80 |\n", 0, "3"),
        ("pair\tGB/s\nGPU 0 -> GPU 3\t10\n", 0, "3"),
    ],
)
def test_separators_and_spellings(text: str, first: int, peer: str) -> None:
    (fact,) = facts(text)
    assert (fact.subject.gpu_index, fact.peer, fact.bytes_per_second) == (first, peer, 10e9)


@pytest.mark.parametrize(
    "header",
    [
        "rank,backward_ms",
        "name,busbw_GBps",
        "node_a,node_b,latency_us",
        "path,a_GBps,b_Gbps",
        "path,a_GBps,b_GBps,c_GBps",
        "n01,n02,25 GB/s",
        "Link 0: 26.562 GB/s",
        "we saw 3 GB/s, then 4 GB/s",
    ],
)
def test_other_tables_and_sentences_do_not_open(header: str) -> None:
    assert opened(PairTable, header) == []


def test_bare_numbers_without_a_word_for_them_name_nothing() -> None:
    assert facts("src,dst,GBps\n0,3,10\n") == []


def test_rows_without_a_number_are_passed_over() -> None:
    assert len(facts(NOW_AND_BEFORE + "GPU5-GPU6,50,N/A\nend of table\n")) == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("GB/s", 1e9),
        ("GBps", 1e9),
        ("Gb/s", 1.25e8),
        ("Gbps", 1.25e8),
        ("gbps", 1.25e8),
        ("Gbit/s", 1.25e8),
        ("GiB/s", float(1 << 30)),
        ("MB/s", 1e6),
        ("KB/s", None),
        ("GB", None),
    ],
)
def test_units(text: str, value: float | None) -> None:
    assert unit_bytes_per_second(text) == value


@pytest.mark.parametrize("text", [NOW_AND_BEFORE, HOSTS])
def test_damaged_text_never_raises(text: str) -> None:
    for broken in damaged(text):
        parse(broken)


def test_field_table_shows_the_pair_that_lost_its_rate(corpus: Path) -> None:
    text = (corpus / "cases/single-pcie-uplink-gen2/p2p_pairs_degraded.csv").read_text()
    slow = min(facts(text), key=lambda fact: fact.bytes_per_second)
    assert (slow.subject.gpu_index, slow.peer, slow.reference_bytes_per_second) == (0, "4", 95e9)
    assert len(opened(PairTable, text)) == 1


def test_field_table_of_hosts_shows_the_slow_route(corpus: Path) -> None:
    fact = summary((corpus / "cases/multinode-routing-collision-pair/pairs.csv").read_text())
    assert (fact.lowest_pair, fact.ends_elsewhere_to_median_ratio) == ("node01-node02", 1.0)
