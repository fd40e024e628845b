from __future__ import annotations

from collectors.nccl_calls import _MOST_KEYS, Calls
from collectors.nccl_log import NcclLog
from diagnose.facts.nccl import NcclCalls
from tests.collectors.helpers import damaged, feed


def call(operation: str, count: int, datatype: int, rank: int = 0, ranks: int = 16) -> str:
    return (
        f"n1:{70 + rank}:{90 + rank} [{rank}] NCCL INFO {operation}: opCount 1a sendbuff 0x7f10 recvbuff 0x7f20 "
        f"count {count} datatype {datatype} op 0 root 0 comm 0x5581 [nranks={ranks}] stream 0x5590\n"
    )


def calls(text: str) -> list[NcclCalls]:
    return [fact for fact in feed(NcclLog, text).facts if isinstance(fact, NcclCalls)]


def test_calls_are_counted_by_operation_and_size_in_bytes() -> None:
    text = call("AllReduce", 1024, 7) * 3 + call("AllReduce", 1024, 9, rank=1) + call("AllGather", 10, 6, ranks=8)
    (reduce, gather) = calls(text)
    assert (reduce.subject.host, reduce.operation, reduce.ranks, reduce.calls) == ("n1", "all_reduce", 16, 4)
    assert (reduce.sizes_bytes, reduce.calls_by_size) == ((2048, 4096), (1, 3))
    assert reduce.total_bytes == 3 * 4096 + 2048
    assert (gather.operation, gather.ranks, gather.total_bytes) == ("all_gather", 8, 20)


def test_an_older_line_without_ranks_and_an_unknown_type() -> None:
    older = call("Broadcast", 256, 0).replace(" [nranks=16]", "")
    assert [(fact.operation, fact.ranks) for fact in calls(older + call("AllReduce", 4, 99))] == [("broadcast", None)]


def test_sizes_without_end_are_counted_no_further_and_that_is_said() -> None:
    tally = Calls()
    for count in range(_MOST_KEYS + 5):
        assert tally.take("n1", call("AllReduce", count, 0).split("NCCL INFO ")[1], 1)
    assert tally.overflow == 5


def test_damaged_lines_raise_nothing() -> None:
    for text in damaged(call("AllReduce", 1024, 7) + call("AllGather", 10, 6)):
        feed(NcclLog, text)
