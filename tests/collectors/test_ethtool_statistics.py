from __future__ import annotations

from typing import Any

from collectors.ethtool_statistics import EthtoolStatistics
from tests.collectors.helpers import block, damaged, opened

MLX5 = """\
NIC statistics:
     rx_packets: 100
     rx_bytes: 1000
     rx_bytes_phy: 1200
     rx_discards_phy: 7
     rx_out_of_buffer: 3
     rx_prio3_pause: 40
     rx_prio3_pause_duration: 2500000
     rx_prio0_pause: 2
     rx_global_pause_duration: 100
     tx_prio3_pause: 11
     link_down_events_phy: 4
     rx_pcs_symbol_err_phy: 9
"""
ENA = """\
NIC statistics:
     tx_timeout: 0
     bw_in_allowance_exceeded: 12
     bw_out_allowance_exceeded: 30
     pps_allowance_exceeded: 0
     rx_drops: 5
"""


def counters(text: str, command: str | None = None) -> Any:
    return EthtoolStatistics.parse(block(text, command=command)).facts[0]


def test_counters_of_the_port_come_before_those_of_the_host() -> None:
    fact = counters(MLX5, command="ethtool -S ens1f0np0")
    assert fact.subject.nic == "ens1f0np0"
    assert fact.values() == {
        "receive_bytes": 1200,
        "receive_packets": 100,
        "receive_symbol_errors": 9,
        "receive_buffer_shortages": 3,
        "receive_port_discards": 7,
        "receive_pause_frames": 42,
        "transmit_pause_frames": 11,
        "transmit_paused_seconds": 2.5,
        "link_down_events": 4,
    }


def test_packets_over_a_cloud_allowance_are_summed_up() -> None:
    assert counters(ENA).values() == {"receive_dropped": 5, "bandwidth_allowance_exceeded_packets": 42}


def test_the_title_opens_and_words_of_absence_are_recognised() -> None:
    assert opened(EthtoolStatistics, MLX5) == ["NIC statistics:"]
    assert EthtoolStatistics.resembles(["no stats available"]) == 1
    parsed = EthtoolStatistics.parse(block("no stats available"))
    assert parsed.facts == []
    assert len(parsed.problems) == 1


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(MLX5 + ENA):
        EthtoolStatistics.parse(block(text))
