"""`ibv_devinfo` and `ibv_devinfo -v`: devices, ports and their MTU."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from collectors.rdma_fields import state_word
from diagnose.facts import Fact, Subject
from diagnose.facts.network import RdmaDevice, RdmaPort

_DEVICE = re.compile(r"^hca_id:\s*([\w.-]{1,64})\s*$")
_PORT = re.compile(r"^\s+port:\s*(\d{1,3})\s*$")
_PAIR = re.compile(r"^\s+([a-z]\w{1,30}):\s+(.*?)\s*$")
_MTU = re.compile(r"^(\d{3,5})\b")
# `active_speed: 50.0 Gbps (64)` is the rate of one lane, `active_width: 4X (2)` the lanes.
_SPEED = re.compile(r"^(\d{1,4}(?:\.\d{1,3})?) Gbps")
_WIDTH = re.compile(r"^(\d{1,2})X")


@dataclass(slots=True)
class _Part:
    nic: str
    port: int | None
    line: Line
    values: dict[str, str] = field(default_factory=dict)


class IbvDevinfo(BlockCollector):
    """Devices and ports as the verbs library sees them."""

    kind: ClassVar[str] = "ibv-devinfo"
    literals: ClassVar[tuple[bytes, ...]] = (b"hca_id:",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bibv_devinfo\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A device."""
        return _DEVICE.match(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Ports without the device's own lines."""
        return share(lines, _PAIR) if any("active_mtu:" in line for line in lines) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for each device and port."""
        parts: list[_Part] = []
        for line in block.lines:
            if (match := _DEVICE.match(line.text)) is not None:
                parts.append(_Part(match[1], None, line))
            elif (match := _PORT.match(line.text)) is not None and parts:
                parts.append(_Part(parts[-1].nic, int(match[1]), line))
            elif (match := _PAIR.match(line.text)) is not None and parts:
                parts[-1].values.setdefault(match[1], match[2])
        parsed = Parsed()
        for part in parts:
            parsed.facts += _facts(part, block)
        if not parsed.facts:
            parsed.problems.append(f"line {block.lines[0].number}: no device was found")
        return parsed


def _facts(part: _Part, block: Block) -> Iterator[Fact]:
    subject, sources = Subject(host=block.host, nic=part.nic, port=part.port), (block.source(part.line),)
    values = part.values
    if part.port is None:
        ports = values.get("phys_port_cnt", "")
        yield RdmaDevice(
            subject=subject,
            sources=sources,
            model=f"MT{values['vendor_part_id']}" if values.get("vendor_part_id", "").isdecimal() else None,
            firmware_version=values.get("fw_ver") or None,
            board_id=values.get("board_id") or None,
            ports=int(ports) if ports.isdecimal() and len(ports) < 4 else None,
        )
        return
    speed, width = _SPEED.match(values.get("active_speed", "")), _WIDTH.match(values.get("active_width", ""))
    yield RdmaPort(
        subject=subject,
        sources=sources,
        state=state_word(values.get("state", "")),
        physical_state=(state_word(values.get("phys_state", "")) or "").replace("_", "") or None,
        rate_gigabits_per_second=float(speed[1]) * int(width[1]) if speed and width else None,
        width_lanes=int(width[1]) if width else None,
        link_layer=values.get("link_layer", "").lower() or None,
        active_mtu_bytes=_mtu(values.get("active_mtu", "")),
        max_mtu_bytes=_mtu(values.get("max_mtu", "")),
        base_lid=int(values["port_lid"]) if values.get("port_lid", "").isdecimal() else None,
        subnet_manager_lid=int(values["sm_lid"]) if values.get("sm_lid", "").isdecimal() else None,
    )


def _mtu(text: str) -> int | None:
    match = _MTU.match(text)
    return int(match[1]) if match else None
