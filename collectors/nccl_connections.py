"""Connections between ranks in NCCL logs: by what transport, and whether they stay inside a host."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

_MOST_ENTRIES = 200_000
"""Entries kept of each sort. A job of 4,096 ranks with 32 channels stays under it; what exceeds it is only counted."""

_CONNECTION = re.compile(
    r"^\w+ \d+(?:/\d+)? : (\d{1,9})(?:\[(\w+)\])?(?: -> (\d{1,9})(?:\[(\w+)\])?)?(?: \[(send|receive)\])? via (.+)$"
)
_COMMUNICATOR = re.compile(r"\bcomm (0x[0-9a-f]+) rank (\d{1,9}) n[rR]anks (\d{1,9})(?:.*?\bcommId (0x[0-9a-f]+))?")


class Transport(NamedTuple):
    """What follows `via`."""

    name: str
    variant: str | None
    gpudirect_rdma: bool | None


class Process(NamedTuple):
    """A process as the prefix of its lines names it."""

    host: str | None
    pid: str


class _Member(NamedTuple):
    rank: int
    ranks: int
    comm_id: str | None


class _Pair(NamedTuple):
    process: Process
    local: int
    peer: int
    transport: Transport


@lru_cache(maxsize=4096)
def transport(text: str) -> Transport:
    """`NET/IB/0/GDRDMA` is NET/IB with GPUDirect RDMA; devices and proxies (`0(8)`) are left out."""
    text = text.split(" comm ", 1)[0].strip().removesuffix(".")
    if text.startswith("direct shared memory"):
        return Transport("SHM", "direct", None)
    parts = text.split("/")
    if parts[0] in ("NET", "COLLNET") and len(parts) > 1:
        rest = [part for part in parts[2:] if not re.fullmatch(r"[\d,-]+(?:\([\d,-]+\))?", part)]
        direct = any(part.startswith("GDRDMA") for part in rest)
        name = f"NET/{parts[1]}" if parts[0] == "NET" else "COLLNET"
        return Transport(name, "/".join(rest) or None, direct)
    return Transport(parts[0], parts[1] if len(parts) > 1 else None, None)


@dataclass(slots=True)
class Count:
    """Connections of one sort on one host."""

    host: str | None
    transport: Transport
    within_host: bool | None
    channels: int
    line: int


@dataclass(slots=True)
class Connections:
    """Counts connections line by line and tells at the end which of them stay inside a host.

    A network connection between ranks of one host is the sign of a broken peer and shared-memory path, so it is
    claimed only where the log proves it: both ranks are placed by lines of their own, in one communicator.
    """

    overflow: int = 0
    _pairs: dict[_Pair, list[int]] = field(default_factory=dict)
    _plain: dict[tuple[str | None, Transport, bool | None], list[int]] = field(default_factory=dict)
    _members: dict[tuple[Process, str], _Member] = field(default_factory=dict)

    def feed_connection(self, number: int, process: Process, message: str, times: int = 1) -> bool:
        """Take `Channel 00/0 : 0[0] -> 1[1] via P2P/IPC` and its kin, which was logged for so many channels."""
        match = _CONNECTION.match(message)
        if match is None:
            return False
        source, source_device, target, target_device, direction, via = match.groups()
        kind = transport(via)
        within: bool | None = None
        if kind.name == "SHM" or (kind.name == "P2P" and kind.variant != "MNNVL"):
            within = True
        elif target is not None and source != target and source_device is not None and source_device == target_device:
            within = False  # one GPU serves one rank: the same device under two ranks stands in two hosts
        elif kind.name.startswith("NET/") and target is not None:
            local, peer = (target, source) if direction == "receive" else (source, target)
            self._add_pair(_Pair(process, int(local), int(peer), kind), number, times)
            return True
        seen = self._plain.setdefault((process.host, kind, within), [0, number])
        seen[0] += times
        seen[1] = min(seen[1], number)
        return True

    def feed_communicator(self, process: Process, message: str) -> tuple[int, int] | None:
        """Take `comm 0x.. rank 0 nranks 8 ..`; gives rank and number of ranks."""
        match = _COMMUNICATOR.search(message)
        if match is None:
            return None
        pointer, rank, ranks, comm_id = match.groups()
        key = (process, pointer)
        if key in self._members or len(self._members) < _MOST_ENTRIES:
            known = self._members.get(key)
            member = _Member(int(rank), int(ranks), comm_id)
            # The line that ends the initialisation leaves the id out in some versions.
            if known is None or comm_id is not None or known[:2] != member[:2]:
                self._members[key] = member
        return int(rank), int(ranks)

    def counts(self) -> list[Count]:
        """All connections by host, transport and whether they stay inside."""
        total: dict[tuple[str | None, Transport, bool | None], list[int]] = {
            key: list(value) for key, value in self._plain.items()
        }
        place = _Places(self._members, self._pairs)
        for pair, (channels, number) in self._pairs.items():
            key = (pair.process.host, pair.transport, place.within_host(pair))
            seen = total.setdefault(key, [0, number])
            seen[0] += channels
            seen[1] = min(seen[1], number)
        return [Count(*key, channels=value[0], line=value[1]) for key, value in total.items()]

    def ranks_by_host(self) -> tuple[int | None, dict[str | None, int]]:
        """Ranks of the largest communicator, and how many of them each host has."""
        largest = max((member.ranks for member in self._members.values()), default=None)
        placed: dict[str | None, set[int]] = defaultdict(set)
        for (process, _), member in self._members.items():
            if member.ranks == largest:
                placed[process.host].add(member.rank)
        return largest, {host: len(ranks) for host, ranks in placed.items()}

    def _add_pair(self, pair: _Pair, number: int, times: int) -> None:
        seen = self._pairs.get(pair)
        if seen is None:
            if len(self._pairs) >= _MOST_ENTRIES:
                self.overflow += times
                return
            seen = self._pairs[pair] = [0, number]
        seen[0] += times
        seen[1] = min(seen[1], number)


class _Places:
    """Which process holds which rank of which communicator."""

    def __init__(self, members: dict[tuple[Process, str], _Member], pairs: dict[_Pair, list[int]]) -> None:
        self._of_process: dict[tuple[Process, int], set[tuple[int, str | None]]] = defaultdict(set)
        self._holders: dict[tuple[int, str | None, int], list[Process]] = defaultdict(list)
        for (process, _), member in members.items():
            group = (member.ranks, member.comm_id)
            self._of_process[process, member.rank].add(group)
            self._holders[(*group, member.rank)].append(process)
        self._hosts_without_communicators = {} if members else _unambiguous_hosts(pairs)

    def within_host(self, pair: _Pair) -> bool | None:
        """Whether both ends are on one host; None where the log does not tell."""
        here = pair.process.host
        if here is None:
            return None
        if self._hosts_without_communicators:
            there = self._hosts_without_communicators.get(pair.peer)
            return None if there is None else there == here
        hosts = set(self._peer_hosts(pair))
        return None if len(hosts) != 1 or None in hosts else hosts == {here}

    def _peer_hosts(self, pair: _Pair) -> Iterator[str | None]:
        for group in self._of_process.get((pair.process, pair.local), ()):
            locals_, peers = self._holders[(*group, pair.local)], self._holders.get((*group, pair.peer), [])
            # Without ids, communicators of one size look alike: two holders of a rank betray that several are mixed.
            yield peers[0].host if len(peers) == 1 and len(locals_) == 1 else None


def _unambiguous_hosts(pairs: dict[_Pair, list[int]]) -> dict[int, str]:
    """Rank to host, where each process holds one rank and each rank sits in one process."""
    ranks: dict[Process, set[int]] = defaultdict(set)
    processes: dict[int, set[Process]] = defaultdict(set)
    for pair in pairs:
        ranks[pair.process].add(pair.local)
        processes[pair.local].add(pair.process)
    if any(len(held) > 1 for held in ranks.values()) or any(len(held) > 1 for held in processes.values()):
        return {}
    return {rank: host for rank, held in processes.items() for process in held if (host := process.host) is not None}
