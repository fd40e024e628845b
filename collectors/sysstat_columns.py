"""Which columns of sysstat's tools are followed over time. Titles: sar(1), pidstat(1), sadf(1), versions 10 to 12.7."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from diagnose.facts import Subject
from diagnose.facts.workload_roles import INFERENCE, TRAINING, role_of

_KILOBYTE, _BLOCK = 1024.0, 512.0

PLAIN: Mapping[str, tuple[str, float]] = {
    "runq-sz": ("cpu_runnable_tasks", 1.0),
    "cswch/s": ("context_switches_per_second", 1.0),
    "majflt/s": ("major_faults_per_second", 1.0),
    "kbavail": ("memory_available_bytes", _KILOBYTE),
    "bwrtn/s": ("storage_write_bytes_per_second", _BLOCK),
    "bread/s": ("storage_read_bytes_per_second", _BLOCK),
    "retrans/s": ("tcp_retransmits_per_second", 1.0),
    "%scpu": ("cpu_pressure_ratio", 0.01),
    "%smem": ("memory_pressure_ratio", 0.01),
    "%sio": ("storage_pressure_ratio", 0.01),
}
"""Titles of tables with one row at a time."""
_INTERFACE: Mapping[str, tuple[str, float]] = {
    "txkB/s": ("nic_transmit_bytes_per_second", _KILOBYTE),
    "rxkB/s": ("nic_receive_bytes_per_second", _KILOBYTE),
}
_DROPS = ("rxdrop/s", "txdrop/s")
_ALL_CPUS = ("all", "-1")
_VIRTUAL = ("lo", "docker", "veth", "br-", "virbr", "cni", "cali", "flannel", "tun", "tap", "dummy")


def row_values(row: Mapping[str, str], host: Subject) -> Iterator[tuple[str, Subject, float]]:
    """Metric, subject and value of everything that a row tells."""
    if "PID" in row:
        yield from _process(row, host)
    elif "IFACE" in row:
        yield from _interface(row, host)
    elif "CPU" in row:
        yield from _processors(row, host)
    elif row.get("INTR") in ("sum", "-1") and (rate := _number(row, "intr/s")) is not None:
        yield "interrupts_per_second", host, rate
    elif "DEV" not in row and "NODE" not in row:
        for title, (metric, factor) in PLAIN.items():
            if (value := _number(row, title)) is not None:
                yield metric, host, value * factor
        swapped = [_number(row, title) for title in ("pswpin/s", "pswpout/s")]
        known = [value for value in swapped if value is not None]
        if known:
            yield "swap_pages_per_second", host, sum(known)


def _number(row: Mapping[str, str], title: str) -> float | None:
    """With a comma for the point in some languages."""
    try:
        return float(row[title].replace(",", "."))
    except (KeyError, ValueError):
        return None


def _processors(row: Mapping[str, str], host: Subject) -> Iterator[tuple[str, Subject, float]]:
    if row["CPU"] not in _ALL_CPUS:
        return
    idle, waiting, stolen = (_number(row, title) for title in ("%idle", "%iowait", "%steal"))
    if idle is not None:
        yield "cpu_busy_ratio", host, max(0.0, 100.0 - idle - (waiting or 0.0)) / 100
    if waiting is not None:
        yield "cpu_iowait_ratio", host, waiting / 100
    if stolen is not None:
        yield "cpu_steal_ratio", host, stolen / 100


def _interface(row: Mapping[str, str], host: Subject) -> Iterator[tuple[str, Subject, float]]:
    name = row["IFACE"]
    if name.startswith(_VIRTUAL):
        return
    nic = host.model_copy(update={"nic": name})
    for title, (metric, factor) in _INTERFACE.items():
        if (value := _number(row, title)) is not None:
            yield metric, nic, value * factor
    drops = [value for title in _DROPS if (value := _number(row, title)) is not None]
    if drops:
        yield "nic_drops_per_second", nic, sum(drops)


def _process(row: Mapping[str, str], host: Subject) -> Iterator[tuple[str, Subject, float]]:
    """Of processes that serve, how long they wait for a CPU; of those that train, what they write."""
    number = row["PID"]
    role = role_of({"command": row.get("Command")}).role
    if not number.isascii() or not number.isdecimal() or len(number) > 10:
        return
    process = host.model_copy(update={"process_id": int(number)})
    if role == INFERENCE and (waiting := _number(row, "%wait")) is not None:
        yield "cpu_pressure_ratio", process, waiting / 100
    if role == TRAINING and (written := _number(row, "kB_wr/s")) is not None and written >= 0:
        yield "storage_write_bytes_per_second", process, written * _KILOBYTE
