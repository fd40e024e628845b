"""Files below /sys/class/infiniband pasted as text, as `grep -H .` over them prints:

/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error:0
/sys/class/infiniband/mlx5_0/ports/1/state = 4: ACTIVE
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from collectors.rdma_fields import SYSFS_FIELDS, WORD_BYTES, WORD_FIELDS, state_word
from diagnose.facts import Fact, Subject
from diagnose.facts.network import RdmaCounters, RdmaDevice, RdmaPort

_FILE = re.compile(
    r"^\s*/?(?:sys/class/infiniband/|infiniband/)?(?P<nic>[a-z][\w.-]{0,40})/"
    r"(?:ports/(?P<port>\d{1,3})/)?(?P<name>(?:hw_counters|counters)/\w+|state|phys_state|rate|link_layer|lid|sm_lid"
    r"|fw_ver|hca_type|board_id)\s*(?::|=|\s)\s*(?P<value>\S.*?)\s*$"
)
_ABSOLUTE = re.compile(r"^\s*/sys/class/infiniband/")
_RATE = re.compile(r"^(\d{1,4}(?:\.\d)?) Gb/sec(?: \((\d{1,2})X)?")


@dataclass(slots=True)
class _Port:
    line: Line
    values: dict[str, str] = field(default_factory=dict)


class RdmaSysfs(BlockCollector):
    """Devices, ports and counters as the kernel's files give them."""

    kind: ClassVar[str] = "rdma-sysfs"
    literals: ClassVar[tuple[bytes, ...]] = (b"/sys/class/infiniband/",)
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A file with its value."""
        return _ABSOLUTE.match(text) is not None and _FILE.match(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Files named from within the folder: `mlx5_0/ports/1/counters/symbol_error:0`."""
        return share(lines, _FILE)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact of each kind for each port."""
        found: dict[tuple[str, int | None], _Port] = {}
        for line in block.lines:
            match = _FILE.match(line.text)
            if match is not None:
                key = (match["nic"], int(match["port"]) if match["port"] else None)
                name = match["name"].rpartition("/")[2]
                found.setdefault(key, _Port(line)).values.setdefault(name, match["value"])
        parsed = Parsed()
        for (nic, port), entry in found.items():
            subject = Subject(host=block.host, nic=nic, port=port)
            parsed.facts += _device(entry, subject, block) if port is None else _port(entry, subject, block)
        return parsed


def _device(entry: _Port, subject: Subject, block: Block) -> Iterator[Fact]:
    yield RdmaDevice(
        subject=subject,
        sources=(block.source(entry.line),),
        model=entry.values.get("hca_type"),
        firmware_version=entry.values.get("fw_ver"),
        board_id=entry.values.get("board_id"),
    )


def _port(entry: _Port, subject: Subject, block: Block) -> Iterator[Fact]:
    values, sources = entry.values, (block.source(entry.line),)
    if "state" in values or "phys_state" in values or "rate" in values:
        rate = _RATE.match(values.get("rate", ""))
        yield RdmaPort(
            subject=subject,
            sources=sources,
            state=state_word(values.get("state", "")),
            physical_state=state_word(values.get("phys_state", "")),
            rate_gigabits_per_second=float(rate[1]) if rate else None,
            width_lanes=int(rate[2]) if rate and rate[2] else None,
            link_layer=values.get("link_layer", "").lower() or None,
        )
    counters = counter_values(values)
    if counters:
        yield RdmaCounters(subject=subject, sources=sources, **counters)


def counter_values(values: dict[str, str]) -> dict[str, Any]:
    """Fields of `rdma-counters` from names and texts of the kernel's files."""
    found: dict[str, Any] = {}
    for name, text in values.items():
        known = SYSFS_FIELDS.get(name)
        if known is not None and text.isdecimal() and len(text) < 21:
            found[known] = int(text) * (WORD_BYTES if known in WORD_FIELDS else 1)
    return found
