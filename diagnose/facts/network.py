"""Facts about network interfaces, RDMA ports and the fabric. Subject: the NIC, and the port where it has several.

Counters are kept apart from rates: a counter holds everything since the driver was loaded or the counter was cleared,
a rate is the difference of two readings over the time between them.
"""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class NetworkInterface(Fact):
    """A network interface of the kernel: its link, driver and settings."""

    kind: ClassVar[str] = "network-interface"
    link_detected: bool | None = optional("Whether the interface has carrier")
    operational_state: str | None = optional(
        "State as the kernel names it, in lower case: `up`, `down`, `dormant`, ..."
    )
    speed_gigabits_per_second: float | None = optional("Speed of the link now")
    speed_supported_max_gigabits_per_second: float | None = optional("Highest speed among the supported link modes")
    speed_advertised_max_gigabits_per_second: float | None = optional("Highest speed among the advertised link modes")
    speed_partner_max_gigabits_per_second: float | None = optional("Highest speed that the link partner advertises")
    duplex: str | None = optional("`full` or `half`")
    auto_negotiation: bool | None = optional("Whether speed and duplex are negotiated")
    mtu_bytes: int | None = optional("Largest payload of a frame")
    driver: str | None = optional("Kernel driver, e.g. `mlx5_core`, `ena`")
    driver_version: str | None = optional("Version of the driver")
    firmware_version: str | None = optional("Version of the device's firmware")
    rdma_device: str | None = optional("RDMA device on the same port, e.g. `mlx5_0`")
    numa_node: int | None = optional("NUMA node of the device")
    link_type: str | None = optional("`ether`, `infiniband`, `loopback`, ...")
    receive_ring_entries: int | None = optional("Receive ring size in force")
    receive_ring_max_entries: int | None = optional("Largest receive ring")
    transmit_ring_entries: int | None = optional("Transmit ring size in force")
    transmit_ring_max_entries: int | None = optional("Largest transmit ring")
    receive_pause: bool | None = optional("Whether received pause frames are obeyed (global flow control)")
    transmit_pause: bool | None = optional("Whether pause frames are sent (global flow control)")


class NetworkCounters(Fact):
    """Counters of a network interface since the driver was loaded."""

    kind: ClassVar[str] = "network-counters"
    receive_bytes: int | None = optional("Bytes received")
    transmit_bytes: int | None = optional("Bytes sent")
    receive_packets: int | None = optional("Packets received")
    transmit_packets: int | None = optional("Packets sent")
    receive_errors: int | None = optional("Packets received with an error")
    transmit_errors: int | None = optional("Packets that could not be sent")
    receive_dropped: int | None = optional("Received packets that the host dropped")
    transmit_dropped: int | None = optional("Packets dropped before sending")
    receive_crc_errors: int | None = optional("Frames received with a wrong check sum")
    receive_symbol_errors: int | None = optional("Symbol errors of the physical layer")
    receive_buffer_shortages: int | None = optional("Packets dropped for lack of a receive buffer in the host")
    receive_port_discards: int | None = optional("Packets dropped in the port for lack of buffer (`rx_discards_phy`)")
    transmit_port_discards: int | None = optional("Packets that the port dropped instead of sending")
    receive_pause_frames: int | None = optional("Pause frames received, global and of every priority")
    transmit_pause_frames: int | None = optional("Pause frames sent, global and of every priority")
    transmit_paused_seconds: float | None = optional("Time in which sending was stopped by received pause frames")
    receive_ecn_marked_packets: int | None = optional("Received packets that carry a congestion mark")
    link_down_events: int | None = optional("Times that the port lost its link")
    carrier_changes: int | None = optional("Times that carrier was lost or gained")
    bandwidth_allowance_exceeded_packets: int | None = optional(
        "Packets queued or dropped because a cloud instance passed its bandwidth allowance"
    )


