"""Versions of NCCL over the hosts of a job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from diagnose.facts import Fact, Subject
from diagnose.facts.nccl import NcclVersion, NcclVersionSpread

SOURCES = 8
"""Sources kept: the first of each version come first."""


def features(facts: Sequence[Fact]) -> list[Fact]:
    """One nccl-version-spread fact, where two hosts or more tell their version."""
    told = [fact for fact in facts if isinstance(fact, NcclVersion) and fact.subject.host is not None]
    by_version: dict[str, list[NcclVersion]] = defaultdict(list)
    builds: dict[str | None, str] = {}
    for fact in told:
        by_version[fact.version].append(fact)
        builds.setdefault(fact.cuda_version, fact.subject.host or "")
    hosts = {fact.subject.host for fact in told}
    if len(hosts) < 2:
        return []
    ordered = sorted(by_version.items(), key=lambda item: (-len(item[1]), item[0]))
    first = [group[0] for _, group in ordered]
    known_builds = sorted(build for build in builds if build is not None)
    return [
        NcclVersionSpread(
            subject=Subject(),
            sources=tuple(dict.fromkeys(source for fact in (*first, *told) for source in fact.sources))[:SOURCES],
            hosts=len(hosts),
            versions=len(ordered),
            usual_version=ordered[0][0],
            odd_version=ordered[-1][0] if len(ordered) > 1 else None,
            odd_host=ordered[-1][1][0].subject.host if len(ordered) > 1 else None,
            cuda_builds=len(known_builds),
            cuda_build_names=" ".join(known_builds) or None,
        )
    ]
