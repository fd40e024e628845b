"""Control groups and pressure stalls from a recorded tree."""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.live.control_groups import MOUNT
from collectors.recorded_tree import RecordedTree, Span, pairs, ratio, rise
from diagnose.facts import Fact, Subject
from diagnose.facts.load import ControlGroup, PressureStall

_STALL = re.compile(r"^(some|full) avg10=([\d.]{1,8}) avg60=([\d.]{1,8}) avg300=[\d.]+ total=(\d{1,19})$")
_QUOTA = re.compile(r"^(\d{1,15}) (\d{1,15})$")


def control_groups(tree: RecordedTree, host: Subject) -> Iterator[Fact]:
    """Every group of the tree that has files recorded, with its stalls."""
    for group in _groups(tree, ""):
        yield from _group(tree, host, group)
        for resource in ("cpu", "memory", "io"):
            yield from stalls(tree, host, f"{MOUNT}{group}/{resource}.pressure", resource, group)


def _groups(tree: RecordedTree, above: str, depth: int = 0) -> Iterator[str]:
    for name in tree.names(f"{MOUNT}{above}") if depth < 32 else ():
        group = f"{above}/{name}"
        below = tree.names(f"{MOUNT}{group}")
        if "cpu.stat" in below or "memory.max" in below or "pids.max" in below:
            yield group
        yield from _groups(tree, group, depth + 1)


def _group(tree: RecordedTree, host: Subject, group: str) -> Iterator[Fact]:
    base = f"{MOUNT}{group}"
    stat = tree.last(f"{base}/cpu.stat")
    counters = pairs(stat.lines) if stat is not None else {}
    events_entry = tree.last(f"{base}/memory.events")
    events = pairs(events_entry.lines) if events_entry is not None else {}
    throttled = counters.get("throttled_usec")
    yield ControlGroup(
        subject=host,
        sources=tree.source(f"{base}/cpu.max", f"{base}/cpu.stat", f"{base}/memory.max"),
        path=group,
        quota_cpus=_quota(tree.text(f"{base}/cpu.max")),
        cpus=tree.text(f"{base}/cpuset.cpus.effective"),
        memory_nodes=tree.text(f"{base}/cpuset.mems.effective"),
        throttled_ratio=ratio(counters.get("nr_throttled"), counters.get("nr_periods")),
        throttled_window_ratio=_throttled(tree.span(f"{base}/cpu.stat")),
        throttled_seconds=throttled / 1e6 if throttled is not None else None,
        memory_limit_bytes=tree.number(f"{base}/memory.max"),
        memory_used_bytes=tree.number(f"{base}/memory.current"),
        memory_high_events=events.get("high"),
        memory_max_events=events.get("max"),
        out_of_memory_kills=events.get("oom_kill"),
        tasks=tree.number(f"{base}/pids.current"),
        tasks_limit=tree.number(f"{base}/pids.max"),
    )


def _quota(text: str | None) -> float | None:
    match = _QUOTA.match(text or "")
    return int(match[1]) / int(match[2]) if match and int(match[2]) else None


def _throttled(span: Span | None) -> float | None:
    if span is None:
        return None
    first, last = pairs(span.first.lines), pairs(span.last.lines)
    return ratio(rise(first, last, "nr_throttled"), rise(first, last, "nr_periods"))


def stalls(
    tree: RecordedTree, host: Subject, path: str, resource: str, control_group: str | None = None
) -> Iterator[Fact]:
    """One pressure file."""
    entry = tree.last(path)
    lines = {match[1]: match for line in entry.lines if (match := _STALL.match(line))} if entry is not None else {}
    some, full = lines.get("some"), lines.get("full")
    if some is None:
        return
    span = tree.span(path)
    yield PressureStall(
        subject=host,
        sources=tree.source(path),
        resource=resource,
        control_group=control_group,
        some_ratio=_percent(some[2]),
        some_minute_ratio=_percent(some[3]),
        full_ratio=_percent(full[2]) if full else None,
        some_window_ratio=_waited(span, "some"),
        full_window_ratio=_waited(span, "full"),
    )


def _percent(text: str) -> float | None:
    try:
        return float(text) / 100
    except ValueError:
        return None


def _waited(span: Span | None, which: str) -> float | None:
    if span is None:
        return None
    totals = [
        int(match[4])
        for entry in (span.first, span.last)
        for line in entry.lines
        if (match := _STALL.match(line)) and match[1] == which
    ]
    return ratio((totals[1] - totals[0]) / 1e6, span.seconds) if len(totals) == 2 else None
