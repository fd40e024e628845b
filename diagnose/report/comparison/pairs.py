"""Which fact of one side is which of the other: kind, subject, and what names it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from diagnose.facts import Fact, Subject

# Process ids say nothing across two readings.
_PASSING = ("process_id",)


@cache
def naming_fields(kind: type[Fact]) -> tuple[str, ...]:
    """Fields that tell facts of one subject apart: `name` where there is one, else all words that a kind must have."""
    fields = kind.model_fields
    words = [name for name in kind.own_fields() if fields[name].is_required() and fields[name].annotation is str]
    return ("name",) if "name" in words else tuple(words)


def name_of(fact: Fact) -> str | None:
    """The values of these fields in words."""
    words = [str(getattr(fact, name)) for name in naming_fields(type(fact))]
    return " ".join(words) or None


def subject_of(subject: Subject, host_names: Mapping[str, str]) -> Subject:
    """The subject as the other side calls it, without what passes."""
    updates: dict[str, object] = dict.fromkeys(_PASSING)
    if subject.host is not None:
        updates["host"] = host_names.get(subject.host, subject.host)
    if subject.gpu_index is not None or subject.gpu_bus_id is not None:
        # One reading may know a GPU by fewer names than the other.
        updates |= {"gpu_uuid": None, "gpu_bus_id": subject.gpu_bus_id if subject.gpu_index is None else None}
    return subject.model_copy(update=updates)


Key = tuple[str, str, Hashable]


def grouped(facts: Iterable[Fact], host_names: Mapping[str, str]) -> dict[Key, list[Fact]]:
    """Facts by kind, subject and name, in the order of reading."""
    found: dict[Key, list[Fact]] = defaultdict(list)
    for fact in facts:
        found[fact.kind, subject_of(fact.subject, host_names).path(), name_of(fact)].append(fact)
    return found


def partners(before: Sequence[Fact], after: Sequence[Fact], host_names: Mapping[str, str]) -> Iterator[Pair]:
    """Facts side by side; None where one side has no partner.

    Where a subject has one fact of a kind on each side, the two are partners whatever they are named: then the name is
    what changed (the clock source, the driver's version).
    """
    first, second = grouped(before, host_names), grouped(after, {})
    single = _single(first), _single(second)
    for key in dict.fromkeys((*first, *second)):
        mine, others = first.get(key, []), second.get(key, [])
        if mine and others:
            yield Pair(key, mine, others)
            continue
        place = key[:2]
        if place in single[0] and place in single[1]:
            if mine:
                yield Pair(key, mine, second[single[1][place]])
            continue
        yield Pair(key, mine, others)


class Pair:
    """Facts of one name on both sides: usually one each; several where something was read or measured repeatedly."""

    __slots__ = ("after", "before", "key")

    def __init__(self, key: Key, before: Sequence[Fact], after: Sequence[Fact]) -> None:
        self.key = key
        self.before = before
        self.after = after


def _single(groups: Mapping[Key, Sequence[Fact]]) -> dict[tuple[str, str], Key]:
    """Kind and subject to the key of the one fact of them."""
    found: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in groups:
        found[key[:2]].append(key)
    return {place: keys[0] for place, keys in found.items() if len(keys) == 1 and len(groups[keys[0]]) == 1}
