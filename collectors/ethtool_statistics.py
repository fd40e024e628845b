"""`ethtool -S IF`: the driver's own counters. Names differ by driver; those that matter are brought together.

Sources: Linux, Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst, and the ENA driver's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from collectors.ethtool import nic_of_command
from collectors.rdma_sysfs import counter_values
from diagnose.facts import Subject
from diagnose.facts.network import NetworkCounters, RdmaCounters

_TITLE = re.compile(r"^NIC statistics:\s*$")
_PAIR = re.compile(r"^\s*([A-Za-z][\w. \[\]/-]{0,60}?):\s*(-?\d{1,20})\s*$")
_NOTHING = re.compile(r"^(?:no stats available|Cannot get stats strings information: .*|ERROR: \d{1,3})$")

_FIRST_OF: Mapping[str, tuple[str, ...]] = {
    "receive_bytes": ("rx_bytes_phy", "rx_bytes"),
    "transmit_bytes": ("tx_bytes_phy", "tx_bytes"),
    "receive_packets": ("rx_packets_phy", "rx_packets"),
    "transmit_packets": ("tx_packets_phy", "tx_packets"),
    "receive_errors": ("rx_errors",),
    "transmit_errors": ("tx_errors", "tx_errors_phy"),
    "receive_dropped": ("rx_dropped", "rx_drops", "port.rx_dropped"),
    "transmit_dropped": ("tx_dropped", "tx_drops"),
    "receive_crc_errors": ("rx_crc_errors_phy", "rx_crc_errors", "port.rx_crc_errors"),
    "receive_symbol_errors": ("rx_pcs_symbol_err_phy", "rx_symbol_err_phy"),
    "receive_buffer_shortages": ("rx_out_of_buffer", "rx_no_buffer_count", "rx_missed_errors", "rx_missed"),
    "receive_port_discards": ("rx_discards_phy",),
    "transmit_port_discards": ("tx_discards_phy",),
    "receive_ecn_marked_packets": ("rx_ecn_mark", "rx_ecn_marked"),
    "link_down_events": ("link_down_events_phy",),
}
"""The first name that the driver has counts."""

_SUM_OF: Mapping[str, re.Pattern[str]] = {
    "receive_pause_frames": re.compile(r"^rx_(?:pause_ctrl_phy|prio\d_pause|flow_control_xoff)$"),
    "transmit_pause_frames": re.compile(r"^tx_(?:pause_ctrl_phy|prio\d_pause|flow_control_xoff)$"),
    "bandwidth_allowance_exceeded_packets": re.compile(r"^(?:bw_(?:in|out)|pps)_allowance_exceeded$"),
}
_PAUSED_MICROSECONDS = re.compile(r"^rx_(?:global|prio\d)_pause_duration$")


class EthtoolStatistics(BlockCollector):
    """Counters of one interface."""

    kind: ClassVar[str] = "ethtool-statistics"
    literals: ClassVar[tuple[bytes, ...]] = (b"NIC statistics:",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bethtool\s+(?:-S|--statistics)\b")

    @classmethod
    def opens(cls, text: str) -> bool:
        """The title."""
        return _TITLE.match(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Counters without the title, or the words that there are none."""
        if len(lines) <= 2:
            return share(lines, _NOTHING)
        known = {match[1] for line in lines if (match := _PAIR.match(line)) is not None}
        return share(lines, _PAIR) if len(known & _KNOWN) >= 2 else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """The counters that matter, those of RDMA beside those of the interface."""
        counters: dict[str, int] = {}
        first: Line | None = None
        for line in block.lines:
            match = _PAIR.match(line.text)
            if match is not None:
                first = first or line
                counters.setdefault(match[1].strip(), int(match[2]))
        parsed = Parsed()
        subject = Subject(host=block.host, nic=nic_of_command(block.command))
        if values := _values(counters):
            parsed.facts.append(NetworkCounters(subject=subject, sources=(block.source(first),), **values))
        rdma = counter_values({name: str(value) for name, value in counters.items()})
        if rdma:
            parsed.facts.append(RdmaCounters(subject=subject, sources=(block.source(first),), **rdma))
        if not parsed.facts:
            parsed.problems.append(f"line {block.lines[0].number}: the driver gives no statistics that are known")
        return parsed


def _values(counters: Mapping[str, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field, names in _FIRST_OF.items():
        value = next((counters[name] for name in names if name in counters), None)
        if value is not None and value >= 0:
            found[field] = value
    for field, pattern in _SUM_OF.items():
        parts = [value for name, value in counters.items() if pattern.match(name) and value >= 0]
        if parts:
            found[field] = sum(parts)
    paused = [value for name, value in counters.items() if _PAUSED_MICROSECONDS.match(name) and value >= 0]
    if paused:
        # Priorities are stopped at the same time or not: the longest is what is certain.
        found["transmit_paused_seconds"] = max(paused) / 1e6
    return found


_KNOWN = frozenset(name for names in _FIRST_OF.values() for name in names)
