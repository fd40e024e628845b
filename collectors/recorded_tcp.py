"""TCP and the kernel's packet queues from a recorded tree."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.recorded_tree import Entry, RecordedTree, pairs, ratio, rise
from diagnose.facts import Fact, Subject
from diagnose.facts.load import PacketBacklog, TcpStatistics

_SNMP, _EXTENDED, _SOCKETS, _BACKLOG = (f"proc/net/{name}" for name in ("snmp", "netstat", "sockstat", "softnet_stat"))


def tcp(tree: RecordedTree, host: Subject) -> Iterator[Fact]:
    """Statistics of TCP, then of the packet queues."""
    yield from _statistics(tree, host)
    yield from _queues(tree, host)


def _statistics(tree: RecordedTree, host: Subject) -> Iterator[Fact]:
    entry = tree.last(_SNMP)
    counters = named_counters(entry, "Tcp:")
    if not counters:
        return
    extended = named_counters(tree.last(_EXTENDED), "TcpExt:")
    span = tree.span(_SNMP)
    first = named_counters(span.first, "Tcp:") if span is not None else {}
    sockets = _sockets(tree.last(_SOCKETS))
    yield TcpStatistics(
        subject=host,
        sources=tree.source(_SNMP, _EXTENDED),
        sent_segments=counters.get("OutSegs"),
        retransmitted_segments=counters.get("RetransSegs"),
        retransmitted_ratio=ratio(counters.get("RetransSegs"), counters.get("OutSegs")),
        retransmitted_window_ratio=ratio(rise(first, counters, "RetransSegs"), rise(first, counters, "OutSegs")),
        retransmission_timeouts=extended.get("TCPTimeouts"),
        checksum_errors=counters.get("InCsumErrors"),
        listen_overflows=extended.get("ListenOverflows"),
        receive_queue_drops=extended.get("TCPRcvQDrop"),
        sockets_in_use=sockets.get("inuse"),
        memory_pages=sockets.get("mem"),
    )


def named_counters(entry: Entry | None, protocol: str) -> dict[str, int]:
    """Two lines of a protocol, names above and values below, as a mapping."""
    rows = [line.split()[1:] for line in entry.lines if line.startswith(f"{protocol} ")] if entry is not None else []
    if len(rows) < 2:
        return {}
    return pairs(f"{name} {value}" for name, value in zip(rows[0], rows[1], strict=False))


def _sockets(entry: Entry | None) -> dict[str, int]:
    for line in entry.lines if entry is not None else ():
        if line.startswith("TCP: "):
            words = line.split()[1:]
            return pairs(f"{name} {value}" for name, value in zip(words[::2], words[1::2], strict=False))
    return {}


def _queues(tree: RecordedTree, host: Subject) -> Iterator[Fact]:
    entry = tree.last(_BACKLOG)
    rows = _rows(entry)
    if not rows:
        return
    span = tree.span(_BACKLOG)
    before = _rows(span.first) if span is not None else []
    handled = [last[0] - first[0] for first, last in zip(before, rows, strict=False) if last[0] >= first[0]]
    totals, earlier = _totals(rows), _totals(before)
    dropped, squeezed = (max(0, last - first) for first, last in zip(earlier[1:], totals[1:], strict=True))
    yield PacketBacklog(
        subject=host,
        sources=tree.source(_BACKLOG),
        processed_packets=totals[0],
        dropped_packets=totals[1],
        squeezed=totals[2],
        dropped_per_second=dropped / span.seconds if span is not None else None,
        squeezed_per_second=squeezed / span.seconds if span is not None else None,
        busiest_cpu_ratio=ratio(max(handled, default=None), sum(handled)),
    )


def _rows(entry: Entry | None) -> list[tuple[int, int, int]]:
    """Packets, drops and budget shortages of each CPU: the first three hexadecimal columns."""
    rows = []
    for line in entry.lines if entry is not None else ():
        words = line.split()[:3]
        try:
            packets, dropped, squeezed = (int(word, 16) for word in words if len(word) <= 16)
        except ValueError:
            continue
        rows.append((packets, dropped, squeezed))
    return rows


def _totals(rows: list[tuple[int, int, int]]) -> tuple[int, int, int]:
    packets, dropped, squeezed = (sum(row[column] for row in rows) for column in range(3))
    return packets, dropped, squeezed
