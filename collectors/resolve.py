"""Joins what different sources call the same thing: a host left unnamed, a GPU by index, UUID or bus address.

Only what the texts say is joined: names of files and folders count for nothing, and where sources disagree nothing is
filled in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from collectors.gpu_names import GpuNames
from diagnose.facts import Fact, Subject


def resolve(facts: Sequence[Fact]) -> list[Fact]:
    """The same facts in the same order, with what is certain added to their subjects."""
    named = _with_hosts(facts)
    by_host: dict[str | None, list[Fact]] = defaultdict(list)
    for fact in named:
        by_host[fact.subject.host].append(fact)
    names = {host: GpuNames((_file(fact), fact.subject) for fact in group) for host, group in by_host.items()}
    return [_about(fact, names[fact.subject.host].complete(fact.subject)) for fact in named]


def _about(fact: Fact, subject: Subject) -> Fact:
    return fact if subject == fact.subject else fact.model_copy(update={"subject": subject})


def _file(fact: Fact) -> str:
    source = fact.sources[0]
    return source.path or source.command or source.api_call or ""


def _folder(path: str) -> str:
    """Where a file lies; members of an archive lie in it."""
    return path[: max(path.rfind("/"), path.rfind("!")) + 1]


_SCOPES: tuple[Callable[[str], str], ...] = (str, _folder, lambda _: "")
"""Where the one host that a fact leaves unsaid is looked for: file, folder, all of the input."""


def _with_hosts(facts: Sequence[Fact]) -> list[Fact]:
    same = _same_hosts({fact.subject.host for fact in facts if fact.subject.host is not None})
    hosts: list[dict[str, set[str]]] = [defaultdict(set) for _ in _SCOPES]
    for fact in facts:
        if fact.subject.host is not None:
            for scope, found in zip(_SCOPES, hosts, strict=True):
                found[scope(_file(fact))].add(same[fact.subject.host])
    return [_about(fact, _with_host(fact, same, hosts)) for fact in facts]


def _with_host(fact: Fact, same: dict[str, str], hosts: Sequence[dict[str, set[str]]]) -> Subject:
    subject = fact.subject
    if subject.host is not None:
        return subject.model_copy(update={"host": same[subject.host]})
    for scope, found in zip(_SCOPES, hosts, strict=True):
        names = found.get(scope(_file(fact)), set())
        if len(names) == 1:
            return subject.model_copy(update={"host": next(iter(names))})
        if names:
            break
    return subject


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