class NetworkRates(Fact):
    """How fast counters of a network interface rose between two readings."""

    kind: ClassVar[str] = "network-rates"
    interval_seconds: float = required("Time between the readings")
    receive_bytes_per_second: float | None = optional("Bytes received")
    transmit_bytes_per_second: float | None = optional("Bytes sent")
    receive_errors_per_second: float | None = optional("Packets received with an error")
    receive_dropped_per_second: float | None = optional("Received packets that the host dropped")
    transmit_dropped_per_second: float | None = optional("Packets dropped before sending")
    receive_buffer_shortages_per_second: float | None = optional("Packets dropped for lack of a receive buffer")
    receive_port_discards_per_second: float | None = optional("Packets dropped in the port for lack of buffer")
    transmit_port_discards_per_second: float | None = optional("Packets that the port dropped instead of sending")
    receive_pause_frames_per_second: float | None = optional("Pause frames received")
    transmit_pause_frames_per_second: float | None = optional("Pause frames sent")
    transmit_paused_ratio: float | None = optional("Share of time in which sending was stopped by pause frames, 0 to 1")
    receive_ecn_marked_per_second: float | None = optional("Received packets that carry a congestion mark")
    bandwidth_allowance_exceeded_per_second: float | None = optional(
        "Packets over a cloud instance's bandwidth allowance"
    )


class NetworkRise(Fact):
    """What counters of a network interface rose by between two readings whose times are not told. A feature."""

    kind: ClassVar[str] = "network-rise"
    receive_bytes: int | None = optional("Bytes received in between")
    transmit_bytes: int | None = optional("Bytes sent in between")
    receive_packets: int | None = optional("Packets received in between")
    transmit_packets: int | None = optional("Packets sent in between")
    receive_port_discards: int | None = optional("Packets dropped in the port for lack of buffer")
    transmit_port_discards: int | None = optional("Packets that the port dropped instead of sending")
    receive_pause_frames: int | None = optional("Pause frames received, global and of every priority")
    transmit_paused_seconds: float | None = optional("Time in which sending was stopped by received pause frames")
    receive_ecn_marked_packets: int | None = optional("Received packets that carry a congestion mark")
    bandwidth_allowance_exceeded_packets: int | None = optional("Packets over a cloud instance's bandwidth allowance")


class RdmaRise(Fact):
    """What counters of an RDMA port rose by between two readings whose times are not told. A feature.

    Subject: RDMA device and port.
    """

    kind: ClassVar[str] = "rdma-rise"
    receive_bytes: int | None = optional("Bytes received in between")
    transmit_bytes: int | None = optional("Bytes sent in between")
    receive_packets: int | None = optional("Packets received in between")
    transmit_packets: int | None = optional("Packets sent in between")
    symbol_errors: int | None = optional("Minor link errors")
    link_recovers: int | None = optional("Times that the link recovered by itself")
    link_downed: int | None = optional("Times that the link went down")
    transmit_discards: int | None = optional("Packets dropped because the port was down or congested")
    transmit_wait_ticks: int | None = optional("Ticks in which data waited for credits or arbitration")
    out_of_sequence: int | None = optional("Packets received out of order")
    packet_sequence_errors: int | None = optional("Sequence errors that the peer reported")
    local_ack_timeouts: int | None = optional("Acknowledgements that did not come in time")
    out_of_buffer: int | None = optional("Packets dropped because no receive request was posted")
    congestion_notifications_handled: int | None = optional("Congestion notifications obeyed")
    ecn_marked_packets: int | None = optional("Received RoCE packets that carry a congestion mark")


class RdmaDevice(Fact):
    """An InfiniBand or RoCE adapter. Subject: the RDMA device."""

    kind: ClassVar[str] = "rdma-device"
    model: str | None = optional("Type as the tool prints it, e.g. `MT4129`")
    ports: int | None = optional("Number of ports")
    firmware_version: str | None = optional("Version of the firmware")
    board_id: str | None = optional("PSID of the board")


