"""Log lines of NCCL (NCCL_DEBUG=INFO or WARN, 2.4 to 2.28, and RCCL) and of PyTorch's NCCL process group.

Logs are read line by line and only counted, so that hundreds of megabytes with a line for each connection of each
rank take no more memory than the job has ranks. Ranks interleave, and two records may share a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import ClassVar, NamedTuple

from collectors.base import Line, LineCollector, Parsed
from collectors.nccl_calls import MARK
from collectors.nccl_connections import Process
from collectors.nccl_counts import Counts, Host
from collectors.nccl_messages import OTHER, classify

_RECORD = re.compile(
    r"(?:([A-Za-z0-9_.\-]+):(\d+):(\d+) )?(?:\[-?\d+\] )?(?:[^\s:]+:\d+ )?[NR]CCL (INFO|WARN|ERROR|ABORT) "
)
_VERSION = re.compile(r"\b[NR]CCL version[ :]+(\d+(?:\.\d+)+)(?:[^\s,+]*\+(?:cuda|hip)(\d+(?:\.\d+)*))?")
_ENVIRONMENT = re.compile(r"\b([NR]CCL_\w+) set (?:by environment )?to (.*)$")
_NETWORK = re.compile(r"^Using network (.+)$")
_DEVICES = re.compile(r"^NET/([^:]+?) ?: Using (.+)$")
_DEVICE = re.compile(r"\[\d+\]([^\s;]+)")
_OUT_OF_BAND = re.compile(r"\bOOB ([^\s:]+):")
_BOOTSTRAP = re.compile(r"^Bootstrap ?: Using (?:\[0\])?([^\s:]+):")
_GPU_DIRECT = re.compile(
    r"^NET/([^:]+?) ?: GPU Direct RDMA (?:\(DMABUF\) )?([Ee]n|[Dd]is)abled(?:.*?HCA \d+(?: :? ?'?([A-Za-z][\w.-]*))?)?"
)
_CHANNELS = re.compile(r"(\d{1,6}) coll channels,(?: \d+ collnet channels,)?(?: (\d{1,6}) nvls channels,)?")
_NODES = re.compile(r"\bn[Nn]odes (\d{1,6}) localRanks (\d{1,6})\b")
_PATTERN = re.compile(
    r"^Pattern (\d{1,3}), .*?nChannels (\d{1,5}), (?:speed|bw) (\d{1,9}(?:\.\d+)?)/(\d{1,9}(?:\.\d+)?)"
    r"(?:, type ([A-Z]\w*)/\w+)?"
)
_FREQUENT = (
    *("Channel ", "Ring ", "Trees ", "Tree ", "Connected ", "threadThresholds ", "Setting affinity "),
    *("AllReduce: ", "AllGather: ", "ReduceScatter: ", "Broadcast: ", "Reduce: ", "Send: ", "Recv: "),
)
"""Beginnings of messages of which a rank writes many and that no known message begins with."""
_CHANNEL = " NCCL INFO Channel "
_MOST_CHANNEL_LINES = 100_000
_BYTES = 1e9
"""NCCL plans in GB/s, decimal."""


class _Record(NamedTuple):
    host: Host
    process: Process
    level: str
    message: str
    number: int


class NcclLog(LineCollector):
    """Counts what ranks report; a warning is one fact for each host and meaning."""

    kind: ClassVar[str] = "nccl-log"
    literals: ClassVar[tuple[bytes, ...]] = (
        *(b"NCCL INFO ", b"NCCL WARN ", b"NCCL ERROR ", b"NCCL ABORT ", b"RCCL INFO ", b"RCCL WARN ", b"CCL version "),
        *(b"Watchdog caught", b"watchdog thread terminated", b"watchdog got stuck", b"Heartbeat monitor timed out"),
        *(
            b"collective #",
            b"Timeout at collective: ",
            b"lagging/dead/mismatched ranks",
            b"mismatch between collectives",
            b"client socket has timed out",
        ),
        *(b"ncclSystemError", b"ncclUnhandledCudaError", b"ncclRemoteError", b"ncclInternalError"),
        *(b"ncclInvalidUsage", b"NCCL error in: "),
    )

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._counts = Counts()
        self._channel_lines: dict[tuple[Host, str, str], list[int]] = {}
        self._readers: tuple[Callable[[_Record], bool], ...] = (
            self._communicator,
            self._setting,
            self._network,
            self._devices,
            self._gpu_direct,
            self._pattern,
            self._channels,
            self._bootstrap,
        )

    def feed(self, line: Line, host: str | None) -> bool:
        """Take the records of a line."""
        if self._count_channel(line, host):
            return True
        found = False
        for record in self._records(line, host):
            found = True
            self._take(record)
        if "CCL version" in line.text and (version := _VERSION.search(line.text)):
            found = True
            record_host = next((record.host for record in self._records(line, host)), host)
            self._counts.versions.add((record_host, version.group(1), version.group(2)), line.number)
        if not found and (code := classify(line.text)):
            self._counts.warnings.add((host, code), line.number, line.text.strip())
            return True
        return found

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """The sums."""
        self._read_channels()
        parsed = Parsed(list(self._counts.facts(self.path)))
        if overflow := self._counts.overflow():
            parsed.problems.append(f"{overflow} lines with ever new contents were counted no further")
        return parsed

    def _count_channel(self, line: Line, host: Host) -> bool:
        """Most lines of a large log name one connection and differ in the channel: counted first, read at the end."""
        text = line.text
        start = text.find(_CHANNEL)
        if start < 0 or " via " not in text or text.find("CCL ", start + len(_CHANNEL)) >= 0:
            return False
        key = (host, text[:start], text[text.find(" : ", start) :])
        seen = self._channel_lines.get(key)
        if seen is not None:
            seen[0] += 1
        elif len(self._channel_lines) < _MOST_CHANNEL_LINES:
            self._channel_lines[key] = [1, line.number]
        else:
            return False
        return True

    def _read_channels(self) -> None:
        for (host, prefix, rest), (times, number) in self._channel_lines.items():
            for record in self._records(Line(number, f"{prefix}{_CHANNEL}0{rest}"), host):
                self._counts.host(record.host, number)
                self._counts.connections.feed_connection(number, record.process, record.message, times)

    def _records(self, line: Line, host: Host) -> Iterator[_Record]:
        text = line.text
        match = _RECORD.search(text)
        while match is not None:
            end = match.end()
            after = _RECORD.search(text, end) if text.find("CCL ", end) >= 0 else None
            message = text[end : after.start() if after else len(text)]
            name = match.group(1)
            if name is None:
                name = host
            elif match.start() and name not in self._counts.hosts:
                name = self._unglued(name)
            yield _Record(name, Process(name, match.group(2) or ""), match.group(4), message.strip(), line.number)
            match = after

    def _unglued(self, name: str) -> str:
        """A record that begins where another's line end got lost: `IPCnode07` is node07, known from other lines."""
        return next((known for known in self._counts.hosts if known and name.endswith(known)), name)

    def _take(self, record: _Record) -> None:
        totals = self._counts.host(record.host, record.number)
        message = record.message
        if " via " in message and self._counts.connections.feed_connection(record.number, record.process, message):
            return
        if record.level == "INFO":
            if MARK in message and self._counts.calls.take(record.host, message, record.number):
                return
            if message.startswith(_FREQUENT):
                return
            if any(read(record) for read in self._readers):
                return
            if nodes := _NODES.search(message):
                totals.hosts, totals.ranks_on_host = int(nodes.group(1)), int(nodes.group(2))
                return
        code = classify(message) or (OTHER if record.level != "INFO" else None)
        if code is not None:
            self._counts.warnings.add((record.host, code), record.number, message)

    def _communicator(self, record: _Record) -> bool:
        if "comm 0x" not in record.message or not self._counts.connections.feed_communicator(
            record.process, record.message
        ):
            return False
        totals = self._counts.host(record.host, record.number)
        totals.started += "Init START" in record.message
        totals.completed += "Init COMPLETE" in record.message
        return _NODES.search(record.message) is None

    def _setting(self, record: _Record) -> bool:
        match = _ENVIRONMENT.search(record.message)
        if match is None:
            return False
        value = match.group(2).strip().removesuffix(".")
        self._counts.environment.add((record.host, match.group(1), value), record.number)
        return True

    def _network(self, record: _Record) -> bool:
        match = _NETWORK.match(record.message)
        if match is None:
            return False
        self._counts.networks.add((record.host, match.group(1)), record.number)
        return True

    def _devices(self, record: _Record) -> bool:
        match = _DEVICES.match(record.message)
        if match is None or not (devices := _DEVICE.findall(match.group(2))):
            return False
        plugin = match.group(1)
        if plugin == "Socket":
            devices = [name.split(":", 1)[0] for name in devices]
        out_of_band = _OUT_OF_BAND.search(match.group(2))
        key = (record.host, plugin, " ".join(devices), out_of_band.group(1) if out_of_band else None)
        self._counts.devices.add(key, record.number)
        return True

    def _gpu_direct(self, record: _Record) -> bool:
        match = _GPU_DIRECT.match(record.message)
        if match is None:
            return False
        # Sockets never have it: their "Disabled" tells nothing.
        if match.group(1) != "Socket":
            enabled = match.group(2).lower() == "en"
            reason = "distance" if not enabled and "distance" in record.message else None
            self._counts.gpu_direct.add((record.host, match.group(3), enabled, reason), record.number)
        return True

    def _pattern(self, record: _Record) -> bool:
        match = _PATTERN.match(record.message)
        if match is None:
            return False
        pattern, channels, intra, inter, path_type = match.groups()
        key = (record.host, int(pattern), int(channels), float(intra) * _BYTES, float(inter) * _BYTES, path_type)
        self._counts.patterns.add(key, record.number)
        return True

    def _channels(self, record: _Record) -> bool:
        match = _CHANNELS.search(record.message)
        if match is None:
            return False
        totals = self._counts.host(record.host, record.number)
        totals.coll_channels = max(totals.coll_channels or 0, int(match.group(1)))
        if match.group(2) is not None:
            totals.nvls_channels = max(totals.nvls_channels or 0, int(match.group(2)))
        return True

    def _bootstrap(self, record: _Record) -> bool:
        match = _BOOTSTRAP.match(record.message)
        if match is None:
            return False
        totals = self._counts.host(record.host, record.number)
        totals.out_of_band = totals.out_of_band or match.group(1)
        return True
