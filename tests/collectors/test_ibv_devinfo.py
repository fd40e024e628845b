from __future__ import annotations

from typing import Any

from collectors.ibv_devinfo import IbvDevinfo
from tests.collectors.helpers import block, damaged, opened

VERBOSE = """\
hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t28.39.1002
\tnode_guid:\t\t\t1111:2222:3333:4444
\tvendor_id:\t\t\t0x02c9
\tvendor_part_id:\t\t\t4129
\thw_ver:\t\t\t\t0x0
\tboard_id:\t\t\tMT_0000000838
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t1024 (3)
\t\t\tsm_lid:\t\t\t0
\t\t\tport_lid:\t\t0
\t\t\tport_lmc:\t\t0x00
\t\t\tlink_layer:\t\tEthernet
\t\t\tactive_width:\t\t4X (2)
\t\t\tactive_speed:\t\t100.0 Gbps (128)
\t\t\tphys_state:\t\tLINK_UP (5)
"""


def facts(text: str) -> dict[str, Any]:
    return {fact.kind: fact for fact in IbvDevinfo.parse(block(text)).facts}


def test_a_port_has_its_mtu_and_the_rate_of_all_lanes() -> None:
    port = facts(VERBOSE)["rdma-port"]
    assert (port.subject.nic, port.subject.port) == ("mlx5_0", 1)
    assert port.values() == {
        "state": "active",
        "physical_state": "linkup",
        "rate_gigabits_per_second": 400.0,
        "width_lanes": 4,
        "link_layer": "ethernet",
        "active_mtu_bytes": 1024,
        "max_mtu_bytes": 4096,
        "base_lid": 0,
        "subnet_manager_lid": 0,
    }


def test_a_device_has_model_and_firmware() -> None:
    assert facts(VERBOSE)["rdma-device"].values() == {
        "model": "MT4129",
        "ports": 1,
        "firmware_version": "28.39.1002",
        "board_id": "MT_0000000838",
    }


def test_a_device_opens() -> None:
    assert opened(IbvDevinfo, VERBOSE) == ["hca_id:\tmlx5_0"]


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(VERBOSE):
        IbvDevinfo.parse(block(text))
