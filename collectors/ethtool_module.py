"""`ethtool -m IF`: the pluggable transceiver of a port, its light and its alarms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed, share
from collectors.ethtool import nic_of_command
from diagnose.facts import Subject
from diagnose.facts.network import NetworkModule

_PAIR = re.compile(r"^\s*([A-Za-z][\w ,()./-]{1,60}?)\s+: (.*?)\s*$")
_IDENTIFIER = re.compile(r"^\s*Identifier\s+: 0x[0-9a-f]{2} \((.*)\)\s*$")
_DBM = re.compile(r"(-?\d{1,3}\.\d{1,4}) dBm")
_CELSIUS = re.compile(r"^(-?\d{1,3}(?:\.\d{1,4})?) degrees C")
_SENT = re.compile(r"laser output power|transmit avg optical power|laser tx power", re.IGNORECASE)
_RECEIVED = re.compile(
    r"receiver signal average optical power|rcvr signal avg optical power|laser rx power", re.IGNORECASE
)
_FLAG = re.compile(r"\b(alarm|warning)\b(?!.*threshold)", re.IGNORECASE)


class EthtoolModule(BlockCollector):
    """One transceiver."""

    kind: ClassVar[str] = "ethtool-module"
    literals: ClassVar[tuple[bytes, ...]] = (b"Identifier  ",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bethtool\s+(?:-m|--dump-module-eeprom|--module-info)\b")

    @classmethod
    def opens(cls, text: str) -> bool:
        """The first line."""
        return _IDENTIFIER.match(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Its keys and values."""
        return share(lines, _PAIR) if any(line.strip().startswith("Module temperature") for line in lines) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Light in dBm of the weakest lane, and which flags are on."""
        values: dict[str, str] = {}
        flags: dict[str, list[str]] = {"alarm": [], "warning": []}
        sent: list[float] = []
        received: list[float] = []
        for line in block.lines:
            match = _PAIR.match(line.text)
            if match is None:
                continue
            key, value = match[1], match[2]
            values.setdefault(key.lower(), value)
            if (flag := _FLAG.search(key)) is not None:
                if value == "On":
                    flags[flag[1].lower()].append(key)
            elif "threshold" not in key.lower() and (light := _DBM.search(value)) is not None:
                if _SENT.search(key):
                    sent.append(float(light[1]))
                elif _RECEIVED.search(key):
                    received.append(float(light[1]))
        temperature = _CELSIUS.match(values.get("module temperature", ""))
        identifier = re.search(r"\((.*)\)", values.get("identifier", ""))
        if identifier is None and temperature is None:
            return Parsed(problems=[f"line {block.lines[0].number}: no transceiver was found"])
        vendor = " ".join(part for part in (values.get("vendor name"), values.get("vendor pn")) if part)
        return Parsed(
            [
                NetworkModule(
                    subject=Subject(host=block.host, nic=nic_of_command(block.command)),
                    sources=(block.source(),),
                    identifier=identifier[1] if identifier else None,
                    vendor=vendor or None,
                    temperature_celsius=float(temperature[1]) if temperature else None,
                    transmit_power_dbm=min(sent, default=None),
                    receive_power_dbm=min(received, default=None),
                    alarms="; ".join(flags["alarm"]) or None,
                    warnings="; ".join(flags["warning"]) or None,
                )
            ]
        )
