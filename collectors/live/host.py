"""The host: memory nodes, processors, memory, stalls, limits, kernel command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from collectors.live.base import Folder, Recorder, Window
from collectors.live.control_groups import group_of, record_counters, record_settings, with_parents
from collectors.live.tree import TreeWriter

_CPU = "sys/devices/system/cpu"
_NODE = "sys/devices/system/node"
_ONCE = (
    "proc/cmdline",
    "proc/meminfo",
    "proc/self/limits",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/numa_balancing",
    "proc/sys/vm/swappiness",
    "proc/sys/vm/zone_reclaim_mode",
    f"{_NODE}/online",
    f"{_NODE}/has_memory",
    f"{_CPU}/online",
    f"{_CPU}/present",
    f"{_CPU}/isolated",
    f"{_CPU}/nohz_full",
    f"{_CPU}/smt/active",
    f"{_CPU}/cpufreq/boost",
    f"{_CPU}/intel_pstate/no_turbo",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/mm/transparent_hugepage/defrag",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
)
_PRESSURES = ("proc/pressure/cpu", "proc/pressure/memory", "proc/pressure/io")
_POLICY_FILES = (
    "affected_cpus",
    "scaling_governor",
    "scaling_driver",
    "scaling_max_freq",
    "cpuinfo_max_freq",
    "energy_performance_preference",
)
_ACTIVITY = (
    "pgmajfault ",
    "pswpin ",
    "pswpout ",
    "numa_hint_faults",
    "numa_pages_migrated ",
    "compact_stall ",
    "allocstall_",
)


class Host(Recorder):
    """Everything about the machine but its devices and its processes."""

    name: ClassVar[str] = "host"
    title: ClassVar[str] = "processors, memory and kernel settings"
    directory: ClassVar[str] = "host"

    def record(self, folder: Folder, window: Window) -> None:
        """Settings once, counters and what fluctuates at every reading, and once more at the end."""
        if not (folder.root / "proc").is_dir() and not (folder.root / "sys").is_dir():
            folder.absent("There is neither /proc nor /sys")
            return
        tree = TreeWriter(folder, "host")
        for path in _ONCE:
            tree.read(path)
        _nodes(tree)
        _frequencies(tree)
        _memory_modules(tree)
        group = group_of(tree.read("proc/self/cgroup"))
        groups = with_parents(group) if group else []
        for path in groups:
            record_settings(tree, path)
        tree.space("dev/shm")
        _copy(folder, tree, "proc/modules", "cat /proc/modules", "modules.txt")
        _copy(folder, tree, "proc/driver/nvidia/version", "cat /proc/driver/nvidia/version", "driver-version.txt")
        _idle_states(tree, first=True)
        for _ in window.ticks():
            tree.read("proc/loadavg", timed=True)
            tree.read("proc/stat", timed=True, keep=_starts("cpu ", "procs_"))
            for path in _PRESSURES:
                tree.read(path, timed=True)
            _counters(tree, groups)
        _counters(tree, groups)
        _idle_states(tree, first=False)
        if tree.denied:
            folder.lacked(f"{len(tree.denied)} files such as /{tree.denied[0]} can be read by root only")


def _starts(*beginnings: str) -> Callable[[str], bool]:
    return lambda line: line.startswith(beginnings)


def _nodes(tree: TreeWriter) -> None:
    for node in tree.folders(_NODE, "node"):
        for name in ("cpulist", "distance"):
            tree.read(f"{node}/{name}")
        tree.read(f"{node}/meminfo", keep=lambda line: " MemTotal:" in line or " MemFree:" in line)


def _frequencies(tree: TreeWriter) -> None:
    for policy in tree.folders(f"{_CPU}/cpufreq", "policy"):
        for name in _POLICY_FILES:
            tree.read(f"{policy}/{name}")


def _idle_states(tree: TreeWriter, *, first: bool) -> None:
    for cpu in tree.folders(_CPU, "cpu"):
        if not cpu.removeprefix(f"{_CPU}/cpu").isdecimal():
            continue
        for state in tree.folders(f"{cpu}/cpuidle", "state"):
            if first:
                for name in ("name", "latency", "disable"):
                    tree.read(f"{state}/{name}")
            tree.read(f"{state}/time", timed=True)


def _memory_modules(tree: TreeWriter) -> None:
    for controller in tree.folders("sys/devices/system/edac/mc", "mc"):
        for name in ("ce_count", "ue_count"):
            tree.read(f"{controller}/{name}")


def _counters(tree: TreeWriter, groups: list[str]) -> None:
    tree.read("proc/vmstat", timed=True, keep=_starts(*_ACTIVITY))
    for group in groups:
        record_counters(tree, group)


def _copy(folder: Folder, tree: TreeWriter, path: str, command: str, name: str) -> None:
    """A file that an ordinary collector reads, under the command that would print it."""
    try:
        text = (tree.root / path).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return
    folder.write(name, f"$ {command}\n{text}")
