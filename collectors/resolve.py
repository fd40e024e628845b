"""Joins what different sources call the same thing: a host left unnamed, a GPU by index, UUID or bus address.

Only what the texts say is joined: names of files and folders count for nothing, and where sources disagree nothing is
filled in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from collectors.gpu_names import GpuNames
from collectors.inputs import Readings
from collectors.merge import merge
from diagnose.facts import Fact, Subject
from diagnose.facts.series import Measurement

Item = TypeVar("Item", bound="Fact | Measurement")


def resolve(facts: Sequence[Fact]) -> list[Fact]:
    """The facts in the same order, with what is certain added to their subjects, and parts told twice joined."""
    return resolve_readings(Readings(facts=list(facts))).facts


def resolve_readings(readings: Readings) -> Readings:
    """The same readings; facts and measurements have what is certain added to their subjects."""
    named = _with_hosts([*readings.facts, *readings.series])
    by_host: dict[str | None, list[Fact | Measurement]] = defaultdict(list)
    for item in named:
        by_host[item.subject.host].append(item)
    names = {host: GpuNames((_file(item), item.subject) for item in group) for host, group in by_host.items()}
    complete = [_about(item, names[item.subject.host].complete(item.subject)) for item in named]
    return replace(
        readings,
        facts=merge([item for item in complete if isinstance(item, Fact)]),
        series=[item for item in complete if not isinstance(item, Fact)],
    )


def _about(item: Item, subject: Subject) -> Item:
    if subject == item.subject:
        return item
    if isinstance(item, Fact):
        return item.model_copy(update={"subject": subject})
    return replace(item, subject=subject)


def _file(item: Fact | Measurement) -> str:
    source = item.sources[0]
    return source.path or source.command or source.api_call or ""


def _scopes(path: str) -> Iterator[str]:
    """Where the one host that a fact leaves unsaid is looked for: the file, its folders outwards, all of the input.

    Members of an archive lie in it, and the archive in its folder.
    """
    yield path
    at = len(path)
    while (at := max(path.rfind("/", 0, at), path.rfind("!", 0, at))) >= 0:
        yield path[: at + 1]
    yield ""


def _with_hosts(items: Sequence[Item]) -> list[Item]:
    same = _same_hosts({item.subject.host for item in items if item.subject.host is not None})
    hosts: dict[str, set[str]] = defaultdict(set)
    for item in items:
        if item.subject.host is not None:
            for scope in _scopes(_file(item)):
                hosts[scope].add(same[item.subject.host])
    return [_about(item, _with_host(item, same, hosts)) for item in items]


def _with_host(item: Fact | Measurement, same: Mapping[str, str], hosts: Mapping[str, set[str]]) -> Subject:
    subject = item.subject
    if subject.host is not None:
        return subject.model_copy(update={"host": same[subject.host]})
    named = next((names for scope in _scopes(_file(item)) if (names := hosts.get(scope))), set())
    return subject.model_copy(update={"host": next(iter(named))}) if len(named) == 1 else subject


def _same_hosts(names: Iterable[str]) -> dict[str, str]:
    """Each name to the one used for it: `node01.example.com` is `node01` where both occur and no other domain does."""
    known = set(names)
    full = defaultdict(set)
    for name in known:
        full[name.partition(".")[0]].add(name)
    return {
        name: short if short in known and len(full[short]) == 2 else name
        for name in known
        for short in [name.partition(".")[0]]
    }
