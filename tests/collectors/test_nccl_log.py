from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pytest

from collectors.base import Line
from collectors.nccl_log import NcclLog
from diagnose.facts import Fact
from diagnose.facts.nccl import (
    NcclCommunicator,
    NcclEnvironment,
    NcclGpuDirect,
    NcclGraph,
    NcclNetwork,
    NcclTransport,
    NcclVersion,
    NcclWarning,
)
from tests.collectors.helpers import damaged, feed

F = TypeVar("F", bound=Fact)


def facts(text: str, kind: type[F], host: str | None = None) -> list[F]:
    return [fact for fact in feed(NcclLog, text, host=host).facts if isinstance(fact, kind)]


def info(message: str, host: str = "n1", pid: int = 100, device: int = 0) -> str:
    return f"{host}:{pid}:{pid + 1} [{device}] NCCL INFO {message}\n"


def init(host: str, rank: int, ranks: int, comm_id: str | None = "0xabc", pid: int | None = None) -> str:
    end = f" commId {comm_id}" if comm_id else ""
    comm = f"ncclCommInitRank comm 0x{rank:x}f rank {rank} nranks {ranks} cudaDev 0 nvmlDev 0 busId 1000{end}"
    return info(f"{comm} - Init COMPLETE", host, pid or 100 + rank)


NEW = (
    "n1:100:100 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>\n"
    "n1:100:101 [0] NCCL INFO NCCL version 2.26.2+cuda12.8\n"
    "n1:100:101 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5_0,mlx5_1.\n"
    "n1:100:101 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"
    "n1:100:101 [0] NCCL INFO Using network IB\n"
    "n1:100:101 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'\n"
    "n1:100:101 [0] NCCL INFO comm 0x1f rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0\n"
    "n1:100:101 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 8, bw 24.0/12.0, type NVL/PXB, sameChannels 1\n"
    "n1:100:101 [0] NCCL INFO 8 coll channels, 0 collnet channels, 16 nvls channels, 8 p2p channels\n"
    "n1:100:101 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
    "n1:100:101 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/1(3)/GDRDMA/Shared\n"
)


def test_version_is_read_with_and_without_a_prefix() -> None:
    found = facts("NCCL version 2.7.8+cuda10.2\n" + NEW, NcclVersion)
    assert [(fact.subject.host, fact.version, fact.cuda_version) for fact in found] == [
        (None, "2.7.8", "10.2"),
        ("n1", "2.26.2", "12.8"),
    ]


def test_rccl_version_is_read() -> None:
    (fact,) = facts("n1:1:1 [0] NCCL INFO RCCL version 2.18.3+hip6.0 HEAD:abc\n", NcclVersion)
    assert fact.version == "2.18.3"


def test_ranks_that_report_one_version_are_counted() -> None:
    (fact,) = facts(info("NCCL version 2.20.5+cuda12.4") + info("NCCL version 2.20.5+cuda12.4", pid=200), NcclVersion)
    assert fact.ranks == 2


def test_setting_keeps_its_text_and_its_number() -> None:
    text = info("NCCL_P2P_DISABLE set by environment to 1.") + info("NCCL_SOCKET_IFNAME set to eth0")
    settings = {fact.name: (fact.value, fact.number) for fact in facts(text, NcclEnvironment)}
    assert settings == {"NCCL_P2P_DISABLE": ("1", 1), "NCCL_SOCKET_IFNAME": ("eth0", None)}


def test_network_has_devices_and_interface_of_the_bootstrap() -> None:
    (fact,) = facts(NEW, NcclNetwork)
    assert fact.values() == {
        "plugin": "IB",
        "devices": "mlx5_0:1/RoCE mlx5_1:1/RoCE",
        "device_count": 2,
        "mixed_link_layers": False,
        "out_of_band_interface": "eth0",
        "ranks": 1,
    }


def test_socket_interfaces_are_listed_without_addresses() -> None:
    text = info("NET/Socket : Using [0]eth0:10.0.0.1<0> [1]veth1:fe80::1%veth1<0>") + info("Using network Socket")
    (fact,) = facts(text, NcclNetwork)
    assert (fact.plugin, fact.devices, fact.device_count, fact.mixed_link_layers) == ("Socket", "eth0 veth1", 2, None)


