"""What an NCCL log is summed up to while it is read, and the facts of the sums."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from collectors.nccl_calls import Calls
from collectors.nccl_connections import Connections
from collectors.nccl_messages import remote_address
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.nccl import (
    NcclCommunicator,
    NcclEnvironment,
    NcclGpuDirect,
    NcclGraph,
    NcclNetwork,
    NcclTransport,
    NcclVersion,
    NcclWarning,
)

_MOST_KEYS = 20_000
_DETAIL_LENGTH = 300

Host = str | None
Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True)
class Seen:
    """How often something occurred, and where first."""

    count: int
    line: int
    text: str


class Tally(Generic[Key]):
    """Counts by key, up to a number of keys that no sound log reaches."""

    def __init__(self) -> None:
        self.seen: dict[Key, Seen] = {}
        self.overflow = 0

    def add(self, key: Key, number: int, text: str = "") -> None:
        """Count one occurrence; the first one's line and text are kept."""
        seen = self.seen.get(key)
        if seen is not None:
            seen.count += 1
        elif len(self.seen) < _MOST_KEYS:
            self.seen[key] = Seen(1, number, text)
        else:
            self.overflow += 1


@dataclass(slots=True)
class HostTotals:
    """One host's part of the communicator fact."""

    line: int
    started: int = 0
    completed: int = 0
    coll_channels: int | None = None
    nvls_channels: int | None = None
    hosts: int | None = None
    ranks_on_host: int | None = None
    out_of_band: str | None = None


@dataclass(slots=True)
class Counts:
    """All sums of one file."""

    versions: Tally[tuple[Host, str, str | None]] = field(default_factory=Tally)
    environment: Tally[tuple[Host, str, str]] = field(default_factory=Tally)
    networks: Tally[tuple[Host, str]] = field(default_factory=Tally)
    devices: Tally[tuple[Host, str, str, str | None]] = field(default_factory=Tally)
    """Host, plugin, devices separated by blanks, out-of-band interface."""
    gpu_direct: Tally[tuple[Host, str | None, bool, str | None]] = field(default_factory=Tally)
    """Host, NIC, whether enabled, reason."""
    warnings: Tally[tuple[Host, str]] = field(default_factory=Tally)
    patterns: Tally[tuple[Host, int, int, float, float, str | None]] = field(default_factory=Tally)
    """Host, pattern, channels, bytes per second inside and between hosts, path type."""
    connections: Connections = field(default_factory=Connections)
    calls: Calls = field(default_factory=Calls)
    hosts: dict[Host, HostTotals] = field(default_factory=dict)

    def host(self, name: Host, number: int) -> HostTotals:
        """The totals of a host, made at its first line."""
        totals = self.hosts.get(name)
        if totals is None:
            totals = self.hosts[name] = HostTotals(number)
        return totals

    def overflow(self) -> int:
        """Occurrences that no longer fitted."""
        return (
            self.connections.overflow
            + self.calls.overflow
            + sum(
                tally.overflow
                for tally in (
                    self.versions,
                    self.environment,
                    self.networks,
                    self.devices,
                    self.gpu_direct,
                    self.warnings,
                    self.patterns,
                )
            )
        )

    def facts(self, path: str) -> Iterator[Fact]:
        """Everything counted, as facts."""
        yield from _versions(self, path)
        yield from _communicators(self, path)
        yield from _settings(self, path)
        yield from _transports(self, path)
        yield from _networks(self, path)
        yield from _gpu_direct(self, path)
        yield from _warnings(self, path)
        yield from _graphs(self, path)
        yield from self.calls.facts(path)


def _at(path: str, line: int) -> tuple[Source, ...]:
    return (Source(path=path, line=line),)


def _versions(counts: Counts, path: str) -> Iterator[Fact]:
    for (host, version, cuda), seen in counts.versions.seen.items():
        yield NcclVersion(
            subject=Subject(host=host),
            sources=_at(path, seen.line),
            version=version,
            cuda_version=cuda,
            ranks=seen.count,
        )


