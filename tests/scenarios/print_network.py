# ruff: noqa: ARG001 - All writers have one signature, used or not.
"""What the tools of the network print."""

from __future__ import annotations

from random import Random

from tests.scenarios.machine import Machine, Nic
from tests.scenarios.world import World

COUNTERS = {
    "SymbolErrorCounter": "symbol_error",
    "LinkErrorRecoveryCounter": "link_error_recovery",
    "LinkDownedCounter": "link_downed",
    "PortRcvErrors": "port_rcv_errors",
    "PortRcvRemotePhysicalErrors": "port_rcv_remote_physical_errors",
    "PortRcvSwitchRelayErrors": "port_rcv_switch_relay_errors",
    "PortXmitDiscards": "port_xmit_discards",
    "LocalLinkIntegrityErrors": "local_link_integrity_errors",
    "ExcessiveBufferOverrunErrors": "excessive_buffer_overrun_errors",
    "VL15Dropped": "VL15_dropped",
    "PortXmitWait": "port_xmit_wait",
}
"""Of perfquery, and of the kernel's files. Nic.counters and Nic.rates use the latter."""
HARDWARE = (
    "out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "out_of_buffer", "rnr_nak_retry_err",
    "np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets", "roce_adp_retrans",
)  # fmt: skip


def ibstat(world: World, node: Machine, rng: Random) -> str:
    """`ibstat`."""
    lines = []
    for number, nic in enumerate(node.nics):
        up = nic.state == "Active"
        infiniband = node.link_layer == "InfiniBand"
        lines += [
            f"CA '{nic.name}'",
            f"\tCA type: {node.nic_model.hca_type}",
            "\tNumber of ports: 1",
            f"\tFirmware version: {node.nic_model.firmware}",
            "\tHardware version: 0",
            f"\tNode GUID: 0x{nic.guid}",
            f"\tSystem image GUID: 0x{nic.guid}",
            "\tPort 1:",
            f"\t\tState: {nic.state}",
            f"\t\tPhysical state: {nic.physical_state}",
            f"\t\tRate: {nic.gigabits if up else 10}",
            f"\t\tBase lid: {120 + number if infiniband and up else 0}",
            "\t\tLMC: 0",
            f"\t\tSM lid: {1 if infiniband else 0}",
            f"\t\tCapability mask: {'0xa651e848' if infiniband else '0x00010000'}",
            f"\t\tPort GUID: 0x{nic.guid}",
            f"\t\tLink layer: {node.link_layer}",
        ]
    return "\n".join(lines) + "\n"


def ibv_devinfo(world: World, node: Machine, rng: Random) -> str:
    """`ibv_devinfo`."""
    lines = []
    for number, nic in enumerate(node.nics):
        infiniband = node.link_layer == "InfiniBand"
        state = "PORT_ACTIVE (4)" if nic.state == "Active" else "PORT_DOWN (1)"
        codes = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
        guid = ":".join(nic.guid[at : at + 4] for at in range(0, 16, 4))
        lines += [
            f"hca_id:\t{nic.name}",
            "\ttransport:\t\t\tInfiniBand (0)",
            f"\tfw_ver:\t\t\t\t{node.nic_model.firmware}",
            f"\tnode_guid:\t\t\t{guid}",
            f"\tsys_image_guid:\t\t\t{guid}",
            "\tvendor_id:\t\t\t0x02c9",
            f"\tvendor_part_id:\t\t\t{node.nic_model.part}",
            "\thw_ver:\t\t\t\t0x0",
            "\tboard_id:\t\t\tMT_0000000838",
            "\tphys_port_cnt:\t\t\t1",
            "\t\tport:\t1",
            f"\t\t\tstate:\t\t\t{state}",
            "\t\t\tmax_mtu:\t\t4096 (5)",
            f"\t\t\tactive_mtu:\t\t{nic.mtu} ({codes[nic.mtu]})",
            f"\t\t\tsm_lid:\t\t\t{1 if infiniband else 0}",
            f"\t\t\tport_lid:\t\t{120 + number if infiniband else 0}",
            "\t\t\tport_lmc:\t\t0x00",
            f"\t\t\tlink_layer:\t\t{node.link_layer}",
            "",
        ]
    return "\n".join(lines) + "\n"