def test_network_that_was_not_chosen_is_left_out() -> None:
    text = info("NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.0.0.1<0>") + info("Using network AWS Libfabric")
    assert [fact.plugin for fact in facts(text, NcclNetwork)] == ["AWS Libfabric"]


def test_mixed_infiniband_and_roce_devices_are_told() -> None:
    (fact,) = facts(info("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_bond_0:1/RoCE [RO]; OOB ib0:10.0.0.1<0>"), NcclNetwork)
    assert fact.mixed_link_layers is True


@pytest.mark.parametrize(
    ("via", "name", "variant", "direct"),
    [
        ("P2P/IPC", "P2P", "IPC", None),
        ("P2P/CUMEM/read", "P2P", "CUMEM", None),
        ("P2P/direct pointer", "P2P", "direct pointer", None),
        ("P2P/indirect/3[3]", "P2P", "indirect", None),
        ("P2P/IPC comm 0x7f12 nRanks 02", "P2P", "IPC", None),
        ("SHM", "SHM", None, None),
        ("SHM/direct/direct", "SHM", "direct", None),
        ("direct shared memory", "SHM", "direct", None),
        ("NET/IB/0", "NET/IB", None, False),
        ("NET/IB/0/GDRDMA", "NET/IB", "GDRDMA", True),
        ("NET/IB/0(8)/GDRDMA(PCI)/Shared", "NET/IB", "GDRDMA(PCI)/Shared", True),
        ("NET/AWS Libfabric/3/GDRDMA", "NET/AWS Libfabric", "GDRDMA", True),
        ("NET/Socket/1", "NET/Socket", None, False),
    ],
)
@pytest.mark.parametrize("form", ["Ring 00 : 0[1a000] -> 1[1c000] via {}", "Channel 03/0 : 0[0] -> 1[1] via {}"])
def test_transports_of_old_and_new_forms(form: str, via: str, name: str, variant: str, direct: bool) -> None:
    (fact,) = facts(info(form.format(via)), NcclTransport)
    assert (fact.transport, fact.variant, fact.gpudirect_rdma) == (name, variant, direct)


def test_oldest_form_without_brackets() -> None:
    (fact,) = facts(info("Ring 01 : 3 -> 4 [receive] via NET/IB/0"), NcclTransport)
    assert (fact.transport, fact.channels) == ("NET/IB", 1)


def test_in_network_reduction_is_a_transport_of_its_own() -> None:
    (fact,) = facts(info("CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA"), NcclTransport)
    assert (fact.transport, fact.gpudirect_rdma) == ("COLLNET", True)


def test_channels_of_one_transport_are_counted_not_listed() -> None:
    text = "".join(info(f"Channel {channel:02d}/0 : 0[0] -> 1[1] via P2P/CUMEM") for channel in range(24))
    (fact,) = facts(text, NcclTransport)
    assert (fact.channels, fact.within_host) == (24, True)
    assert fact.sources[0].line == 1


def test_network_inside_a_host_is_told_from_the_ranks_places() -> None:
    text = init("n1", 0, 2) + init("n1", 1, 2) + info("Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0")
    (fact,) = facts(text, NcclTransport)
    assert fact.within_host is True


def test_network_between_hosts_is_told_from_the_ranks_places() -> None:
    text = init("n1", 0, 2) + init("n2", 1, 2) + info("Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0")
    (fact,) = facts(text, NcclTransport)
    assert fact.within_host is False


def test_receiving_rank_is_the_local_one() -> None:
    text = init("n1", 0, 3) + init("n2", 1, 3, pid=100) + init("n1", 2, 3, pid=102)
    text += info("Channel 00/0 : 2[2] -> 1[1] [receive] via NET/IB/0", "n2")
    (fact,) = facts(text, NcclTransport)
    assert fact.within_host is False


