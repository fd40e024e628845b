"""Settings of a host from its recorded tree: clocks and idle states, memory policy, limits, kernel command line."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from collectors.kernel_boot_lines import PARAMETERS
from collectors.recorded_tree import RecordedTree, most_common, ratio, whole
from diagnose.facts import Fact, Subject
from diagnose.facts.kernel import KernelParameter
from diagnose.facts.tuning import ClockSource, CpuFrequency, CpuIdleState, MemoryPolicy, ResourceLimit

_CPU = "sys/devices/system/cpu"
_POLICIES = f"{_CPU}/cpufreq"
_CHOSEN = re.compile(r"\[([\w+-]+)\]")
_LIMIT = re.compile(r"^(Max locked memory|Max open files|Max processes)\s+(\S+)\s+(\S+)")
_LIMIT_NAMES = {"Max locked memory": "locked-memory", "Max open files": "open-files", "Max processes": "processes"}


def settings(tree: RecordedTree, host: Subject) -> Iterator[Fact]:
    """All of them."""
    yield from _parameters(tree, host)
    yield from _frequency(tree, host)
    yield from _idle_states(tree, host)
    yield from _memory_policy(tree, host)
    yield from limits(tree, host, "proc/self/limits", "collector")
    path = "sys/devices/system/clocksource/clocksource0/current_clocksource"
    if (name := tree.text(path)) is not None:
        yield ClockSource(subject=host, sources=tree.source(path), name=name)


def limits(tree: RecordedTree, subject: Subject, path: str, of: str) -> Iterator[Fact]:
    """The limits of a process."""
    entry = tree.last(path)
    for line in entry.lines if entry is not None else ():
        match = _LIMIT.match(line)
        if match is not None:
            yield ResourceLimit(
                subject=subject,
                sources=tree.source(path),
                resource=_LIMIT_NAMES[match[1]],
                of=of,
                unlimited=match[2] == "unlimited",
                soft=whole(match[2]),
                hard=whole(match[3]),
            )


def _parameters(tree: RecordedTree, host: Subject) -> Iterator[Fact]:
    for word in (tree.text("proc/cmdline") or "").split():
        name, _, value = word.partition("=")
        if PARAMETERS.match(name):
            yield KernelParameter(subject=host, sources=tree.source("proc/cmdline"), name=name, value=value or None)


def _frequency(tree: RecordedTree, host: Subject) -> Iterator[Fact]:
    policies = [f"{_POLICIES}/{name}" for name in tree.names(_POLICIES) if name.startswith("policy")]

    def values(name: str) -> list[str]:
        return [value for policy in policies if (value := tree.text(f"{policy}/{name}")) is not None]

    governors = [
        governor
        for policy in policies
        if (governor := tree.text(f"{policy}/scaling_governor")) is not None
        # Names of CPUs stand apart by blanks here.
        for _ in (tree.text(f"{policy}/affected_cpus") or "0").split()
    ]
    if not governors:
        return
    limits_khz = [number for value in values("scaling_max_freq") if (number := whole(value)) is not None]
    highest_khz = [number for value in values("cpuinfo_max_freq") if (number := whole(value)) is not None]
    boost, no_turbo = tree.number(f"{_POLICIES}/boost"), tree.number(f"{_CPU}/intel_pstate/no_turbo")
    yield CpuFrequency(
        subject=host,
        sources=tree.source(f"{policies[0]}/scaling_governor"),
        governor=most_common(governors),
        cpus=len(governors),
        cpus_not_performance=sum(governor != "performance" for governor in governors),
        driver=most_common(values("scaling_driver")),
        energy_preference=most_common(values("energy_performance_preference")),
        limit_mhz=min(limits_khz) / 1000 if limits_khz else None,
        max_mhz=max(highest_khz) / 1000 if highest_khz else None,
        boost_enabled=bool(boost) if boost is not None else (no_turbo == 0 if no_turbo is not None else None),
    )


def _idle_states(tree: RecordedTree, host: Subject) -> Iterator[Fact]:
    states: dict[str, list[str]] = defaultdict(list)
    for cpu in tree.names(_CPU):
        for state in tree.names(f"{_CPU}/{cpu}/cpuidle"):
            path = f"{_CPU}/{cpu}/cpuidle/{state}"
            if (name := tree.text(f"{path}/name")) is not None:
                states[name].append(path)
    for name, paths in states.items():
        latency = tree.number(f"{paths[0]}/latency")
        yield CpuIdleState(
            subject=host,
            sources=tree.source(f"{paths[0]}/name"),
            name=name,
            exit_latency_seconds=latency / 1e6 if latency is not None else None,
            disabled_cpus=sum(tree.number(f"{path}/disable") == 1 for path in paths),
            cpus=len(paths),
            time_ratio=_time_ratio(tree, paths),
        )


def _time_ratio(tree: RecordedTree, paths: list[str]) -> float | None:
    spent = available = 0.0
    for path in paths:
        span = tree.span(f"{path}/time")
        first, last = (whole(span.first.text), whole(span.last.text)) if span else (None, None)
        if span is not None and first is not None and last is not None and last >= first:
            spent += (last - first) / 1e6
            available += span.seconds
    return ratio(spent, available)


def _memory_policy(tree: RecordedTree, host: Subject) -> Iterator[Fact]:
    paths = {
        "balancing": "proc/sys/kernel/numa_balancing",
        "enabled": "sys/kernel/mm/transparent_hugepage/enabled",
        "defrag": "sys/kernel/mm/transparent_hugepage/defrag",
        "swappiness": "proc/sys/vm/swappiness",
        "reclaim": "proc/sys/vm/zone_reclaim_mode",
    }
    if all(tree.text(path) is None for path in paths.values()):
        return
    balancing = tree.number(paths["balancing"])
    yield MemoryPolicy(
        subject=host,
        sources=tree.source(*paths.values()),
        # Mode 2 moves pages between memory tiers only; the first bit is the moving between nodes.
        numa_balancing=bool(balancing & 1) if balancing is not None else None,
        numa_balancing_mode=balancing,
        transparent_hugepages=_chosen(tree.text(paths["enabled"])),
        transparent_hugepage_defrag=_chosen(tree.text(paths["defrag"])),
        swappiness=tree.number(paths["swappiness"]),
        zone_reclaim_mode=tree.number(paths["reclaim"]),
    )


def _chosen(text: str | None) -> str | None:
    match = _CHOSEN.search(text or "")
    return match[1] if match else None
