"""The same collective benchmark run with different versions of NCCL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median

from diagnose.facts import Fact, Source, Subject
from diagnose.facts.nccl import NcclTest, NcclTestComparison, NcclVersion

_RESOLVED_BYTES_PER_SECOND = 1e9
"""nccl-tests prints two decimals of GB/s: below 1 GB/s rounding alone moves a ratio by more than 1 %."""

_Group = tuple[str, int | None, int | None, str | None]


def features(facts: Sequence[Fact]) -> list[Fact]:
    """One comparison for each two neighbouring versions of a benchmark with the same operation, ranks, hosts and GPU.

    Repeated runs count by their best result at each size, so that one disturbed run is not taken for a regression.
    """
    versions = _versions_by_path(facts)
    groups: dict[_Group, dict[str, list[NcclTest]]] = defaultdict(lambda: defaultdict(list))
    for test in facts:
        if isinstance(test, NcclTest) and (version := test.nccl_version or _only(versions, test.sources)):
            groups[test.operation, test.ranks, test.hosts, test.gpu_name][version].append(test)
    found: list[Fact] = []
    for runs in groups.values():
        for older, newer in pairwise(sorted(runs, key=_numbers)):
            comparison = _compare(older, runs[older], newer, runs[newer])
            if comparison is not None:
                found.append(comparison)
    return found


def _compare(older: str, before: list[NcclTest], newer: str, after: list[NcclTest]) -> NcclTestComparison | None:
    first, second = _curve(before), _curve(after)
    ratios = {
        size: second[size] / speed
        for size, speed in first.items()
        if size in second and speed >= _RESOLVED_BYTES_PER_SECOND
    }
    if not ratios:
        return None
    worst = min(ratios, key=lambda size: (ratios[size], size))
    hosts = {test.subject.host for test in [*before, *after]}
    return NcclTestComparison(
        subject=Subject(host=hosts.pop() if len(hosts) == 1 else None),
        sources=tuple(dict.fromkeys(source for test in [*before, *after] for source in test.sources)),
        operation=before[0].operation,
        older_version=older,
        newer_version=newer,
        ranks=before[0].ranks,
        lowest_ratio=ratios[worst],
        lowest_ratio_size_bytes=worst,
        median_ratio=median(ratios.values()),
        sizes=len(ratios),
    )


def _curve(tests: Iterable[NcclTest]) -> dict[int, float]:
    best: dict[int, float] = {}
    for test in tests:
        for size, speed in zip(test.sizes_bytes or (), test.busbw_by_size_bytes_per_second or (), strict=False):
            best[size] = max(best.get(size, 0.0), speed)
    return best


def _versions_by_path(facts: Sequence[Fact]) -> Mapping[str, set[str]]:
    versions: dict[str, set[str]] = defaultdict(set)
    for fact in facts:
        if isinstance(fact, NcclVersion):
            for source in fact.sources:
                if source.path is not None:
                    versions[source.path].add(fact.version)
    return versions


def _only(versions: Mapping[str, set[str]], sources: Sequence[Source]) -> str | None:
    """The version that the log lines of the same file report, where they agree on one."""
    found = {version for source in sources if source.path for version in versions.get(source.path, ())}
    return found.pop() if len(found) == 1 else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split("."))