def test_rank_whose_place_is_unknown_leaves_it_open() -> None:
    text = init("n1", 0, 2) + info("Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0")
    (fact,) = facts(text, NcclTransport)
    assert fact.within_host is None


def test_communicators_of_one_size_without_ids_leave_it_open() -> None:
    # Ranks 0 and 1 of n1 form one communicator; rank 0 is also in another one of the same size with n2.
    text = init("n1", 0, 2, None) + init("n1", 1, 2, None)
    text += info("comm 0x77 rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE")
    text += info("Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0")
    (fact,) = facts(text, NcclTransport)
    assert fact.within_host is None


def test_same_device_under_two_ranks_stands_in_two_hosts() -> None:
    (fact,) = facts(info("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA"), NcclTransport)
    assert fact.within_host is False


def test_places_follow_from_the_connections_where_no_communicator_is_logged() -> None:
    text = info("Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0", pid=1)
    text += info("Channel 00/0 : 1[1] -> 0[0] [send] via NET/Socket/0", pid=2)
    assert {fact.within_host for fact in facts(text, NcclTransport)} == {True}


@pytest.mark.parametrize("prefix", ["0: ", "[1,0]<stdout>:", "[default7]:", "[2026-03-01 10:00:00] ", "pod-0 | "])
def test_prefixes_of_launchers_are_passed_over(prefix: str) -> None:
    text = "".join(prefix + line for line in NEW.splitlines(keepends=True))
    assert {fact.subject.host for fact in feed(NcclLog, text).facts} == {"n1"}
    assert len(facts(text, NcclTransport)) == 2


def test_two_records_on_one_line_are_both_read() -> None:
    text = info("Using network IB", "n1") + info("Using network IB", "n2")
    text += info("Channel 00 : 0[1a] -> 1[1b] via P2P/IPC").strip() + info("Channel 00 : 4[1a] -> 5[1b] via SHM", "n2")
    found = {(fact.subject.host, fact.transport) for fact in facts(text, NcclTransport)}
    assert found == {("n1", "P2P"), ("n2", "SHM")}


def test_lines_without_a_host_take_the_one_of_the_section() -> None:
    (fact,) = facts("NCCL INFO Using network Socket\n", NcclNetwork, host="n9")
    assert fact.subject.host == "n9"


def test_communicator_tells_ranks_hosts_channels_and_completion() -> None:
    text = NEW + info("comm 0x1f rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE")
    (fact,) = facts(text, NcclCommunicator)
    assert fact.values() == {
        "ranks": 2,
        "ranks_on_host": 1,
        "hosts": 2,
        "log_complete": True,
        "coll_channels": 8,
        "nvls_channels": 16,
    }


def test_initialisation_that_never_ends_is_not_complete() -> None:
    (fact,) = facts(info("comm 0x1f rank 0 nranks 2 cudaDev 0 busId 1000 commId 0x1 - Init START"), NcclCommunicator)
    assert fact.log_complete is False


def test_planned_bandwidth_is_in_bytes_and_repeats_are_dropped() -> None:
    old = "Pattern 1, crossNic 0, nChannels 4, speed 10.5/5.0, type PHB/SYS, sameChannels 0"
    (fact,) = facts(info(old) + info(old), NcclGraph)
    assert fact.values() == {
        "pattern": 1,
        "channels": 4,
        "bandwidth_intra_bytes_per_second": 10.5e9,
        "bandwidth_inter_bytes_per_second": 5.0e9,
        "path_type": "PHB",
    }


def test_gpudirect_is_counted_by_nic() -> None:
    text = info("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'") * 2
    text += info("NET/IB : GPU Direct RDMA Enabled for HCA 1 'mlx5_1'")
    found = {(fact.subject.nic, fact.enabled, fact.lines) for fact in facts(text, NcclGpuDirect)}
    assert found == {("mlx5_0", False, 2), ("mlx5_1", True, 1)}


def test_gpudirect_by_dma_buf_outweighs_the_missing_module() -> None:
    text = info("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'")
    text += info("NET/IB : GPU Direct RDMA (DMABUF) enabled for HCA 0 'mlx5_0")
    assert [fact.enabled for fact in facts(text, NcclGpuDirect)] == [True]