class RdmaPort(Fact):
    """One port of an InfiniBand or RoCE adapter. Subject: RDMA device and port."""

    kind: ClassVar[str] = "rdma-port"
    state: str | None = optional("Logical state in lower case: `active`, `init`, `armed`, `down`")
    physical_state: str | None = optional("Physical state in lower case: `linkup`, `polling`, `disabled`, `sleep`, ...")
    rate_gigabits_per_second: float | None = optional("Rate that is printed; a port that is down still prints one")
    width_lanes: int | None = optional("Lanes in use")
    link_layer: str | None = optional("`infiniband` or `ethernet`")
    active_mtu_bytes: int | None = optional("MTU in force")
    max_mtu_bytes: int | None = optional("Largest MTU of the port")
    base_lid: int | None = optional("Address that the subnet manager gave; 0 for none")
    subnet_manager_lid: int | None = optional("Address of the subnet manager; 0 for none")
    network_interface: str | None = optional("Network interface on the same port")


class RdmaPortComparison(Fact):
    """A port beside the other ports of the host's adapters of the same model. A feature of its rdma-port facts.

    Subject: RDMA device and port.
    """

    kind: ClassVar[str] = "rdma-port-comparison"
    model: str | None = optional("Model of the adapter; absent where it is not told, and all ports are compared")
    state: str | None = optional("As in rdma-port")
    physical_state: str | None = optional("As in rdma-port")
    peers: int = required("Other ports of such adapters")
    active_peers: int = required("Those of them that are active")
    rate_gigabits_per_second: float | None = optional("Rate of the port; absent where it is not active")
    peers_rate_gigabits_per_second: float | None = optional("Median rate of the active peers")
    rate_to_peers_ratio: float | None = optional("The port's rate over theirs")
    active_mtu_bytes: int | None = optional("MTU in force")
    peers_mtu_bytes: int | None = optional("Largest MTU in force among the active peers")


class RdmaDeviceFailure(Fact):
    """An RDMA device or its port did not answer. Subject: the RDMA device."""

    kind: ClassVar[str] = "rdma-device-failure"
    reason: str = required("`not-readable` (listed, but its state cannot be read), `not-found` or `no-devices`")
    message: str = required("What was printed")


class RdmaCounters(Fact):
    """Counters of an RDMA port since they were cleared. Subject: RDMA device and port."""

    kind: ClassVar[str] = "rdma-counters"
    symbol_errors: int | None = optional("Minor link errors on one or more lanes")
    link_recovers: int | None = optional("Times that the link recovered by itself")
    link_downed: int | None = optional("Times that recovery failed and the link went down")
    receive_errors: int | None = optional("Packets received with an error (`port_rcv_errors`)")
    receive_remote_physical_errors: int | None = optional("Packets marked bad by another port of the path")
    local_link_integrity_errors: int | None = optional("Times that local physical errors passed their limit")
    excessive_buffer_overruns: int | None = optional("Times that flow control was violated")
    transmit_discards: int | None = optional("Packets dropped because the port was down or congested")
    transmit_wait_ticks: int | None = optional(
        "Ticks in which data waited for credits or arbitration (`port_xmit_wait`)"
    )
    receive_bytes: int | None = optional("Bytes received (the device counts in words of 4 bytes)")
    transmit_bytes: int | None = optional("Bytes sent (the device counts in words of 4 bytes)")
    receive_packets: int | None = optional("Packets received")
    transmit_packets: int | None = optional("Packets sent")
    out_of_sequence: int | None = optional("Packets received out of order: some were lost before them")
    packet_sequence_errors: int | None = optional("Sequence errors that the peer reported")
    local_ack_timeouts: int | None = optional("Times that no acknowledgement came in time")
    rnr_nak_retries: int | None = optional("Retries because the receiver was not ready")
    out_of_buffer: int | None = optional("Packets dropped because no receive request was posted")
    congestion_notifications_sent: int | None = optional("Congestion notifications sent (`np_cnp_sent`)")
    congestion_notifications_handled: int | None = optional("Congestion notifications obeyed (`rp_cnp_handled`)")
    ecn_marked_packets: int | None = optional("Received RoCE packets that carry a congestion mark")
    adaptive_retransmissions: int | None = optional("Adaptive retransmissions of RoCE packets")


