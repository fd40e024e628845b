"""What a host was busy with, from its recorded tree: processors, memory, paging."""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median

from collectors.recorded_tree import Entry, RecordedTree, pairs, per_second, rise, whole
from diagnose.facts import Fact, Subject
from diagnose.facts.cpu_lists import format_cpu_list, parse_cpu_list
from diagnose.facts.load import CpuLoad, HostMemory, MemoryActivity

_CPU = "sys/devices/system/cpu"
_LOAD = re.compile(r"^([\d.]{1,10}) [\d.]{1,10} ([\d.]{1,10}) (\d{1,9})/\d+")
CPU_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""Fields of the `cpu` line that add up to all time; guests' time is part of the users'."""


def load(tree: RecordedTree, host: Subject) -> Iterator[Fact]:
    """Processors, memory, and what the memory manager did."""
    yield from _processors(tree, host)
    yield from _memory(tree, host)
    yield from _activity(tree, host)


def _processors(tree: RecordedTree, host: Subject) -> Iterator[Fact]:
    online = parse_cpu_list(tree.text(f"{_CPU}/online"))
    present = parse_cpu_list(tree.text(f"{_CPU}/present"))
    average = _LOAD.match(tree.text("proc/loadavg") or "")
    states = [pairs(entry.lines) for entry in tree.readings("proc/stat")]
    running = [state["procs_running"] for state in states if "procs_running" in state]
    if not online and average is None and not running:
        return
    span = tree.span("proc/stat")
    shares = _shares(span.first, span.last) if span is not None else {}
    yield CpuLoad(
        subject=host,
        sources=tree.source("proc/stat", "proc/loadavg", f"{_CPU}/online"),
        cpus_online=len(online) or None,
        cpus_offline=format_cpu_list(present - online) or None,
        interval_seconds=span.seconds if span is not None else None,
        busy_ratio=shares.get("busy"),
        softirq_ratio=shares.get("softirq"),
        iowait_ratio=shares.get("iowait"),
        steal_ratio=shares.get("steal"),
        runnable_tasks=int(median(running)) if running else None,
        runnable_tasks_max=max(running, default=None),
        blocked_tasks_max=max((state["procs_blocked"] for state in states if "procs_blocked" in state), default=None),
        load_1_minute=_decimal(average[1]) if average else None,
        load_15_minutes=_decimal(average[2]) if average else None,
    )


def _shares(first: Entry, last: Entry) -> dict[str, float]:
    """Shares of all CPUs' time between two readings."""
    before, after = cpu_ticks(first), cpu_ticks(last)
    spent = {name: rise(before, after, name) for name in CPU_FIELDS}
    total = sum(ticks for ticks in spent.values() if ticks is not None)
    if not total:
        return {}
    shares = {name: ticks / total for name, ticks in spent.items() if ticks is not None}
    shares["busy"] = 1 - shares.get("idle", 0.0) - shares.get("iowait", 0.0)
    return shares


def cpu_ticks(entry: Entry) -> dict[str, int]:
    """Time of all CPUs together by what it was spent for, in ticks."""
    for line in entry.lines:
        if line.startswith("cpu "):
            numbers = [whole(word) for word in line.split()[1:]]
            return {name: number for name, number in zip(CPU_FIELDS, numbers, strict=False) if number is not None}
    return {}


def _decimal(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _memory(tree: RecordedTree, host: Subject) -> Iterator[Fact]:
    entry = tree.last("proc/meminfo")
    sizes = pairs(entry.lines, ":") if entry is not None else {}
    if not sizes:
        return

    def size(name: str) -> int | None:
        return sizes[name] * 1024 if name in sizes else None

    swap, swap_free = size("SwapTotal"), size("SwapFree")
    dirty = [amount for name in ("Dirty", "Writeback") if (amount := size(name)) is not None]
    page = size("Hugepagesize")
    modules = "sys/devices/system/edac/mc"
    yield HostMemory(
        subject=host,
        sources=tree.source("proc/meminfo"),
        total_bytes=size("MemTotal"),
        available_bytes=size("MemAvailable"),
        swap_total_bytes=swap,
        swap_used_bytes=swap - swap_free if swap is not None and swap_free is not None else None,
        dirty_bytes=sum(dirty) if dirty else None,
        hugepages_total_bytes=_pages(sizes.get("HugePages_Total"), page),
        hugepages_free_bytes=_pages(sizes.get("HugePages_Free"), page),
        hardware_corrupted_bytes=size("HardwareCorrupted"),
        corrected_errors=_module_errors(tree, modules, "ce_count"),
        uncorrected_errors=_module_errors(tree, modules, "ue_count"),
    )


def _pages(count: int | None, size: int | None) -> int | None:
    return count * size if count is not None and size is not None else None


def _module_errors(tree: RecordedTree, base: str, name: str) -> int | None:
    found = [tree.number(f"{base}/{controller}/{name}") for controller in tree.names(base)]
    counted = [number for number in found if number is not None]
    return sum(counted) if counted else None


def _activity(tree: RecordedTree, host: Subject) -> Iterator[Fact]:
    span = tree.span("proc/vmstat")
    if span is None:
        return
    first, last = pairs(span.first.lines), pairs(span.last.lines)

    def rate(name: str) -> float | None:
        return per_second(first, last, name, span.seconds)

    stalls = [rise(first, last, name) for name in last if name.startswith("allocstall_")]
    counted = [number for number in stalls if number is not None]
    yield MemoryActivity(
        subject=host,
        sources=tree.source("proc/vmstat"),
        interval_seconds=span.seconds,
        major_faults_per_second=rate("pgmajfault"),
        swap_in_pages_per_second=rate("pswpin"),
        swap_out_pages_per_second=rate("pswpout"),
        numa_hint_faults_per_second=rate("numa_hint_faults"),
        numa_pages_migrated_per_second=rate("numa_pages_migrated"),
        compaction_stalls_per_second=rate("compact_stall"),
        direct_reclaim_stalls_per_second=sum(counted) / span.seconds if counted else None,
    )