def perfquery(world: World, node: Machine, rng: Random) -> str:
    """`perfquery -x`, one port after the other."""
    lines = []
    for number, nic in enumerate(node.nics):
        values = {name: nic.counters.get(key, 0) for name, key in COUNTERS.items()}
        lines += [f"# Port extended counters: Lid {120 + number} port 1 (CapMask: 0x5A00 CapMask2: 0x0000000)"]
        head = {
            "PortSelect": "1",
            "CounterSelect": "0x0000",
            "PortXmitData": str(nic.counters["PortXmitData"]),
            "PortRcvData": str(nic.counters["PortRcvData"]),
            "PortXmitPkts": str(nic.counters["PortXmitData"] // 900),
            "PortRcvPkts": str(nic.counters["PortRcvData"] // 900),
        }
        lines += [f"{name}:{'.' * (32 - len(name))}{value}" for name, value in {**head, **values}.items()]
    return "\n".join(lines) + "\n"


def rdma_sysfs(world: World, node: Machine, rng: Random) -> str:
    """`grep -H . /sys/class/infiniband/*/ports/1/{,hw_}counters/*`."""
    lines = []
    for nic in node.nics:
        base = f"/sys/class/infiniband/{nic.name}/ports/1"
        for folder, names in (("counters", COUNTERS.values()), ("hw_counters", HARDWARE)):
            lines += [f"{base}/{folder}/{name}:{nic.counters.get(name, 0)}" for name in names]
        lines += [f"{base}/counters/port_xmit_data:{nic.counters['PortXmitData']}"]
        lines += [f"{base}/counters/port_rcv_data:{nic.counters['PortRcvData']}"]
    return "\n".join(lines) + "\n"


def ethtool_statistics(world: World, node: Machine, rng: Random) -> str:
    """`ethtool -S` of one interface."""
    nic = worst(node)
    sent, received = nic.counters["PortXmitData"] * 4, nic.counters["PortRcvData"] * 4
    values = {
        "rx_packets": received // 4000, "rx_bytes": received, "tx_packets": sent // 4000, "tx_bytes": sent,
        "rx_out_of_buffer": 0, "rx_crc_errors_phy": nic.counters.get("symbol_error", 0) // 3,
        "rx_symbol_err_phy": nic.counters.get("symbol_error", 0), "rx_discards_phy": 0,
        "tx_discards_phy": 0, "tx_errors_phy": 0, "rx_bytes_phy": received, "tx_bytes_phy": sent,
        "rx_prio3_bytes": received - 9000, "rx_prio3_pause": nic.counters.get("pause", 0),
        "rx_prio3_pause_duration": nic.counters.get("pause", 0) * 9, "tx_prio3_pause": 0,
        "link_down_events_phy": nic.counters.get("link_downed", 0),
    }  # fmt: skip
    return "NIC statistics:\n" + "".join(f"     {name}: {value}\n" for name, value in values.items())


def worst(node: Machine) -> Nic:
    """The NIC that an operator would look at."""
    return max(
        node.nics, key=lambda nic: (nic.state != "Active", -nic.gigabits, sum(nic.rates.values()), _counted(nic))
    )


def _counted(nic: Nic) -> int:
    return sum(value for name, value in nic.counters.items() if name not in ("PortXmitData", "PortRcvData"))


def ethtool(world: World, node: Machine, rng: Random) -> str:
    """`ethtool IF`, of every compute interface on Ethernet."""
    lines = []
    for nic in node.nics:
        up = nic.state == "Active"
        lines += [
            f"Settings for {nic.interface}:",
            "\tSupported ports: [ FIBRE\t Backplane ]",
            f"\tSpeed: {f'{nic.gigabits * 1000}Mb/s' if up else 'Unknown!'}",
            f"\tDuplex: {'Full' if up else 'Unknown! (255)'}",
            "\tAuto-negotiation: on",
            "\tPort: FIBRE",
            "\tPHYAD: 0",
            "\tTransceiver: internal",
            f"\tLink detected: {'yes' if up else 'no'}",
        ]
    return "\n".join(lines) + "\n"


def ip_link(world: World, node: Machine, rng: Random) -> str:
    """`ip link`."""
    lines = [
        "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000",
        "    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00",
        f"2: {world.job.interface}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT "
        "group default qlen 1000",
        "    link/ether 3c:ec:ef:10:20:30 brd ff:ff:ff:ff:ff:ff",
    ]
    for number, nic in enumerate(node.nics, 3):
        up = nic.state == "Active"
        mtu = (9000 if nic.mtu == 4096 else 1500) if node.link_layer == "Ethernet" else 4092
        flags = "BROADCAST,MULTICAST,UP,LOWER_UP" if up else "NO-CARRIER,BROADCAST,MULTICAST,UP"
        kind = "ether a0:88:c2:00:00:" if node.link_layer == "Ethernet" else "infiniband 00:00:10:49:fe:80:"
        lines += [
            f"{number}: {nic.interface}: <{flags}> mtu {mtu} qdisc mq state {'UP' if up else 'DOWN'} mode DEFAULT "
            "group default qlen 1000",
            f"    link/{kind}{number:02x} brd ff:ff:ff:ff:ff:ff",
        ]
    return "\n".join(lines) + "\n"


def perftest(world: World, node: Machine, rng: Random) -> str:
    """`ib_write_bw -a --report_gbits` over the worst port, from the node to a neighbour."""
    nic = worst(node)
    line = min(float(nic.gigabits), {1: 2, 2: 4, 3: 7.88, 4: 15.75, 5: 31.5}[nic.generation] * nic.width * 0.9)
    top = line * 0.965 * {4096: 1.0, 2048: 0.985, 1024: 0.96, 512: 0.9, 256: 0.8}[nic.mtu]
    rule = "-" * 87
    lines = [rule, "                    RDMA_Write BW Test"]
    lines += [f" Dual-port       : OFF\t\tDevice         : {nic.name}", " Number of qps   : 4\t\tTransport type : IB"]
    lines += [" Connection type : RC\t\tUsing SRQ      : OFF", " PCIe relax order: ON", " TX depth        : 128"]
    lines += [f" CQ Moderation   : 100\n Mtu             : {nic.mtu}[B]"]
    lines += [f" Link type       : {'IB' if node.link_layer == 'InfiniBand' else 'Ethernet'}"]
    lines += [" Max inline data : 0[B]", " rdma_cm QPs\t : OFF", " Data ex. method : Ethernet", rule]
    lines += [" local address: LID 0x78 QPN 0x0127 PSN 0x8d2a1b RKey 0x1fed00 VAddr 0x007f4dd2000000"]
    lines += [" remote address: LID 0x7a QPN 0x0135 PSN 0x2c1fd0 RKey 0x1fee00 VAddr 0x007f9aa4000000", rule]
    lines += [" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"]
    for power in range(1, 24, 2):
        size = 2**power
        rate = top * size / (size + 6000) * rng.gauss(1, 0.003)
        lines += [
            f" {size:<10} 5000           {rate * 1.004:>10.2f}         {rate:>10.2f}       {rate / size / 8:>10.6f}"
        ]
    return "\n".join([*lines, rule]) + "\n"


def ibnetdiscover(world: World, node: Machine, rng: Random) -> str:
    """`ibnetdiscover`: leaves with their hosts and uplinks."""
    rate = {100: "4xEDR", 200: "4xHDR", 400: "4xNDR"}.get(node.nic_model.gigabits, "4xHDR")
    by_host = {item.host: item for item in world.nodes}
    lines = ["#", "# Topology file: generated on Tue Mar 11 04:17:09 2025", "#"]
    for number, leaf in enumerate(world.leaves):
        lines += ["vendid=0x2c9", "devid=0xd2f2", f"sysimgguid=0x{leaf.guid}", f"switchguid=0x{leaf.guid}({leaf.guid})"]
        lines += [
            f'Switch\t65 "S-{leaf.guid}"\t\t# "MF0;{leaf.name}:MQM9700/U1" enhanced port 0 lid {number + 1} lmc 0'
        ]
        port = 0
        for host in leaf.hosts:
            for nic in by_host[host].nics:
                port += 1
                lines += [f'[{port}]\t"H-{nic.guid}"[1]({nic.guid}) \t\t# "{host} {nic.name}" lid {100 + port} {rate}']
        for uplink in range(leaf.uplinks):
            spine = f"5c00000000000{uplink % 4:03x}"
            lines += [
                f'[{40 + uplink}]\t"S-{spine}"[{uplink + 1}]\t\t'
                f'# "MF0;spine{uplink % 4 + 1:02d}:MQM9700/U1" lid 9 {rate}'
            ]
        lines += [""]
    return "\n".join(lines) + "\n"


def slurm_topology(world: World, node: Machine, rng: Random) -> str:
    """`scontrol show topology` and the job's nodes."""
    lines = []
    for leaf in world.leaves:
        lines += [f"SwitchName={leaf.name} Level=0 LinkSpeed=1 Nodes={','.join(leaf.hosts)}"]
    lines += [
        f"SwitchName=spine Level=1 LinkSpeed=1 Nodes={','.join(item.host for item in world.nodes)} "
        f"Switches={','.join(leaf.name for leaf in world.leaves)}"
    ]
    return "\n".join(lines) + "\n"