class RdmaRates(Fact):
    """How fast counters of an RDMA port rose between two readings. Subject: RDMA device and port."""

    kind: ClassVar[str] = "rdma-rates"
    interval_seconds: float = required("Time between the readings")
    receive_bytes_per_second: float | None = optional("Bytes received")
    transmit_bytes_per_second: float | None = optional("Bytes sent")
    symbol_errors_per_second: float | None = optional("Minor link errors")
    link_recovers_in_interval: int | None = optional("Recoveries between the readings")
    link_downed_in_interval: int | None = optional("Link losses between the readings")
    receive_errors_per_second: float | None = optional("Packets received with an error")
    transmit_discards_per_second: float | None = optional("Packets dropped instead of being sent")
    transmit_wait_ticks_per_second: float | None = optional("Ticks in which data waited")
    out_of_sequence_per_second: float | None = optional("Packets received out of order")
    packet_sequence_errors_per_second: float | None = optional("Sequence errors that the peer reported")
    local_ack_timeouts_per_second: float | None = optional("Acknowledgements that did not come in time")
    out_of_buffer_per_second: float | None = optional("Packets dropped because no receive request was posted")
    congestion_notifications_sent_per_second: float | None = optional("Congestion notifications sent")
    congestion_notifications_handled_per_second: float | None = optional("Congestion notifications obeyed")
    ecn_marked_packets_per_second: float | None = optional("Received RoCE packets that carry a congestion mark")


class NetworkModule(Fact):
    """The pluggable transceiver of a port (`ethtool -m`). Subject: the NIC."""

    kind: ClassVar[str] = "network-module"
    identifier: str | None = optional("Form, e.g. `QSFP28`, `SFP`")
    vendor: str | None = optional("Vendor and part number")
    temperature_celsius: float | None = optional("Temperature of the module")
    receive_power_dbm: float | None = optional("Received optical power; of the weakest lane where there are several")
    transmit_power_dbm: float | None = optional("Sent optical power; of the weakest lane where there are several")
    alarms: str | None = optional("Alarm flags that are on, separated by `; `; absent where none is")
    warnings: str | None = optional("Warning flags that are on, separated by `; `; absent where none is")


class FabricSwitch(Fact):
    """An InfiniBand switch's own health (ibswinfo). Subject: the fabric; the switch stands in `name`."""

    kind: ClassVar[str] = "fabric-switch"
    name: str = required("GUID, or the name that is printed")
    product: str | None = optional("Product name or part number")
    firmware_version: str | None = optional("Version of the firmware")
    temperature_celsius: float | None = optional("Temperature")
    fans_ok: bool | None = optional("Whether the fans are reported as good")
    power_supplies: int | None = optional("Power supplies listed")
    power_supplies_failed: int | None = optional("Power supplies with a status, power or fan other than OK")


class FabricTopology(Fact):
    """The InfiniBand fabric as ibnetdiscover lists it, counted."""

    kind: ClassVar[str] = "fabric-topology"
    few_per_host: ClassVar[bool] = True
    switches: int = required("Switches")
    adapters: int = required("Host channel adapters")
    host_links: int = required("Links between an adapter and a switch")
    switch_links: int = required("Links between two switches")
    usual_link: str | None = optional("Width and speed of most links, e.g. `4xNDR`")
    slower_links: int | None = optional("Links below the width and speed of most links of their sort")
    slower_link_names: str | None = optional("The first few of them")
