"""`ethtool IF`, `-i`, `-g` and `-a`: link, driver, rings and pause of a network interface."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from diagnose.facts import Subject, normalise_bus_id
from diagnose.facts.network import NetworkInterface

_PAIR = re.compile(r"^\s*([A-Za-z][\w /()-]{0,50}?):(?:\s+(.*?))?\s*$")
_SPEED = re.compile(r"^(\d{1,7})\s?Mb/s")
_MODE = re.compile(r"\b(\d{2,7})base", re.IGNORECASE)
_FLAGS = {"on": True, "off": False, "yes": True, "no": False}
_COMMAND_NIC = re.compile(r"\bethtool(?:\s+-{1,2}[\w-]+)*\s+([A-Za-z][\w.:-]{0,30})\s*$")


def nic_of_command(command: str | None) -> str | None:
    """The interface that a command line names: `eth0` of `ethtool -S eth0`."""
    match = _COMMAND_NIC.search((command or "").partition("|")[0].strip())
    return match[1] if match else None


def _pairs(lines: Sequence[Line]) -> Iterator[tuple[Line, str, str]]:
    """Keys in lower case with their values; further lines of a value are added to it."""
    held: tuple[Line, str, str] | None = None
    for line in lines:
        match = _PAIR.match(line.text)
        if match is not None:
            if held is not None:
                yield held
            held = (line, match[1].strip().lower(), match[2] or "")
        elif held is not None and line.text[:1] in " \t":
            held = (held[0], held[1], f"{held[2]} {line.text.strip()}")
    if held is not None:
        yield held


def _interface(block: Block, line: Line, nic: str | None, bus_id: str | None, values: dict[str, Any]) -> Parsed:
    known = {name: value for name, value in values.items() if value is not None}
    if not known:
        return Parsed(problems=[f"line {block.lines[0].number}: no value of an interface was found"])
    subject = Subject(host=block.host, nic=nic, bus_id=bus_id)
    return Parsed([NetworkInterface(subject=subject, sources=(block.source(line),), **known)])


class EthtoolSettings(BlockCollector):
    """`ethtool IF`."""

    kind: ClassVar[str] = "ethtool-settings"
    literals: ClassVar[tuple[bytes, ...]] = (b"Settings for ",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bethtool\s+[A-Za-z][\w.:-]*\s*(?:\||$)")

    @classmethod
    def opens(cls, text: str) -> bool:
        """The title."""
        return re.match(r"^Settings for [\w.:@-]+:\s*$", text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Link modes and the state of the link."""
        text = "\n".join(lines)
        return 0.8 if "Link detected:" in text and "Supported link modes:" in text else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """The link now, and what it could be."""
        title = re.match(r"^Settings for ([\w.:-]+):", block.lines[0].text)
        values = {key: value for _, key, value in _pairs(block.lines)}
        speed = _SPEED.match(values.get("speed", ""))
        # 4294967295 Mb/s is the kernel's -1: unknown.
        gigabits = float(speed[1]) / 1000 if speed and len(speed[1]) < 8 else None
        duplex = values.get("duplex", "").lower()
        return _interface(
            block,
            block.lines[0],
            title[1] if title else nic_of_command(block.command),
            None,
            {
                "link_detected": _FLAGS.get(values.get("link detected", "").split(" ")[0].lower()),
                "speed_gigabits_per_second": gigabits,
                "speed_supported_max_gigabits_per_second": _fastest(values.get("supported link modes", "")),
                "speed_advertised_max_gigabits_per_second": _fastest(values.get("advertised link modes", "")),
                "speed_partner_max_gigabits_per_second": _fastest(values.get("link partner advertised link modes", "")),
                "duplex": duplex if duplex in ("full", "half") else None,
                "auto_negotiation": _FLAGS.get(values.get("auto-negotiation", "").lower()),
            },
        )


def _fastest(modes: str) -> float | None:
    return max((float(speed) / 1000 for speed in _MODE.findall(modes)), default=None)


class EthtoolDriver(BlockCollector):
    """`ethtool -i IF`."""

    kind: ClassVar[str] = "ethtool-driver"
    literals: ClassVar[tuple[bytes, ...]] = (b"firmware-version:",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bethtool\s+(?:-i|--driver)\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """Never: its keys are too common to begin a block; a text with all of them is known as a whole."""
        return False

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """The keys that belong together."""
        keys = {line.partition(":")[0].strip() for line in lines}
        return 0.9 if {"driver", "firmware-version", "bus-info"} <= keys else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """The driver and its versions."""
        values = {key: value for _, key, value in _pairs(block.lines)}
        return _interface(
            block,
            block.lines[0],
            nic_of_command(block.command),
            normalise_bus_id(values.get("bus-info", "")),
            {
                "driver": values.get("driver") or None,
                "driver_version": values.get("version") or None,
                "firmware_version": values.get("firmware-version") or None,
            },
        )


class EthtoolRings(BlockCollector):
    """`ethtool -g IF`: ring sizes, and how large they could be."""

    kind: ClassVar[str] = "ethtool-rings"
    literals: ClassVar[tuple[bytes, ...]] = (b"Ring parameters for ",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bethtool\s+(?:-g|--show-ring)\b")

    @classmethod
    def opens(cls, text: str) -> bool:
        """The title."""
        return text.startswith("Ring parameters for ")

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Entries now and at most."""
        title = re.match(r"^Ring parameters for ([\w.:-]+?):?\s*$", block.lines[0].text)
        values: dict[str, Any] = {}
        maximum = True
        for _, key, value in _pairs(block.lines):
            if key.startswith("current hardware settings"):
                maximum = False
            elif key in ("rx", "tx") and value.isdecimal() and len(value) < 10:
                side = "receive" if key == "rx" else "transmit"
                values[f"{side}_ring_{'max_' if maximum else ''}entries"] = int(value)
        return _interface(block, block.lines[0], title[1] if title else nic_of_command(block.command), None, values)


class EthtoolPause(BlockCollector):
    """`ethtool -a IF`: global pause frames."""

    kind: ClassVar[str] = "ethtool-pause"
    literals: ClassVar[tuple[bytes, ...]] = (b"Pause parameters for ",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bethtool\s+(?:-a|--show-pause)\b")

    @classmethod
    def opens(cls, text: str) -> bool:
        """The title."""
        return text.startswith("Pause parameters for ")

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Whether pause frames are obeyed and sent."""
        title = re.match(r"^Pause parameters for ([\w.:-]+?):?\s*$", block.lines[0].text)
        values = {key: value for _, key, value in _pairs(block.lines)}
        return _interface(
            block,
            block.lines[0],
            title[1] if title else nic_of_command(block.command),
            None,
            {
                "receive_pause": _FLAGS.get(values.get("rx", "").lower()),
                "transmit_pause": _FLAGS.get(values.get("tx", "").lower()),
            },
        )
