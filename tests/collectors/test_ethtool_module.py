from __future__ import annotations

from pathlib import Path
from typing import Any

from collectors.ethtool_module import EthtoolModule
from tests.collectors.helpers import block, damaged, opened

MODULE = """\
\tIdentifier                                : 0x11 (QSFP28)
\tVendor name                               : ACME
\tVendor PN                                 : AOC-100
\tModule temperature                        : 61.20 degrees C / 142.16 degrees F
\tLaser tx bias current (Channel 1)         : 6.750 mA
\tTransmit avg optical power (Channel 1)    : 1.0321 mW / 0.14 dBm
\tTransmit avg optical power (Channel 2)    : 0.9000 mW / -0.46 dBm
\tRcvr signal avg optical power(Channel 1)  : 0.5000 mW / -3.01 dBm
\tRcvr signal avg optical power(Channel 2)  : 0.0010 mW / -30.00 dBm
\tLaser rx power low alarm (Channel 2)      : On
\tLaser rx power low warning (Channel 2)    : On
\tModule temperature high alarm             : Off
\tLaser rx power low alarm threshold        : 0.0646 mW / -11.90 dBm
"""


def module(text: str) -> Any:
    (fact,) = EthtoolModule.parse(block(text)).facts
    return fact


def test_light_is_that_of_the_weakest_lane_and_thresholds_are_no_alarms() -> None:
    assert module(MODULE).values() == {
        "identifier": "QSFP28",
        "vendor": "ACME AOC-100",
        "temperature_celsius": 61.2,
        "transmit_power_dbm": -0.46,
        "receive_power_dbm": -30.0,
        "alarms": "Laser rx power low alarm (Channel 2)",
        "warnings": "Laser rx power low warning (Channel 2)",
    }


def test_the_first_line_opens() -> None:
    assert opened(EthtoolModule, MODULE) == [MODULE.splitlines()[0]]


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(MODULE):
        EthtoolModule.parse(block(text))


def test_the_module_of_the_corpus_gets_no_light(corpus: Path) -> None:
    fact = module((corpus / "files" / "ethtool" / "netdata-module-ddm-no-fiber.txt").read_text())
    assert fact.receive_power_dbm == -40
    assert "rx power low alarm" in fact.alarms
