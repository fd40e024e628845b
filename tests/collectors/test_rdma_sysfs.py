from __future__ import annotations

from typing import Any

from collectors.rdma_sysfs import RdmaSysfs
from tests.collectors.helpers import block, damaged, opened

FILES = """\
/sys/class/infiniband/mlx5_0/fw_ver:28.39.1002
/sys/class/infiniband/mlx5_0/ports/1/state:4: ACTIVE
/sys/class/infiniband/mlx5_0/ports/1/phys_state:5: LinkUp
/sys/class/infiniband/mlx5_0/ports/1/rate:200 Gb/sec (2X NDR)
/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data:1000
/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error:12
/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent:345
/sys/class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err:6
/sys/class/infiniband/mlx5_1/ports/1/hw_counters/out_of_sequence:9
"""


def facts(text: str) -> dict[tuple[str, str | None], Any]:
    return {(fact.kind, fact.subject.nic): fact for fact in RdmaSysfs.parse(block(text)).facts}


def test_counters_of_both_folders_are_one_fact() -> None:
    found = facts(FILES)
    assert found["rdma-counters", "mlx5_0"].values() == {
        "symbol_errors": 12,
        "transmit_bytes": 4000,
        "local_ack_timeouts": 6,
        "congestion_notifications_sent": 345,
    }
    assert found["rdma-counters", "mlx5_1"].values() == {"out_of_sequence": 9}


def test_a_port_has_its_rate_and_width() -> None:
    port = facts(FILES)["rdma-port", "mlx5_0"]
    assert (port.state, port.rate_gigabits_per_second, port.width_lanes) == ("active", 200.0, 2)


def test_a_device_has_its_firmware() -> None:
    assert facts(FILES)["rdma-device", "mlx5_0"].firmware_version == "28.39.1002"


def test_paths_open_and_paths_from_within_are_recognised() -> None:
    assert len(opened(RdmaSysfs, FILES)) == 9
    within = [line.removeprefix("/sys/class/infiniband/") for line in FILES.splitlines()]
    assert RdmaSysfs.resembles(within) == 1
    assert RdmaSysfs.resembles(["/usr/share/doc/README: text"]) == 0


def test_damaged_listings_do_not_raise() -> None:
    for text in damaged(FILES):
        RdmaSysfs.parse(block(text))
