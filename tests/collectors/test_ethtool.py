from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collectors.base import BlockCollector
from collectors.ethtool import EthtoolDriver, EthtoolPause, EthtoolRings, EthtoolSettings, nic_of_command
from collectors.scan import read_inputs
from tests.collectors.helpers import block, damaged, opened

SETTINGS = """\
Settings for ens1f0np0:
\tSupported ports: [ Backplane ]
\tSupported link modes:   25000baseCR/Full
\t                        100000baseCR4/Full
\t                        200000baseCR4/Full
\tAdvertised link modes:  100000baseCR4/Full
\tLink partner advertised link modes:  Not reported
\tSpeed: 100000Mb/s
\tDuplex: Full
\tAuto-negotiation: on
\tLink detected: yes
"""
DOWN = """\
Settings for eno2:
\tSupported link modes:   10baseT/Half 10baseT/Full
\t                        1000baseT/Full
\tSpeed: Unknown!
\tDuplex: Unknown! (255)
\tLink detected: no
"""
DRIVER = """\
driver: mlx5_core
version: 24.04-0.6.6
firmware-version: 28.39.1002 (MT_0000000838)
expansion-rom-version:
bus-info: 0000:1a:00.0
supports-statistics: yes
"""
RINGS = """\
Ring parameters for ens1f0np0:
Pre-set maximums:
RX:\t\t8192
RX Mini:\tn/a
TX:\t\t8192
Current hardware settings:
RX:\t\t1024
TX:\t\t512
"""
PAUSE = """\
Pause parameters for ens1f0np0:
Autonegotiate:\toff
RX:\t\ton
TX:\t\toff
"""


def interface(collector: type[BlockCollector], text: str, command: str | None = None) -> Any:
    (fact,) = collector.parse(block(text, command=command)).facts
    return fact


def test_the_fastest_mode_may_stand_on_a_further_line() -> None:
    fact = interface(EthtoolSettings, SETTINGS)
    assert fact.subject.nic == "ens1f0np0"
    assert fact.values() == {
        "link_detected": True,
        "speed_gigabits_per_second": 100.0,
        "speed_supported_max_gigabits_per_second": 200.0,
        "speed_advertised_max_gigabits_per_second": 100.0,
        "duplex": "full",
        "auto_negotiation": True,
    }


def test_an_unknown_speed_is_absent() -> None:
    fact = interface(EthtoolSettings, DOWN)
    assert fact.values() == {"link_detected": False, "speed_supported_max_gigabits_per_second": 1.0}


def test_the_driver_is_joined_by_bus_id_and_by_the_command() -> None:
    fact = interface(EthtoolDriver, DRIVER, command="ethtool -i ens1f0np0")
    assert (fact.subject.nic, fact.subject.bus_id) == ("ens1f0np0", "0000:1a:00.0")
    assert (fact.driver, fact.firmware_version) == ("mlx5_core", "28.39.1002 (MT_0000000838)")


def test_rings_now_and_at_most() -> None:
    assert interface(EthtoolRings, RINGS).values() == {
        "receive_ring_entries": 1024,
        "receive_ring_max_entries": 8192,
        "transmit_ring_entries": 512,
        "transmit_ring_max_entries": 8192,
    }


def test_pause_by_direction() -> None:
    assert interface(EthtoolPause, PAUSE).values() == {"receive_pause": True, "transmit_pause": False}


@pytest.mark.parametrize(
    ("command", "nic"),
    [
        ("ethtool -S eth0", "eth0"),
        ("sudo ethtool ens1f0np0", "ens1f0np0"),
        ("ethtool -S eth1 | grep drop", "eth1"),
        ("ethtool --version", None),
        (None, None),
    ],
)
def test_the_interface_of_a_command(command: str | None, nic: str | None) -> None:
    assert nic_of_command(command) == nic


def test_titles_open() -> None:
    text = SETTINGS + RINGS + PAUSE
    for collector in (EthtoolSettings, EthtoolRings, EthtoolPause):
        assert len(opened(collector, text)) == 1
    assert EthtoolDriver.resembles(DRIVER.splitlines()) > 0.5
    assert EthtoolDriver.resembles(["driver: a person", "age: 30"]) == 0


def test_damaged_output_does_not_raise() -> None:
    pairs = ((EthtoolSettings, SETTINGS + DOWN), (EthtoolDriver, DRIVER), (EthtoolRings, RINGS), (EthtoolPause, PAUSE))
    for collector, sample in pairs:
        for text in damaged(sample):
            collector.parse(block(text))


def test_every_file_of_the_corpus_is_recognised(corpus: Path) -> None:
    readings = read_inputs([str(corpus / "files" / "ethtool"), str(corpus / "files" / "eth-counters")])
    kinds = {Path(report.path).name: report.kind for report in readings.inputs}
    assert all(kind.startswith("ethtool") for kind in kinds.values()), kinds
