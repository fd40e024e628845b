from __future__ import annotations

import pytest

from diagnose.analysis.message_sizes import features
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.nccl import MessageSizes, NcclCalls, NcclCommunicator, NcclTest

LATENCY, PEAK = 40e-6, 100e9
SWEEP = tuple(8 * 4**at for at in range(16))


def calls(
    sizes: dict[int, int], host: str = "n1", operation: str = "all_reduce", ranks: int | None = None
) -> NcclCalls:
    return NcclCalls(
        subject=Subject(host=host),
        sources=(Source(path="nccl.log", line=1),),
        operation=operation,
        ranks=ranks,
        calls=sum(sizes.values()),
        total_bytes=sum(size * count for size, count in sizes.items()),
        sizes_bytes=tuple(sizes),
        calls_by_size=tuple(sizes.values()),
    )


def sweep(hosts: int | None = 2, operation: str = "all_reduce") -> NcclTest:
    speeds = tuple(size / (LATENCY + size / PEAK) for size in SWEEP)
    return NcclTest(
        sources=(Source(path="nccl-tests.txt", line=1),),
        operation=operation,
        hosts=hosts,
        largest_size_bytes=SWEEP[-1],
        largest_busbw_bytes_per_second=speeds[-1],
        peak_busbw_bytes_per_second=speeds[-1],
        peak_size_bytes=SWEEP[-1],
        sizes_bytes=SWEEP,
        busbw_by_size_bytes_per_second=speeds,
    )


def sizes(*facts: Fact) -> MessageSizes:
    (found,) = features(facts)
    assert isinstance(found, MessageSizes)
    return found


def test_the_cost_of_small_messages_is_that_of_the_network_s_latency() -> None:
    size = SWEEP[6]  # 32 KiB: 0.33 us of data and 40 us of latency
    found = sizes(calls({size: 1000}), sweep())
    assert found.cost_ratio == pytest.approx((LATENCY + size / PEAK) / (size / PEAK), rel=0.01)
    assert (found.small_calls_ratio, found.small_bytes_ratio, found.median_bytes) == (1.0, 1.0, size)


def test_messages_below_the_sweep_take_the_time_of_its_smallest() -> None:
    found = sizes(calls({2: 10}), sweep())
    assert found.cost_ratio == pytest.approx(LATENCY / (2 / PEAK), rel=0.01)


def test_small_messages_beside_large_ones_cost_their_latency_and_no_more() -> None:
    found = sizes(calls({4096: 500, 1 << 28: 100}), calls({1 << 28: 100}, host="n2"), sweep())
    data_seconds = (500 * 4096 + 200 * (1 << 28)) / PEAK
    assert found.cost_ratio == pytest.approx(1 + 700 * LATENCY / data_seconds, rel=0.01)
    assert found.calls == 700
    assert found.small_bytes_ratio < 0.001


@pytest.mark.parametrize("test", [None, sweep(hosts=1), sweep(hosts=None)])
def test_without_a_sweep_between_hosts_the_cost_is_unknown(test: NcclTest | None) -> None:
    facts: list[Fact] = [calls({4096: 5})] + ([test] if test else [])
    assert sizes(*facts).cost_ratio is None


def communicator(ranks_on_host: int) -> NcclCommunicator:
    return NcclCommunicator(sources=(Source(path="nccl.log", line=1),), ranks=64, ranks_on_host=ranks_on_host, hosts=8)


@pytest.mark.parametrize(
    ("ranks", "facts", "counted"),
    [(8, [], False), (16, [], True), (8, [communicator(4)], True), (16, [communicator(16)], False), (None, [], True)],
)
def test_only_calls_of_communicators_too_large_for_one_host_count(
    ranks: int | None, facts: list[Fact], counted: bool
) -> None:
    assert bool(features([calls({4096: 500}, ranks=ranks), *facts])) == counted


@pytest.mark.parametrize("operation", ["all_gather", "reduce_scatter", "alltoall"])
def test_parts_of_ranks_add_up_to_the_size_that_nccl_tests_counts(operation: str) -> None:
    found = sizes(calls({1 << 20: 500}, operation=operation, ranks=64), sweep(operation=operation))
    assert (found.median_bytes, found.small_calls_ratio) == (64 << 20, 0.0)
    assert found.cost_ratio == pytest.approx(1, abs=0.1)
    assert features([calls({1 << 20: 500}, operation=operation)]) == []


def test_calls_without_data_are_no_messages() -> None:
    assert features([calls({0: 5})]) == []
    assert sizes(calls({0: 5, 8: 1})).calls == 1
