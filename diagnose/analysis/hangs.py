"""Standing jobs: flight recorders of ranks compared, and RAS queries that show the same twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from diagnose.facts import Fact, Source
from diagnose.facts.hang import CollectiveDivergence, FlightRecorderRank, RasMismatch, RasStandstill

_RANKS_LISTED = 16

_Call = tuple[str, str, str]
"""Operation, sizes and types."""
_DIFFERENCES = ("operation", "size", "type")
_SIZES_MAY_DIFFER = ("all_to_all", "alltoall", "gather", "scatter", "broadcast")
"""Calls whose input sizes differ between ranks by design (roots, uneven splits, unused inputs)."""


def features(facts: Sequence[Fact]) -> list[Fact]:
    """Divergences of process groups, and communicators that stand still."""
    return [*_divergences(facts), *_standstills(facts)]


def _standstills(facts: Sequence[Fact]) -> list[Fact]:
    seen: dict[tuple[str, str, str], list[RasMismatch]] = defaultdict(list)
    for fact in facts:
        if isinstance(fact, RasMismatch):
            seen[fact.communicator, fact.what, fact.groups].append(fact)
    return [
        RasStandstill(
            subject=same[0].subject,
            sources=_sources(same),
            communicator=communicator,
            what=what,
            groups=groups,
            outlying_ranks=same[0].outlying_ranks,
            queries=len(same),
        )
        for (communicator, what, groups), same in seen.items()
        if len(same) > 1
    ]


def _divergences(facts: Sequence[Fact]) -> list[Fact]:
    groups: dict[str, dict[int, FlightRecorderRank]] = defaultdict(dict)
    for fact in facts:
        if isinstance(fact, FlightRecorderRank) and fact.subject.rank is not None:
            groups[fact.process_group][fact.subject.rank] = fact
    found = [_divergence(name, ranks) for name, ranks in groups.items() if len(ranks) > 1]
    return [fact for fact in found if fact is not None]


def _divergence(name: str, ranks: Mapping[int, FlightRecorderRank]) -> Fact | None:
    """The first call in which the ranks differ; else who did not enter the first call that nobody completed."""
    calls = {rank: _calls(fact) for rank, fact in ranks.items()}
    shared = sorted(set.intersection(*(set(own) for own in calls.values())))
    for sequence in shared:
        for at, difference in enumerate(_DIFFERENCES):
            values = {rank: own[sequence][at] for rank, own in calls.items()}
            if len(set(values.values())) < 2 or (at == 1 and _may_differ(calls, sequence)):
                continue
            return _fact(name, ranks, difference, sequence, {rank: own[sequence] for rank, own in calls.items()})
    pending = [fact.pending_sequence for fact in ranks.values() if fact.pending_sequence is not None]
    if not pending:
        return None
    first = min(pending)
    states = {
        rank: ("not entered", "", "") if (fact.last_sequence or 0) < first else _state(fact, first)
        for rank, fact in ranks.items()
    }
    absent = [rank for rank, state in states.items() if state[0] == "not entered"]
    return _fact(name, ranks, "not-entered" if absent else "not-completed", first, states)


def _may_differ(calls: Mapping[int, Mapping[int, _Call]], sequence: int) -> bool:
    operation = next(iter(calls.values()))[sequence][0].lower()
    return any(word in operation for word in _SIZES_MAY_DIFFER) and "all_gather" not in operation


def _state(fact: FlightRecorderRank, sequence: int) -> _Call:
    if fact.pending_sequence is None or fact.pending_sequence > sequence:
        return ("completed", "", "")
    return (f"{fact.pending_operation} {fact.pending_state}", "", "")


def _fact(
    name: str, ranks: Mapping[int, FlightRecorderRank], difference: str, sequence: int, said: Mapping[int, _Call]
) -> Fact:
    parties: dict[_Call, list[int]] = defaultdict(list)
    for rank, what in sorted(said.items()):
        parties[what].append(rank)
    ordered = sorted(parties.items(), key=lambda party: (-len(party[1]), party[1]))
    outlying = ordered[1:]
    if difference == "not-entered":
        outlying = [party for party in ordered if party[0][0] == "not entered"]
    elif difference == "not-completed":
        outlying = []
    sizes = {fact.group_size for fact in ranks.values() if fact.group_size is not None}
    return CollectiveDivergence(
        sources=_sources([ranks[group[0]] for _, group in ordered]),
        process_group=name,
        difference=difference,
        sequence=sequence,
        ranks=len(ranks),
        ranks_without_dump=max(0, max(sizes) - len(ranks)) if sizes else None,
        outlying_ranks=_listed(sorted(rank for _, group in outlying for rank in group)) or None,
        detail="; ".join(f"{' '.join(filter(None, what))}: rank {_listed(group)}" for what, group in ordered)[:500],
    )


def _calls(fact: FlightRecorderRank) -> dict[int, _Call]:
    """Sequence number to call; lines that are cut are left out."""
    found = {}
    for call in fact.calls:
        parts = call.split(" ", 3)
        if len(parts) == 4 and parts[0].isdecimal():
            found[int(parts[0])] = (parts[1], parts[2], parts[3])
    return found


def _listed(ranks: Sequence[int]) -> str:
    text = ", ".join(map(str, ranks[:_RANKS_LISTED]))
    return text + (f" and {len(ranks) - _RANKS_LISTED} more" if len(ranks) > _RANKS_LISTED else "")


def _sources(facts: Sequence[Fact]) -> tuple[Source, ...]:
    return tuple(dict.fromkeys(source for fact in facts for source in fact.sources))
