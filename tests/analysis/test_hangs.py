from __future__ import annotations

from diagnose.analysis.hangs import features
from diagnose.facts import Source, Subject
from diagnose.facts.hang import CollectiveDivergence, FlightRecorderRank, RasMismatch, RasStandstill


def recorder(
    rank: int, calls: list[str], completed: int, state: str = "started", size: int | None = 4
) -> FlightRecorderRank:
    last = int(calls[-1].split()[0])
    pending = next((call for call in calls if int(call.split()[0]) > completed), None)
    return FlightRecorderRank(
        subject=Subject(rank=rank),
        sources=(Source(path=f"trace_rank_{rank}.json", line=1),),
        process_group="0",
        group_size=size,
        last_completed_sequence=completed,
        last_sequence=last,
        pending_sequence=int(pending.split()[0]) if pending else None,
        pending_operation=pending.split()[1] if pending else None,
        pending_state=state if pending else None,
        calls=tuple(calls),
    )


REDUCE = ["1 all_reduce [[8]] Float", "2 all_reduce [[8]] Float", "3 all_reduce [[8]] Float"]


def divergence(*ranks: FlightRecorderRank) -> CollectiveDivergence:
    (fact,) = features(ranks)
    assert isinstance(fact, CollectiveDivergence)
    return fact


def test_rank_in_another_operation_is_told_from_the_majority() -> None:
    odd = [*REDUCE[:1], "2 all_gather [[8]] Float", *REDUCE[2:]]
    fact = divergence(recorder(0, REDUCE, 1), recorder(1, odd, 1), recorder(2, REDUCE, 1))
    assert (fact.difference, fact.sequence, fact.outlying_ranks) == ("operation", 2, "1")
    assert (fact.ranks, fact.ranks_without_dump) == (3, 1)
    assert "all_gather [[8]] Float: rank 1" in fact.detail


def test_sizes_that_differ_count_except_where_they_may() -> None:
    larger = [*REDUCE[:2], "3 all_reduce [[16]] Float"]
    assert divergence(recorder(0, REDUCE, 2), recorder(1, larger, 2)).difference == "size"
    uneven = [["1 all_to_all [[4]] Float"], ["1 all_to_all [[12]] Float"]]
    assert divergence(recorder(0, uneven[0], 0), recorder(1, uneven[1], 0)).difference == "not-completed"


def test_rank_that_never_called_is_named() -> None:
    fact = divergence(recorder(0, REDUCE, 2), recorder(1, REDUCE[:2], 2), recorder(2, REDUCE, 2))
    assert (fact.difference, fact.sequence, fact.outlying_ranks) == ("not-entered", 3, "1")


def test_all_ranks_in_one_call_blame_none() -> None:
    fact = divergence(*(recorder(rank, REDUCE, 2) for rank in range(4)))
    assert (fact.difference, fact.outlying_ranks, fact.ranks_without_dump) == ("not-completed", None, 0)


def test_ranks_that_completed_all_and_single_dumps_tell_nothing() -> None:
    assert features([recorder(0, REDUCE, 3), recorder(1, REDUCE, 3)]) == []
    assert features([recorder(0, REDUCE, 2)]) == []


def mismatch(groups: str, path: str) -> RasMismatch:
    return RasMismatch(
        sources=(Source(path=path, line=4),),
        communicator="aa11",
        what="AllReduce",
        groups=groups,
        fewest_ranks=1,
        outlying_ranks="3",
    )


def test_same_difference_in_two_queries_is_a_standstill() -> None:
    (fact,) = features([mismatch("7 at 40, 1 at 39", "a.txt"), mismatch("7 at 40, 1 at 39", "b.txt")])
    assert isinstance(fact, RasStandstill)
    assert (fact.queries, fact.outlying_ranks) == (2, "3")


def test_counts_that_moved_on_are_none() -> None:
    assert features([mismatch("7 at 40, 1 at 39", "a.txt"), mismatch("7 at 90, 1 at 89", "b.txt")]) == []
