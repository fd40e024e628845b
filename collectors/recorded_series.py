"""What a recorded tree says over time: files that were read at every reading of the window.

Counters become rates between one reading and the next, each at the later one's time. Readings closer together than 50
ms are one: the time that reading takes would make noise of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from collectors.live.control_groups import MOUNT
from collectors.live.network import INTERFACES, RDMA
from collectors.recorded_load import CPU_FIELDS, cpu_ticks
from collectors.recorded_tcp import named_counters
from collectors.recorded_tree import Entry, RecordedTree, pairs, whole
from collectors.series_columns import SeriesColumns
from diagnose.facts import Subject
from diagnose.facts.series import Clock, Series

_CLOSEST_SECONDS = 0.05
_WORD_BYTES = 4
"""InfiniBand's data counters count words of this size."""
Counters = Mapping[str, float]


def tree_series(tree: RecordedTree, host: Subject) -> list[Series]:
    """Series of everything that was read often enough."""
    columns = SeriesColumns(Clock.UTC)
    _processors(tree, host, columns)
    for resource, metric in (
        ("cpu", "cpu_pressure_ratio"),
        ("memory", "memory_pressure_ratio"),
        ("io", "storage_pressure_ratio"),
    ):
        _rates(tree, f"proc/pressure/{resource}", _stalled, {"some": (metric, 1e-6)}, host, columns)
    _rates(tree, "proc/vmstat", _activity, _ACTIVITY, host, columns)
    _rates(tree, "proc/net/snmp", _tcp, {"RetransSegs": ("tcp_retransmits_per_second", 1.0)}, host, columns)
    for name in tree.names(INTERFACES):
        nic = host.model_copy(update={"nic": name})
        for file, metric in (
            ("tx_bytes", "nic_transmit_bytes_per_second"),
            ("rx_bytes", "nic_receive_bytes_per_second"),
        ):
            _rates(tree, f"{INTERFACES}/{name}/statistics/{file}", _single, {"": (metric, 1.0)}, nic, columns)
    for name in tree.names(RDMA):
        for port in tree.names(f"{RDMA}/{name}/ports"):
            subject = host.model_copy(update={"nic": name, "port": int(port) if port.isdecimal() else None})
            for file, metric in (
                ("port_xmit_data", "nic_transmit_bytes_per_second"),
                ("port_rcv_data", "nic_receive_bytes_per_second"),
            ):
                path = f"{RDMA}/{name}/ports/{port}/counters/{file}"
                _rates(tree, path, _single, {"": (metric, _WORD_BYTES)}, subject, columns)
    for group in _groups(tree, ""):
        _throttling(tree, f"{MOUNT}{group}/cpu.stat", host, columns)
    return columns.series()


def _steps(tree: RecordedTree, path: str) -> Iterator[tuple[Entry, Entry, float]]:
    """Readings one after the other, with the time between them."""
    before: Entry | None = None
    for entry in tree.readings(path):
        if entry.seconds is None:
            continue
        if before is not None and before.seconds is not None:
            seconds = entry.seconds - before.seconds
            if seconds < _CLOSEST_SECONDS:
                continue
            yield before, entry, seconds
        before = entry


def _rates(
    tree: RecordedTree,
    path: str,
    read: Callable[[Entry], Counters],
    metrics: Mapping[str, tuple[str, float]],
    subject: Subject,
    columns: SeriesColumns,
) -> None:
    """Counters of a file, by name; the factor turns a counter's unit into the metric's."""
    for before, entry, seconds in _steps(tree, path):
        first, last = read(before), read(entry)
        for name, (metric, factor) in metrics.items():
            if name in first and name in last and last[name] >= first[name]:
                rate = (last[name] - first[name]) * factor / seconds
                columns.put(metric, subject, entry.seconds or 0.0, rate, tree.source_of(entry))


_ACTIVITY: Mapping[str, tuple[str, float]] = {
    "pgmajfault": ("major_faults_per_second", 1.0),
    "swapped": ("swap_pages_per_second", 1.0),
    "reclaimed": ("direct_reclaims_per_second", 1.0),
}


def _activity(entry: Entry) -> Counters:
    found: dict[str, float] = {**pairs(entry.lines)}
    if "pswpin" in found and "pswpout" in found:
        found["swapped"] = found["pswpin"] + found["pswpout"]
    stalls = [value for name, value in found.items() if name.startswith("allocstall_")]
    return {**found, "reclaimed": sum(stalls)} if stalls else found


def _stalled(entry: Entry) -> Counters:
    """Microseconds in which some task waited, in total."""
    for line in entry.lines:
        if line.startswith("some ") and (total := whole(line.rpartition("total=")[2])) is not None:
            return {"some": total}
    return {}


def _tcp(entry: Entry) -> Counters:
    return named_counters(entry, "Tcp:")


def _single(entry: Entry) -> Counters:
    number = whole(entry.text)
    return {} if number is None else {"": number}


def _processors(tree: RecordedTree, host: Subject, columns: SeriesColumns) -> None:
    for before, entry, _ in _steps(tree, "proc/stat"):
        first, last = cpu_ticks(before), cpu_ticks(entry)
        spent = {name: last[name] - first[name] for name in CPU_FIELDS if name in first and name in last}
        total = sum(spent.values())
        if total <= 0 or min(spent.values()) < 0:
            continue
        shares = {name: ticks / total for name, ticks in spent.items()}
        shares["busy"] = 1 - shares.get("idle", 0.0) - shares.get("iowait", 0.0)
        for name, metric in (
            ("busy", "cpu_busy_ratio"),
            ("iowait", "cpu_iowait_ratio"),
            ("steal", "cpu_steal_ratio"),
        ):
            if name in shares:
                columns.put(metric, host, entry.seconds or 0.0, shares[name], tree.source_of(entry))
    for entry in tree.readings("proc/stat"):
        running = pairs(entry.lines).get("procs_running")
        if running is not None and entry.seconds is not None:
            columns.put("cpu_runnable_tasks", host, entry.seconds, running, tree.source_of(entry))


def _groups(tree: RecordedTree, above: str, depth: int = 0) -> Iterator[str]:
    for name in tree.names(f"{MOUNT}{above}") if depth < 32 else ():
        group = f"{above}/{name}"
        if "cpu.stat" in tree.names(f"{MOUNT}{group}"):
            yield group
        yield from _groups(tree, group, depth + 1)


def _throttling(tree: RecordedTree, path: str, host: Subject, columns: SeriesColumns) -> None:
    for before, entry, _ in _steps(tree, path):
        first, last = pairs(before.lines), pairs(entry.lines)
        names = ("nr_periods", "nr_throttled")
        if not all(name in first and name in last for name in names):
            continue
        periods, held = (last[name] - first[name] for name in names)
        if periods > 0 <= held:
            columns.put("cpu_throttled_ratio", host, entry.seconds or 0.0, held / periods, tree.source_of(entry))