def test_gpudirect_off_for_distance_says_so() -> None:
    (fact,) = facts(info("NET/IB : GPU Direct RDMA Disabled for GPU 4 / HCA 1 (distance 8 > 4)"), NcclGpuDirect)
    assert (fact.enabled, fact.reason) == (False, "distance")


def test_gpudirect_of_sockets_tells_nothing() -> None:
    assert facts(info("NET/Socket : GPU Direct RDMA Disabled for HCA 0 'eth0'"), NcclGpuDirect) == []


def test_warning_of_unknown_meaning_is_counted_as_other() -> None:
    (fact,) = facts("n1:1:2 [0] misc/foo.cc:12 NCCL WARN Something new\n", NcclWarning)
    assert (fact.code, fact.detail) == ("other", "Something new")


def test_warnings_are_counted_by_host_and_name_the_peer_of_the_first() -> None:
    text = "".join(
        f"{host}:1:2 [0] include/socket.h:403 NCCL WARN Connect to 10.0.0.{peer}<56821> failed : Connection refused\n"
        for host, peer in (("n1", 7), ("n1", 8), ("n2", 7))
    )
    assert [(fact.subject.host, fact.code, fact.count, fact.remote_address) for fact in facts(text, NcclWarning)] == [
        ("n1", "connect-refused", 2, "10.0.0.7"),
        ("n2", "connect-refused", 1, "10.0.0.7"),
    ]


def test_kernel_watchdogs_are_not_taken_for_the_process_groups() -> None:
    collector = NcclLog("x.log")
    assert not collector.feed(Line(1, "kernel: watchdog: BUG: soft lockup - CPU#1 stuck for 22s!"), None)


def test_lines_of_others_are_left_alone() -> None:
    assert not NcclLog("x.log").feed(Line(1, "we met collective #3 in the museum"), None)


def test_damaged_logs_never_raise() -> None:
    for text in damaged(NEW + info("Could not enable P2P between dev 0(=1000) and dev 1(=2000)")):
        feed(NcclLog, text)


def test_field_cases_show_their_evidence(corpus: Path) -> None:
    expected = {
        "single-dev-shm-64mb/nccl.log": "shared-memory-no-space",
        "multinode-ofi-plugin-not-found/nccl.log": "network-plugin-not-found",
        "hang-connection-refused-bad-node/nccl.log": "connect-refused",
        "hang-collective-mismatch/stderr.log": "rank-did-not-join",
    }
    for name, code in expected.items():
        codes = {fact.code for fact in facts((corpus / "cases" / name).read_text(), NcclWarning)}
        assert code in codes, name
        assert "other" not in codes, name


def test_field_case_of_a_storage_nic_among_the_rails(corpus: Path) -> None:
    (fact,) = facts((corpus / "cases/multinode-wrong-hca-bond-roce/nccl.log").read_text(), NcclNetwork)
    assert fact.device_count == 9
    assert fact.mixed_link_layers is True


def test_field_log_of_sixteen_ranks_has_every_connection_placed(corpus: Path) -> None:
    text = (corpus / "files/nccl-log/bigscience-allreduce-n4-v100.txt").read_text()
    transports = facts(text, NcclTransport)
    assert {(fact.transport, fact.within_host) for fact in transports} == {("P2P", True), ("NET/IB", False)}
    assert sum(fact.channels for fact in transports) == text.count(" via ")


def test_field_job_log_is_read_whole(corpus: Path) -> None:
    text = (corpus / "files/nccl-log/bigscience-meg-n16-ncclinfo.out").read_text(errors="replace")
    parsed = feed(NcclLog, text)
    communicators = [fact for fact in parsed.facts if isinstance(fact, NcclCommunicator)]
    assert {(fact.ranks, fact.ranks_on_host, fact.hosts) for fact in communicators} == {(64, 4, 16)}
    network = [fact for fact in parsed.facts if isinstance(fact, NcclTransport) and fact.transport == "NET/IB"]
    assert True not in {fact.within_host for fact in network}
    assert parsed.problems == []
