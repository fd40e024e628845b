from __future__ import annotations

from diagnose.analysis.counter_rises import features
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.network import NetworkCounters, NetworkRise, RdmaCounters, RdmaRise


def rdma(path: str, host: str | None = "n1", port: int = 1, line: int = 1, **counters: int) -> Fact:
    return RdmaCounters(
        subject=Subject(host=host, nic="mlx5_0", port=port), sources=(Source(path=path, line=line),), **counters
    )


def test_the_later_reading_is_the_one_with_more_traffic_whatever_their_order() -> None:
    later = rdma("a.txt", transmit_bytes=5000, transmit_wait_ticks=90, local_ack_timeouts=7)
    earlier = rdma("b.txt", transmit_bytes=2000, transmit_wait_ticks=50, local_ack_timeouts=7)
    (rise,) = features([later, earlier])
    assert isinstance(rise, RdmaRise)
    assert (rise.transmit_bytes, rise.transmit_wait_ticks, rise.local_ack_timeouts) == (3000, 40, 0)
    assert [source.path for source in rise.sources] == ["b.txt", "a.txt"]


def test_the_first_and_the_last_of_several_readings_count() -> None:
    (rise,) = features([rdma("a.txt", transmit_bytes=amount) for amount in (10, 30, 20)])
    assert isinstance(rise, RdmaRise)
    assert rise.transmit_bytes == 20


def test_counters_that_were_cleared_give_no_rise() -> None:
    assert features([rdma("a", transmit_bytes=1, symbol_errors=9), rdma("b", transmit_bytes=2, symbol_errors=0)]) == []

    cleared_in_the_middle = [
        rdma("a", transmit_bytes=amount, symbol_errors=errors) for amount, errors in ((1, 5), (2, 0), (3, 9))
    ]
    assert features(cleared_in_the_middle) == []


def test_readings_of_unnamed_hosts_that_fall_down_a_file_may_be_of_several_hosts() -> None:
    rows = [rdma("a", None, line=line, transmit_bytes=amount) for line, amount in ((1, 10), (9, 30), (17, 20))]
    assert features(rows) == []
    assert features(rows[1:]) == []
    (rise,) = features(rows[:2])
    assert isinstance(rise, RdmaRise)
    assert rise.transmit_bytes == 20


def test_other_ports_tools_and_readings_without_traffic_are_not_compared() -> None:
    assert features([rdma("a", transmit_bytes=10), rdma("b", port=2, transmit_bytes=20)]) == []
    assert features([rdma("a", transmit_bytes=10), rdma("b", transmit_bytes=20, symbol_errors=1)]) == []
    assert features([rdma("a", transmit_bytes=1, symbol_errors=0), rdma("a", transmit_bytes=1, symbol_errors=3)]) == []
    assert features([rdma("a", symbol_errors=0), rdma("a", symbol_errors=3)]) == []


def test_without_a_host_only_readings_of_one_file_are_of_one_port() -> None:
    assert features([rdma("a", None, transmit_bytes=10), rdma("b", None, transmit_bytes=20)]) == []
    assert len(features([rdma("a", None, transmit_bytes=10), rdma("a", None, transmit_bytes=20)])) == 1


def test_interfaces_have_rises_of_their_own() -> None:
    readings = [
        NetworkCounters(
            subject=Subject(host="n1", nic="eth0"),
            sources=(Source(path="ethtool.txt", line=1),),
            transmit_packets=packets,
            receive_pause_frames=frames,
        )
        for packets, frames in ((100, 5), (900, 45))
    ]
    (rise,) = features(readings)
    assert isinstance(rise, NetworkRise)
    assert (rise.transmit_packets, rise.receive_pause_frames) == (800, 40)
