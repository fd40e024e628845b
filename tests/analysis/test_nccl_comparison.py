from __future__ import annotations

from collections.abc import Mapping

import pytest

from diagnose.analysis.nccl_comparison import features
from diagnose.facts import Source
from diagnose.facts.nccl import NcclTest, NcclTestComparison, NcclVersion


def run(
    version: str | None, curve: Mapping[int, float], path: str = "a.txt", operation: str = "all_reduce", ranks: int = 16
) -> NcclTest:
    speeds = {size: speed * 1e9 for size, speed in curve.items()}
    peak = max(speeds, key=lambda size: speeds[size])
    return NcclTest(
        sources=(Source(path=path, line=1),),
        operation=operation,
        ranks=ranks,
        nccl_version=version,
        largest_size_bytes=max(speeds),
        largest_busbw_bytes_per_second=speeds[max(speeds)],
        peak_busbw_bytes_per_second=speeds[peak],
        peak_size_bytes=peak,
        sizes_bytes=tuple(speeds),
        busbw_by_size_bytes_per_second=tuple(speeds.values()),
    )


def compare(*facts: NcclTest | NcclVersion) -> list[NcclTestComparison]:
    return [fact for fact in features(facts) if isinstance(fact, NcclTestComparison)]


def test_slower_newer_version_shows_in_the_lowest_ratio() -> None:
    old = run("2.18.5", {1024: 0.05, 1 << 20: 50.0, 1 << 30: 200.0, 1 << 32: 250.0})
    new = run("2.19.3", {1024: 0.01, 1 << 20: 50.0, 1 << 30: 100.0, 1 << 32: 225.0})
    (fact,) = compare(new, old)
    assert (fact.older_version, fact.newer_version) == ("2.18.5", "2.19.3")
    assert fact.lowest_ratio == pytest.approx(0.5)
    assert fact.lowest_ratio_size_bytes == 1 << 30
    assert fact.median_ratio == pytest.approx(0.9)
    assert fact.sizes == 3


def test_versions_are_ordered_by_number_and_not_by_letter() -> None:
    (fact,) = compare(run("2.9.9", {1 << 30: 100.0}), run("2.10.3", {1 << 30: 100.0}))
    assert (fact.older_version, fact.newer_version) == ("2.9.9", "2.10.3")


def test_neighbouring_versions_are_compared() -> None:
    facts = compare(*(run(version, {1 << 30: 100.0}) for version in ("2.20.5", "2.18.5", "2.19.3")))
    assert [(fact.older_version, fact.newer_version) for fact in facts] == [("2.18.5", "2.19.3"), ("2.19.3", "2.20.5")]


def test_one_disturbed_run_of_several_is_no_regression() -> None:
    (fact,) = compare(run("2.18.5", {1 << 30: 100.0}), run("2.19.3", {1 << 30: 40.0}), run("2.19.3", {1 << 30: 99.0}))
    assert fact.lowest_ratio == pytest.approx(0.99)


def test_version_comes_from_the_log_lines_of_the_same_file() -> None:
    log = NcclVersion(sources=(Source(path="b.txt", line=1),), version="2.20.5", ranks=8)
    (fact,) = compare(log, run("2.19.3", {1 << 30: 100.0}), run(None, {1 << 30: 50.0}, path="b.txt"))
    assert fact.newer_version == "2.20.5"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (run("2.19.3", {1 << 30: 100.0}), run("2.19.3", {1 << 30: 50.0})),
        (run("2.19.3", {1 << 30: 100.0}), run("2.20.5", {1 << 30: 50.0}, ranks=8)),
        (run("2.19.3", {1 << 30: 100.0}), run("2.20.5", {1 << 30: 50.0}, operation="all_gather")),
        (run("2.19.3", {1 << 30: 100.0}), run("2.20.5", {1 << 29: 50.0})),
        (run("2.19.3", {1 << 30: 100.0}), run(None, {1 << 30: 50.0})),
    ],
    ids=["one version", "other ranks", "other operation", "no size in common", "version unknown"],
)
def test_runs_that_differ_otherwise_are_not_compared(first: NcclTest, second: NcclTest) -> None:
    assert compare(first, second) == []
