"""`ibstat`, `ibstatus` and what they print when a device does not answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from collectors.rdma_fields import state_word
from diagnose.facts import Fact, Subject
from diagnose.facts.network import RdmaDevice, RdmaDeviceFailure, RdmaPort

_DEVICE = re.compile(r"^\s*CA '([\w.-]{1,64})'\s*$")
_STATUS = re.compile(r"^\s*Infiniband device '([\w.-]{1,64})' port (\d{1,3}) status:\s*$")
_PORT = re.compile(r"^\s*Port (\d{1,3}):\s*$")
_PAIR = re.compile(r"^\s+([A-Za-z][A-Za-z_ ]{1,30}):\s*(.*?)\s*$")
_FAILURE = re.compile(
    r"^(?P<tool>ibpanic|ibwarn|ibstat|ibstatus|Fatal error)\b:?\s*(?P<text>.*(?:failed|can'?t|cannot|not found|No such|"
    r"unable).*)$",
    re.IGNORECASE,
)
_NAMED = re.compile(r"(?:IB device|device|CA)\s+'?([a-z][\w.-]{0,63}?_?\d{1,3})'?(?:\W|$)")
_NUMBER = re.compile(r"^(\d{1,6}(?:\.\d{1,3})?)")
_WIDTH = re.compile(r"\((\d{1,2})X\b")
_BODY = re.compile(f"{_DEVICE.pattern}|{_STATUS.pattern}|{_PORT.pattern}|{_PAIR.pattern}")


@dataclass(slots=True)
class _Port:
    nic: str
    port: int
    line: Line
    values: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Device:
    nic: str
    line: Line
    values: dict[str, str] = field(default_factory=dict)
    ports: list[_Port] = field(default_factory=list)


class Ibstat(BlockCollector):
    """Devices and ports as ibstat or ibstatus list them."""

    kind: ClassVar[str] = "ibstat"
    literals: ClassVar[tuple[bytes, ...]] = (b"CA '", b"Infiniband device '", b"ibpanic", b"ibwarn")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bibstat(?:us)?\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A device, or the tool's own failure."""
        return _DEVICE.match(text) is not None or _STATUS.match(text) is not None or _failure(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """A port with its state."""
        text = "\n".join(lines)
        return share(lines, _BODY) if "Physical state:" in text and "Link layer:" in text else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Devices, ports and failures."""
        parsed = Parsed()
        devices: list[_Device] = []
        for line in block.lines:
            if (failure := _failure(line.text)) is not None:
                parsed.facts.append(_failed(block, line, failure))
            else:
                _take(devices, line)
        for device in devices:
            parsed.facts += _facts(device, block)
        if not parsed.facts:
            parsed.problems.append(f"line {block.lines[0].number}: no device was found")
        return parsed


def _failure(text: str) -> re.Match[str] | None:
    return _FAILURE.match(text.strip())


def _failed(block: Block, line: Line, failure: re.Match[str]) -> RdmaDeviceFailure:
    text = failure["text"].strip()
    device = _NAMED.search(text)
    reason = "not-readable" if device else "no-devices" if "CA names" in text or "IB device" in text else "not-found"
    return RdmaDeviceFailure(
        subject=Subject(host=block.host, nic=device[1] if device else None),
        sources=(block.source(line),),
        reason=reason,
        message=" ".join(line.text.split())[:300],
    )


def _take(devices: list[_Device], line: Line) -> None:
    if (match := _DEVICE.match(line.text)) is not None:
        devices.append(_Device(match[1], line))
    elif (match := _STATUS.match(line.text)) is not None:
        if not devices or devices[-1].nic != match[1]:
            devices.append(_Device(match[1], line))
        devices[-1].ports.append(_Port(match[1], int(match[2]), line))
    elif (match := _PORT.match(line.text)) is not None and devices:
        devices[-1].ports.append(_Port(devices[-1].nic, int(match[1]), line))
    elif (match := _PAIR.match(line.text)) is not None and devices:
        device = devices[-1]
        target = device.ports[-1].values if device.ports else device.values
        target[match[1].strip().lower().replace("_", " ")] = match[2]


def _facts(device: _Device, block: Block) -> Iterator[Fact]:
    if device.values:
        ports = device.values.get("number of ports", "")
        yield RdmaDevice(
            subject=Subject(host=block.host, nic=device.nic),
            sources=(block.source(device.line),),
            model=device.values.get("ca type") or None,
            firmware_version=device.values.get("firmware version") or None,
            ports=int(ports) if ports.isdecimal() and len(ports) < 4 else None,
        )
    for port in device.ports:
        values = _port_values(port.values)
        if values:
            yield RdmaPort(
                subject=Subject(host=block.host, nic=port.nic, port=port.port),
                sources=(block.source(port.line),),
                **values,
            )


def _port_values(values: dict[str, str]) -> dict[str, Any]:
    rate = values.get("rate", "")
    speed, width = _NUMBER.match(rate), _WIDTH.search(rate)
    found = {
        "state": state_word(values.get("state", "")),
        "physical_state": state_word(values.get("physical state", values.get("phys state", ""))),
        "rate_gigabits_per_second": float(speed[1]) if speed else None,
        "width_lanes": int(width[1]) if width else None,
        "link_layer": values.get("link layer", "").lower() or None,
        "base_lid": _address(values.get("base lid", "")),
        "subnet_manager_lid": _address(values.get("sm lid", "")),
    }
    return {name: value for name, value in found.items() if value is not None}


def _address(text: str) -> int | None:
    try:
        return int(text, 0) if len(text) < 8 else None
    except ValueError:
        return None
