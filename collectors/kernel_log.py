"""Kernel and system logs: dmesg, journalctl, syslog, kern.log, /dev/kmsg, whole or as pasted lines.

Lines are counted as they pass and not kept, so that a log of any size needs a fixed amount of memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from collectors.base import Line, LineCollector, Parsed
from collectors.kernel_aer import AerTally
from collectors.kernel_boot_lines import BootTally
from collectors.kernel_carrier import CarrierTally
from collectors.kernel_events import MAX_KEYS, Context, Heard, Identities, Tally
from collectors.kernel_log_lines import LineReader, LogLine
from collectors.kernel_messages import MessageTally
from collectors.kernel_timeline import Timeline
from collectors.kernel_xid import SxidTally, XidTally
from diagnose.facts import Source, Subject
from diagnose.facts.kernel import KernelLogSpan

_BOOT_HEADING = re.compile(r"^-- (?:Boot [0-9a-f]{32}|Reboot) --")
_UNSTAMPED = re.compile(
    r"^\s*(?:NVRM: |S?Xid:? (?:\d+ )?\(|nvidia-nvswitch\d*: |nvidia-(?:modeset|peermem|uvm)[: ]|"
    r"\w[\w-]* [0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]: |BOOT_IMAGE=|I?\d{4} .*XidCriticalError: )"
)
"""Lines without a stamp that are kernel messages beyond doubt: pasted from a log, or continuing one."""

_XORG = re.compile(r"^\[\s*[\d.]+\] (?:\((?:==|II|WW|EE|\*\*|--|!!|\+\+|NI|DB|\?\?)\)|\t)")
_DRIVER_LINE = re.compile(r"NVRM: |\bnvidia(?:-\w+)?[: ]")


class KernelLog(LineCollector):
    """Xid and SXid codes, PCIe errors, known messages, link flaps, and what boot messages say of the host."""

    kind: ClassVar[str] = "kernel-log"
    literals: ClassVar[tuple[bytes, ...]] = (
        b"NVRM", b"Xid", b"nvidia-nvswitch", b"nvidia-peermem", b"nvidia-modeset: ERROR", b"Nvlink Core", b"nouveau ",
        b"PCIe Bus Error", b"error status/mask=", b"AER: ", b"change power state", b"pending transaction", b"pciehp",
        b"pcieport", b"; giving up", b"available PCIe bandwidth", b" failed with error ", b"module verification failed",
        b" is rejected", b"rejected by service", b"unsigned module", b"version magic", b"of symbol", b"Unknown symbol",
        b"ommand line: ", b"BOOT_IMAGE=", b"Linux version", b"-- Boot ", b"-- Reboot --", b"Default domain type",
        b"DMAR: I", b"AMD-Vi", b"to iommu group", b"Hypervisor detected", b"Detected virtualization",
        b"Hardware Error]", b"EDAC ", b"temperature above threshold", b"critical temperature", b"ut of memory: Kill",
        b"soft lockup", b"hard LOCKUP", b"blocked for more than", b"Kernel panic", b"mlx5_core", b" carrier",
        b" Link is ", b": Link ", b"link status definitely", b"PM: suspend entry", b"abricmanager", b"abric manager",
        b"abric Manager", b"persistenced", b"nvidia 0", b"nfs: server ", b"was lost; in progress operations",
        b"onnection restored to",
    )  # fmt: skip

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._reader = LineReader()
        self._timelines: dict[str | None, Timeline] = {}
        self._context = Context(path, Identities({}), self._timelines)
        self._tallies: tuple[Tally, ...] = (
            XidTally(), SxidTally(), AerTally(), CarrierTally(), BootTally(), MessageTally(),
        )  # fmt: skip
        self._last_host: str | None = None
        self._first_line: int | None = None
        self._driver_lines = False

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Share of lines that are stamped as kernel or system logs are, and not as an X server's log is."""
        if not lines:
            return 0.0
        reader = LineReader()
        stamped = sum(_is_system_line(reader.read(text)) and _XORG.match(text) is None for text in lines)
        return stamped / len(lines)

    def feed(self, line: Line, host: str | None) -> bool:
        """Count a line of a log; lines of other text that only happen to hold a literal are refused."""
        if line.text.startswith("-- ") and _BOOT_HEADING.match(line.text):
            self._timeline(self._last_host or host).announce_boot()
            return True
        entry = self._reader.read(line.text)
        if not entry.stamped and _UNSTAMPED.match(line.text) is None:
            return False
        if line.text.startswith("[") and _XORG.match(line.text):
            return False
        named = entry.host or (host if entry.stamped else self._last_host or host)
        moment = self._timeline(named).observe(entry, line.number)
        heard = Heard(entry.message, line.number, named, entry.tag, moment, entry.time, entry.repeats, entry.stamped)
        self._context.identities.learn(heard)
        driver = _DRIVER_LINE.search(entry.message) is not None
        taken = any(tally.take(heard) for tally in self._tallies)
        owned = taken or driver or entry.tag == "kernel"
        if owned:
            self._driver_lines = self._driver_lines or driver
            self._first_line = self._first_line or line.number
            self._last_host = named
        return owned

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """Facts of the whole file."""
        facts = [fact for tally in self._tallies for fact in tally.facts(self._context)]
        if self._first_line is not None or claimed:
            facts.extend(self._spans(total_lines))
        return Parsed(facts)

    def _spans(self, total_lines: int) -> Iterator[KernelLogSpan]:
        for host, timeline in self._timelines.items():
            if timeline.stamped_lines:
                yield KernelLogSpan(
                    subject=Subject(host=host),
                    sources=(Source(path=self.path, line=self._first_line or 1),),
                    lines=total_lines,
                    boots=timeline.boots,
                    span_seconds=timeline.span_seconds,
                    has_driver_lines=self._driver_lines,
                )

    def _timeline(self, host: str | None) -> Timeline:
        timeline = self._timelines.get(host)
        if timeline is None:
            timeline = Timeline()
            if len(self._timelines) < MAX_KEYS:
                self._timelines[host] = timeline
        return timeline


def _is_system_line(entry: LogLine) -> bool:
    """A stamp alone is not enough where other programs write the same: syslog's and ISO stamps need a tag as well."""
    return entry.stamped and (entry.tag is not None or entry.monotonic_seconds is not None)
