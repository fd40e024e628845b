from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collectors.ibstat import Ibstat
from tests.collectors.helpers import block, damaged, opened

IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tFirmware version: 28.39.1002
\tHardware version: 0
\tNode GUID: 0x1111222233334444
\tSystem image GUID: 0x1111222233334444
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tBase lid: 128
\t\tLMC: 0
\t\tSM lid: 1
\t\tCapability mask: 0xa751e848
\t\tPort GUID: 0x1111222233334444
\t\tLink layer: InfiniBand
CA 'mlx5_1'
\tCA type: MT4129
\tNumber of ports: 1
\tPort 1:
\t\tState: Down
\t\tPhysical state: Polling
\t\tRate: 40
\t\tLink layer: Ethernet
ibpanic: [4242] main: stat of IB device 'mlx5_2' failed: No such file or directory
"""
IBSTATUS = """\
Infiniband device 'mlx5_ib0' port 1 status:
\tdefault gid:\t fe80:0000:0000:0000:0000:0000:0000:0001
\tbase lid:\t 0x96
\tsm lid:\t\t 0x11c
\tstate:\t\t 4: ACTIVE
\tphys state:\t 5: LinkUp
\trate:\t\t 200 Gb/sec (4X HDR)
\tlink_layer:\t InfiniBand
"""


def facts(text: str) -> dict[tuple[str, str | None], Any]:
    return {(fact.kind, fact.subject.nic): fact for fact in Ibstat.parse(block(text)).facts}


def test_an_active_port_has_state_rate_and_link_layer() -> None:
    port = facts(IBSTAT)["rdma-port", "mlx5_0"]
    assert port.subject.port == 1
    assert port.values() == {
        "state": "active",
        "physical_state": "linkup",
        "rate_gigabits_per_second": 400.0,
        "link_layer": "infiniband",
        "base_lid": 128,
        "subnet_manager_lid": 1,
    }


def test_a_port_that_polls_is_down() -> None:
    port = facts(IBSTAT)["rdma-port", "mlx5_1"]
    assert (port.state, port.physical_state) == ("down", "polling")


def test_a_device_that_cannot_be_read_is_a_failure() -> None:
    failure = facts(IBSTAT)["rdma-device-failure", "mlx5_2"]
    assert failure.reason == "not-readable"
    assert failure.sources[0].line == 26


def test_ibstatus_says_the_same_with_numbers() -> None:
    port = facts(IBSTATUS)["rdma-port", "mlx5_ib0"]
    assert (port.state, port.physical_state, port.width_lanes) == ("active", "linkup", 4)
    assert (port.base_lid, port.subnet_manager_lid) == (0x96, 0x11C)


@pytest.mark.parametrize(
    ("text", "reason", "nic"),
    [
        ("ibpanic: [1] main: can't list CA names: No such file or directory", "no-devices", None),
        ("ibwarn: [1] mad_rpc_open_port: can't open UMAD port ((null):0)", "not-found", None),
    ],
)
def test_failures_without_a_device(text: str, reason: str, nic: str | None) -> None:
    (failure,) = Ibstat.parse(block(text)).facts
    assert failure.values()["reason"] == reason
    assert failure.subject.nic == nic


def test_devices_and_failures_open() -> None:
    assert opened(Ibstat, IBSTAT) == ["CA 'mlx5_0'", "CA 'mlx5_1'", IBSTAT.splitlines()[-1]]
    assert opened(Ibstat, IBSTATUS) == [IBSTATUS.splitlines()[0]]


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(IBSTAT + IBSTATUS):
        Ibstat.parse(block(text))


def test_the_device_of_the_case_is_named(corpus: Path) -> None:
    text = (corpus / "cases" / "ibstat-panic-missing-device" / "ibstat.txt").read_text()
    found = facts(text)
    assert found["rdma-device-failure", "mlx5_8"].reason == "not-readable"
    assert found["rdma-port", "mlx5_7"].state == "active"


def test_every_ibstat_of_the_corpus_has_ports(corpus: Path) -> None:
    paths = [*(corpus / "files" / "infiniband").glob("gpudhist-*"), corpus / "files/infiniband/azhpc-ibstatus.txt"]
    for path in paths:
        kinds = [kind for kind, _ in facts(path.read_text())]
        assert "rdma-port" in kinds, path.name
