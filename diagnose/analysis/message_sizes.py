"""What the sizes of a job's collectives cost: calls as logged against what the network gives at each size.

A sweep of nccl-tests says how fast a collective of each size is. The calls of a log, each at the speed of its size,
take some time; the same bytes at the best speed of the sweep take less. The ratio of the two is what small messages
cost, whatever the operation's factor between bytes and bus bandwidth is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from diagnose.facts import Fact
from diagnose.facts.nccl import MessageSizes, NcclCalls, NcclCommunicator, NcclTest

SMALL_BYTES = 1 << 20
"""Up to here a collective over nodes is bound by latency on every network of the tables."""
_USUAL_RANKS_OF_HOST = 8
"""judgement: GPUs of the usual large servers; communicators of no more ranks may lie within one of them."""
_COUNTED_BY_RANK = ("all_gather", "reduce_scatter", "alltoall")
"""NCCL counts one rank's part (nccl.h: sendcount, recvcount), and nccl-tests all parts (doc/PERFORMANCE.md)."""


def features(facts: Sequence[Fact]) -> list[Fact]:
    """One fact for each operation that a log lists calls of which may cross hosts."""
    sweeps = [fact for fact in facts if isinstance(fact, NcclTest) and fact.sizes_bytes and _between_hosts(fact)]
    told = [fact.ranks_on_host for fact in facts if isinstance(fact, NcclCommunicator) and fact.ranks_on_host]
    ranks_of_host = max(told, default=_USUAL_RANKS_OF_HOST)
    by_operation: dict[str, list[NcclCalls]] = defaultdict(list)
    for fact in facts:
        if isinstance(fact, NcclCalls) and fact.total_bytes > 0 and _may_cross_hosts(fact, ranks_of_host):
            by_operation[fact.operation].append(fact)
    return [_sizes(operation, calls, _sweep_of(operation, sweeps)) for operation, calls in by_operation.items()]


def _may_cross_hosts(calls: NcclCalls, ranks_of_host: int) -> bool:
    """Whether the calls are of a communicator too large for one host, and their size is known.

    Tensor parallelism exchanges small messages within a host all the time, and rightly.
    """
    if calls.ranks is None:
        return calls.operation not in _COUNTED_BY_RANK
    return calls.ranks > ranks_of_host


def _between_hosts(test: NcclTest) -> bool:
    return test.hosts is not None and test.hosts > 1


def _sweep_of(operation: str, sweeps: Sequence[NcclTest]) -> NcclTest | None:
    """The sweep of the operation itself, else of all-reduce; of several the fastest."""
    for wanted in (operation, "all_reduce"):
        found = [test for test in sweeps if test.operation == wanted]
        if found:
            return max(found, key=lambda test: test.peak_busbw_bytes_per_second)
    return None


def _sizes(operation: str, calls: Sequence[NcclCalls], sweep: NcclTest | None) -> MessageSizes:
    counts: Counter[int] = Counter()
    for fact in calls:
        parts = (fact.ranks or 1) if fact.operation in _COUNTED_BY_RANK else 1
        for size, count in zip(fact.sizes_bytes, fact.calls_by_size, strict=True):
            counts[size * parts] += count
    counts.pop(0, None)
    sizes = np.array(sorted(counts), dtype=np.float64)
    number = np.array([counts[int(size)] for size in sizes], dtype=np.float64)
    moved = sizes * number
    small = sizes <= SMALL_BYTES
    middle = np.searchsorted(np.cumsum(number), number.sum() / 2)
    return MessageSizes(
        subject=calls[0].subject,
        sources=(*calls[0].sources, *(sweep.sources if sweep is not None else ())),
        operation=operation,
        calls=int(number.sum()),
        median_bytes=float(sizes[middle]),
        small_calls_ratio=float(number[small].sum() / number.sum()),
        small_bytes_ratio=float(moved[small].sum() / moved.sum()),
        cost_ratio=_cost(sizes, moved, sweep) if sweep is not None else None,
    )


def _cost(sizes: np.ndarray, moved: np.ndarray, sweep: NcclTest) -> float | None:
    """Time of the calls over the time that their bytes take at the best speed of the sweep."""
    known = np.array(sweep.sizes_bytes, dtype=np.float64)
    speed = np.array(sweep.busbw_by_size_bytes_per_second or (), dtype=np.float64)
    usable = (known > 0) & (speed > 0) if len(known) == len(speed) else np.zeros(0, dtype=bool)
    if usable.sum() < 3:
        return None
    known, speed = known[usable], speed[usable]
    at_size = np.exp(np.interp(np.log(sizes), np.log(known), np.log(speed)))
    # Below the smallest size of the sweep the time no longer shrinks: speed falls with the size.
    at_size = np.where(sizes < known[0], speed[0] * sizes / known[0], at_size)
    return float((moved / at_size).sum() / (moved / speed.max()).sum())
