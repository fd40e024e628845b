"""Xid lines of the NVIDIA driver and SXid lines of the NVSwitch driver, counted for each device and code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.kernel_events import MAX_KEYS, Context, Count, Heard, normalise_bus_id, quoted
from diagnose.facts import Fact, Subject
from diagnose.facts.kernel import Sxid, Xid

_XID = re.compile(r"\bXid:?\s*\((?:PCI:)?([0-9a-fA-F:.]{5,16})[^)]{0,40}\):?\s*(\d{1,4})\b[,:]?\s*(.*)")
_XID_CODE_FIRST = re.compile(r"\bXid:?\s*(\d{1,4})\b[,:]?\s*\((?:PCI:)?([0-9a-fA-F:.]{5,16})[^)]{0,40}\)[,:]?\s*(.*)")
_XID_PLUGIN = re.compile(r"XidCriticalError: Xid=(\d{1,4}) on Device=(GPU-[0-9a-f-]{36})?(.*)")
_PROCESS = re.compile(r"\bname=(?!<unknown>)([^,]{1,64})")
_PROCESS_PART = re.compile(r"^(?:pid=[^,]*,\s*)?(?:name=[^,]*(?:,\s*|$))?")
_SXID = re.compile(r"(nvidia-nvswitch\d*)?[:\s]*\bSXid \((?:PCI:)?([0-9a-fA-F:.]{5,16})\): (\d{3,5}),\s*(.*)")
_SXID_LINK = re.compile(r"\bLink (\d{1,3})\b")
_SXID_CONTINUATION = re.compile(r"^(?:Severity \d|Data \{|Engine instance)")

_MAX_PROCESS_NAMES = 64

_Device = tuple[str | None, str | None, str | None]
"""Host, bus id, UUID."""


@dataclass(slots=True)
class _XidCount:
    count: Count
    boots: dict[tuple[str, float], tuple[float, int]] = field(default_factory=dict)
    """For each boot in which the code occurred, the order of its first occurrence there."""
    names: set[str] = field(default_factory=set)
    first_name: str | None = None
    detail: str | None = None


class XidTally:
    """Xid lines: `NVRM: Xid (PCI:0000:9b:00): 79, pid=1234, name=python, GPU has fallen off the bus.` and kin."""

    def __init__(self) -> None:
        self._counts: dict[_Device, dict[int, _XidCount]] = {}

    def take(self, heard: Heard) -> bool:
        """Count an Xid line."""
        found = _read_xid(heard.message)
        if found is None:
            return False
        bus_id, uuid, code, text = found
        device = (heard.host, bus_id, uuid)
        if device not in self._counts and len(self._counts) >= MAX_KEYS:
            return True
        codes = self._counts.setdefault(device, {})
        entry = codes.get(code)
        if entry is None:
            entry = codes[code] = _XidCount(Count.of(heard), detail=_detail(text))
        else:
            entry.count.add(heard)
        moment = heard.moment
        entry.boots[moment.boot] = min(entry.boots.get(moment.boot, moment.order), moment.order)
        name = _process_name(text)
        if name is not None:
            entry.first_name = entry.first_name or name
            if len(entry.names) < _MAX_PROCESS_NAMES:
                entry.names.add(name)
        return True

    def facts(self, context: Context) -> Iterator[Fact]:
        """One fact for each GPU and code."""
        for (host, bus_id, uuid), codes in self._counts.items():
            named = context.identities.subject(host, bus_id, certain=True)
            subject = named.model_copy(update={"bus_id": None, "gpu_uuid": named.gpu_uuid or uuid})
            for code, entry in codes.items():
                boot = max(entry.boots, key=lambda known: (not context.is_before_last_boot(host, known), known[1]))
                first = entry.boots[boot]
                yield Xid(
                    subject=subject,
                    sources=entry.count.sources(context.path),
                    code=code,
                    count=entry.count.total,
                    position=sum(other.boots.get(boot, first) < first for other in codes.values()),
                    before_last_boot=context.is_past(entry.count),
                    span_seconds=entry.count.span_seconds,
                    process_name=entry.first_name,
                    process_names=len(entry.names) or None,
                    detail=entry.detail,
                )


class SxidTally:
    """SXid lines: `nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 ...`."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str | None, str, int | None, int], tuple[Count, bool | None, str | None, str]] = {}

    def take(self, heard: Heard) -> bool:
        """Count an SXid line; the lines of register values that follow it are part of it."""
        match = _SXID.search(heard.message) if "SXid" in heard.message else None
        if match is None:
            return False
        switch, device, code, text = match.groups()
        bus_id = normalise_bus_id(device)
        if bus_id is None or _SXID_CONTINUATION.match(text):
            return True
        link = _SXID_LINK.search(text)
        key = (heard.host, bus_id, int(link[1]) if link else None, int(code))
        known = self._counts.get(key)
        if known is not None:
            known[0].add(heard)
        elif len(self._counts) < MAX_KEYS:
            self._counts[key] = (Count.of(heard), _is_fatal(text), switch, quoted(text))
        return True

    def facts(self, context: Context) -> Iterator[Fact]:
        """One fact for each switch, link and code."""
        for (host, bus_id, link, code), (count, fatal, switch, detail) in self._counts.items():
            yield Sxid(
                subject=Subject(host=host, bus_id=bus_id, link=link),
                sources=count.sources(context.path),
                code=code,
                count=count.total,
                fatal=fatal,
                switch=switch,
                detail=detail or None,
                before_last_boot=context.is_past(count),
            )


def _is_fatal(text: str) -> bool | None:
    lowered = text.lower()
    if "non-fatal" in lowered or "nonfatal" in lowered:
        return False
    return True if "fatal" in lowered else None


def _read_xid(message: str) -> tuple[str | None, str | None, int, str] | None:
    """Bus id, UUID, code and the text after the code."""
    if "Xid" not in message or "SXid" in message:
        return None
    match = _XID.search(message)
    if match is not None:
        return normalise_bus_id(match[1]), None, int(match[2]), match[3]
    match = _XID_CODE_FIRST.search(message)
    if match is not None:
        return normalise_bus_id(match[2]), None, int(match[1]), match[3]
    match = _XID_PLUGIN.search(message)
    return (None, match[2], int(match[1]), match[3]) if match is not None else None


def _process_name(text: str) -> str | None:
    match = _PROCESS.search(text)
    return match[1].strip() or None if match is not None else None


def _detail(text: str) -> str | None:
    return quoted(_PROCESS_PART.sub("", text, count=1)) or None