def _communicators(counts: Counts, path: str) -> Iterator[Fact]:
    ranks, by_host = counts.connections.ranks_by_host()
    named = len([host for host in counts.hosts if host is not None])
    if ranks is None and named < 2:
        return
    for host, totals in counts.hosts.items():
        begun = totals.started or totals.completed
        yield NcclCommunicator(
            subject=Subject(host=host),
            sources=_at(path, totals.line),
            ranks=ranks,
            ranks_on_host=totals.ranks_on_host or by_host.get(host),
            hosts=totals.hosts or named or None,
            log_complete=totals.completed >= totals.started if begun else None,
            coll_channels=totals.coll_channels,
            nvls_channels=totals.nvls_channels,
        )


def _settings(counts: Counts, path: str) -> Iterator[Fact]:
    for (host, name, value), seen in counts.environment.seen.items():
        digits = value.removeprefix("-")
        yield NcclEnvironment(
            subject=Subject(host=host),
            sources=_at(path, seen.line),
            name=name,
            value=value,
            number=int(value) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None,
        )


def _transports(counts: Counts, path: str) -> Iterator[Fact]:
    for count in counts.connections.counts():
        yield NcclTransport(
            subject=Subject(host=count.host),
            sources=_at(path, count.line),
            transport=count.transport.name,
            variant=count.transport.variant,
            channels=count.channels,
            within_host=count.within_host,
            gpudirect_rdma=count.transport.gpudirect_rdma,
        )


def _networks(counts: Counts, path: str) -> Iterator[Fact]:
    """One fact for each host and network in use, with the devices that the network's own line lists.

    A network that lists its devices may still lose to another; it is left out where the choice is logged.
    """
    chosen = {host for host, _ in counts.networks.seen}
    listed: dict[tuple[Host, str], tuple[str, str | None, Seen]] = {}
    for (host, plugin, devices, out_of_band), seen in counts.devices.seen.items():
        listed.setdefault((host, plugin), (devices, out_of_band, seen))
    keys = dict.fromkeys([*counts.networks.seen, *(key for key in listed if key[0] not in chosen)])
    for host, plugin in keys:
        devices, out_of_band, first = listed.get((host, plugin), ("", None, None))
        lines = [seen for seen in (first, counts.networks.seen.get((host, plugin))) if seen is not None]
        totals = counts.hosts.get(host)
        layers = {name.rsplit("/", 1)[-1] for name in devices.split() if "/" in name}
        yield NcclNetwork(
            subject=Subject(host=host),
            sources=tuple(Source(path=path, line=seen.line) for seen in lines),
            plugin=plugin,
            devices=devices or None,
            device_count=len(devices.split()) or None,
            mixed_link_layers=len(layers) > 1 if layers else None,
            out_of_band_interface=out_of_band or (totals.out_of_band if totals else None),
            ranks=lines[-1].count,
        )


def _gpu_direct(counts: Counts, path: str) -> Iterator[Fact]:
    enabled = {(host, nic) for host, nic, on, _ in counts.gpu_direct.seen if on}
    for (host, nic, on, reason), seen in counts.gpu_direct.seen.items():
        # "Disabled" of the kernel module and "enabled" by DMA-BUF stand side by side for one NIC: the latter counts.
        if not on and reason is None and nic is not None and (host, nic) in enabled:
            continue
        yield NcclGpuDirect(
            subject=Subject(host=host, nic=nic),
            sources=_at(path, seen.line),
            enabled=on,
            reason=reason,
            lines=seen.count,
        )


def _warnings(counts: Counts, path: str) -> Iterator[Fact]:
    for (host, code), seen in counts.warnings.seen.items():
        yield NcclWarning(
            subject=Subject(host=host),
            sources=_at(path, seen.line),
            code=code,
            count=seen.count,
            detail=seen.text[:_DETAIL_LENGTH],
            remote_address=remote_address(seen.text),
        )


def _graphs(counts: Counts, path: str) -> Iterator[Fact]:
    for (host, pattern, channels, intra, inter, path_type), seen in counts.patterns.seen.items():
        yield NcclGraph(
            subject=Subject(host=host),
            sources=_at(path, seen.line),
            pattern=pattern,
            channels=channels,
            bandwidth_intra_bytes_per_second=intra,
            bandwidth_inter_bytes_per_second=inter,
            path_type=path_type,
        )
