from __future__ import annotations

from pathlib import Path
from typing import Any

from collectors.perfquery import Perfquery
from tests.collectors.helpers import block, damaged, opened

EXTENDED = """\
# Port extended counters: Lid 9 port 1 (CapMask: 0x5A00 CapMask2: 0x0000000)
PortSelect:......................1
CounterSelect:...................0x0000
PortXmitData:....................1000
PortRcvData:.....................2000
SymbolErrorCounter:..............7
LinkErrorRecoveryCounter:........1
LinkDownedCounter:...............2
PortRcvErrors:...................3
PortXmitDiscards:................4
PortXmitWait:....................500
# Port extended counters: Lid 9 port 2 (CapMask: 0x5A00 CapMask2: 0x0000000)
PortSelect:......................2
LinkDownedCounter:...............0
"""
DETAILS = """\
# PortRcvErrorDetails counters: Lid 9 port 1
PortSelect:......................1
PortLocalPhysicalErrors:.........5
PortMalformedPktErrors:..........1
PortLoopingErrors:...............0
"""


def facts(text: str, command: str | None = None) -> list[Any]:
    return list(Perfquery.parse(block(text, command=command)).facts)


def test_each_port_has_its_counters_and_words_become_bytes() -> None:
    first, second = facts(EXTENDED)
    assert (first.subject.nic, first.subject.port) == ("lid 9", 1)
    assert first.values() == {
        "symbol_errors": 7,
        "link_recovers": 1,
        "link_downed": 2,
        "receive_errors": 3,
        "transmit_discards": 4,
        "transmit_wait_ticks": 500,
        "receive_bytes": 8000,
        "transmit_bytes": 4000,
    }
    assert second.values() == {"link_downed": 0}


def test_details_of_receive_errors_are_summed_up() -> None:
    (fact,) = facts(DETAILS)
    assert fact.values() == {"receive_errors": 6}


def test_the_device_of_the_command_is_the_subject() -> None:
    assert facts(EXTENDED, command="perfquery -x -C mlx5_3 -P 1")[0].subject.nic == "mlx5_3"


def test_headers_open() -> None:
    assert len(opened(Perfquery, EXTENDED)) == 2
    assert len(opened(Perfquery, DETAILS)) == 1


def test_counters_without_header_are_recognised() -> None:
    assert Perfquery.resembles(EXTENDED.splitlines()[1:10]) == 1


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(EXTENDED + DETAILS):
        Perfquery.parse(block(text))


def test_every_file_of_the_corpus_has_counters(corpus: Path) -> None:
    paths = [*(corpus / "files").glob("*/*perfquery*")]
    assert len(paths) > 8
    for path in paths:
        text = path.read_text()
        assert not text.strip() or facts(text), path.name
