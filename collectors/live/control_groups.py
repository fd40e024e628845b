"""Control groups (version 2): which files of a group are read, and of the groups above it."""

from __future__ import annotations

from collectors.live.tree import TreeWriter

MOUNT = "sys/fs/cgroup"
_SETTINGS = (
    "cpu.max",
    "cpuset.cpus.effective",
    "cpuset.mems.effective",
    "memory.max",
    "memory.high",
    "memory.current",
    "memory.events",
    "pids.max",
    "pids.current",
)
_COUNTERS = ("cpu.stat", "cpu.pressure", "memory.pressure", "io.pressure")


def group_of(text: str | None) -> str | None:
    """The group that a /proc/PID/cgroup names for version 2, `/` for the root."""
    for line in (text or "").splitlines():
        if line.startswith("0::/"):
            return line.removeprefix("0::")
    return None


def with_parents(group: str) -> list[str]:
    """A group and those above it without the root, the group itself first: any of them may hold it back."""
    parts = [part for part in group.split("/") if part and part != ".."]
    return ["/" + "/".join(parts[:length]) for length in range(len(parts), 0, -1)]


def record_settings(tree: TreeWriter, group: str) -> None:
    """Limits and what is used of them."""
    for name in _SETTINGS:
        tree.read(f"{MOUNT}{group}/{name}")


def record_counters(tree: TreeWriter, group: str) -> None:
    """What is read at the window's begin and end."""
    for name in _COUNTERS:
        tree.read(f"{MOUNT}{group}/{name}", timed=True)
