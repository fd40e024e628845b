"""Joins what different sources call the same thing: a host left unnamed, a GPU by index, UUID or bus address.

Only what the texts say is joined: names of files and folders count for nothing, and where sources disagree nothing is
filled in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from collectors.gpu_names import GpuNames
from collectors.merge import merge
from diagnose.facts import Fact, Subject


def resolve(facts: Sequence[Fact]) -> list[Fact]:
    """The facts in the same order, with what is certain added to their subjects, and parts told twice joined."""
    named = _with_hosts(facts)
    by_host: dict[str | None, list[Fact]] = defaultdict(list)
    for fact in named:
        by_host[fact.subject.host].append(fact)
    names = {host: GpuNames((_file(fact), fact.subject) for fact in group) for host, group in by_host.items()}
    return merge([_about(fact, names[fact.subject.host].complete(fact.subject)) for fact in named])


def _about(fact: Fact, subject: Subject) -> Fact:
    return fact if subject == fact.subject else fact.model_copy(update={"subject": subject})


def _file(fact: Fact) -> str:
    source = fact.sources[0]
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


def _with_hosts(facts: Sequence[Fact]) -> list[Fact]:
    same = _same_hosts({fact.subject.host for fact in facts if fact.subject.host is not None})
    hosts: dict[str, set[str]] = defaultdict(set)
    for fact in facts:
        if fact.subject.host is not None:
            for scope in _scopes(_file(fact)):
                hosts[scope].add(same[fact.subject.host])
    return [_about(fact, _with_host(fact, same, hosts)) for fact in facts]


def _with_host(fact: Fact, same: Mapping[str, str], hosts: Mapping[str, set[str]]) -> Subject:
    subject = fact.subject
    if subject.host is not None:
        return subject.model_copy(update={"host": same[subject.host]})
    named = next((names for scope in _scopes(_file(fact)) if (names := hosts.get(scope))), set())
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
