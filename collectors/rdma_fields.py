"""Names that tools and the kernel give to RDMA counters, and the fields of `rdma-counters` that they fill.

Meanings: Linux, Documentation/ABI/stable/sysfs-class-infiniband (port counters) and the mlx5 driver (hw_counters).
Data counters count words of four bytes except where the exporter multiplied already.
"""

from __future__ import annotations

from collections.abc import Mapping

WORD_BYTES = 4

SYSFS_FIELDS: Mapping[str, str] = {
    "symbol_error": "symbol_errors",
    "link_error_recovery": "link_recovers",
    "link_downed": "link_downed",
    "port_rcv_errors": "receive_errors",
    "port_rcv_remote_physical_errors": "receive_remote_physical_errors",
    "local_link_integrity_errors": "local_link_integrity_errors",
    "excessive_buffer_overrun_errors": "excessive_buffer_overruns",
    "port_xmit_discards": "transmit_discards",
    "port_xmit_wait": "transmit_wait_ticks",
    "port_rcv_data": "receive_bytes",
    "port_xmit_data": "transmit_bytes",
    "port_rcv_packets": "receive_packets",
    "port_xmit_packets": "transmit_packets",
    "out_of_sequence": "out_of_sequence",
    "packet_seq_err": "packet_sequence_errors",
    "local_ack_timeout_err": "local_ack_timeouts",
    "rnr_nak_retry_err": "rnr_nak_retries",
    "out_of_buffer": "out_of_buffer",
    "np_cnp_sent": "congestion_notifications_sent",
    "rp_cnp_handled": "congestion_notifications_handled",
    "np_ecn_marked_roce_packets": "ecn_marked_packets",
    "roce_adp_retrans": "adaptive_retransmissions",
}
"""Files below `ports/<n>/counters` and `ports/<n>/hw_counters`."""

WORD_FIELDS = frozenset({"receive_bytes", "transmit_bytes"})
"""Fields whose counter in the device is in words of four bytes."""

PERFQUERY_FIELDS: Mapping[str, str] = {
    "symbolerrorcounter": "symbol_errors",
    "linkerrorrecoverycounter": "link_recovers",
    "linkdownedcounter": "link_downed",
    "portrcverrors": "receive_errors",
    "portrcvremotephysicalerrors": "receive_remote_physical_errors",
    "locallinkintegrityerrors": "local_link_integrity_errors",
    "excessivebufferoverrunerrors": "excessive_buffer_overruns",
    "portxmitdiscards": "transmit_discards",
    "portxmitwait": "transmit_wait_ticks",
    "portrcvdata": "receive_bytes",
    "portxmitdata": "transmit_bytes",
    "portrcvpkts": "receive_packets",
    "portxmitpkts": "transmit_packets",
}
"""Keys of `perfquery` and `perfquery -x` in lower case."""

NODE_EXPORTER_FIELDS: Mapping[str, str] = {
    "node_infiniband_symbol_error_total": "symbol_errors",
    "node_infiniband_link_error_recovery_total": "link_recovers",
    "node_infiniband_link_downed_total": "link_downed",
    "node_infiniband_port_errors_received_total": "receive_errors",
    "node_infiniband_port_receive_remote_physical_errors_total": "receive_remote_physical_errors",
    "node_infiniband_local_link_integrity_errors_total": "local_link_integrity_errors",
    "node_infiniband_excessive_buffer_overrun_errors_total": "excessive_buffer_overruns",
    "node_infiniband_port_discards_transmitted_total": "transmit_discards",
    "node_infiniband_port_transmit_wait_total": "transmit_wait_ticks",
    "node_infiniband_port_data_received_bytes_total": "receive_bytes",
    "node_infiniband_port_data_transmitted_bytes_total": "transmit_bytes",
    "node_infiniband_port_packets_received_total": "receive_packets",
    "node_infiniband_port_packets_transmitted_total": "transmit_packets",
}
"""Metrics of node_exporter; its data counters are bytes."""

STATES: Mapping[int, str] = {1: "down", 2: "init", 3: "armed", 4: "active", 5: "active-defer"}
"""Logical states by the number that sysfs and exporters give."""

PHYSICAL_STATES: Mapping[int, str] = {
    1: "sleep",
    2: "polling",
    3: "disabled",
    4: "training",
    5: "linkup",
    6: "link-error-recovery",
    7: "phy-test",
}
"""Physical states by number."""


def state_word(text: str) -> str | None:
    """`4: ACTIVE`, `Active` and `PORT_ACTIVE (4)` as `active`; None where the text is empty."""
    word = text.partition(":")[2] if text[:1].isdigit() and ":" in text else text.partition("(")[0]
    return word.strip().lower().removeprefix("port_") or None
