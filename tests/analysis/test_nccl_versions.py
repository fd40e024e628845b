"""Versions of NCCL over the hosts of a job."""

from __future__ import annotations

from diagnose.analysis.nccl_versions import SOURCES, features
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.nccl import NcclVersion


def told(host: str | None, version: str, cuda: str | None = "12.4") -> Fact:
    source = Source(path=f"{host}.log", line=1)
    return NcclVersion(subject=Subject(host=host), sources=(source,), version=version, cuda_version=cuda, ranks=8)


def test_one_host_or_unnamed_ones_say_nothing_about_a_job() -> None:
    assert features([told("a", "2.19.3"), told("a", "2.18.1")]) == []
    assert features([told(None, "2.19.3"), told(None, "2.18.1")]) == []


def test_the_odd_version_is_that_of_fewest_hosts() -> None:
    (spread,) = features([told("a", "2.19.3"), told("b", "2.18.1"), told("c", "2.19.3")])
    assert spread.values() == {
        "hosts": 3, "versions": 2, "usual_version": "2.19.3", "odd_version": "2.18.1", "odd_host": "b",
        "cuda_builds": 1, "cuda_build_names": "12.4",
    }  # fmt: skip


def test_one_version_built_with_two_cudas() -> None:
    (spread,) = features([told("a", "2.19.3"), told("b", "2.19.3", "12.2"), told("c", "2.19.3", None)])
    assert (spread.values()["versions"], spread.values()["cuda_build_names"]) == (1, "12.2 12.4")


def test_a_thousand_hosts_keep_few_sources_and_the_odd_one_among_them() -> None:
    (spread,) = features([*(told(f"n{number}", "2.19.3") for number in range(1000)), told("odd", "2.18.1")])
    assert len(spread.sources) == SOURCES
    assert Source(path="odd.log", line=1) in spread.sources
