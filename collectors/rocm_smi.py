"""`rocm-smi` with `--json`, and its long text (`GPU[0] : Temperature (Sensor edge) (C): 45.0`).

The facts are those that AMD's and NVIDIA's GPUs have in common. Keys changed between ROCm 4 and 6.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

from collectors.base import Block, BlockCollector, Parsed, share
from collectors.json_text import load_object, mapping
from collectors.nvidia_smi_reading import Reading
from collectors.nvidia_smi_values import Convert, Value, integer, ratio, read, real, words
from diagnose.facts import Fact, Missing, Subject, normalise_bus_id
from diagnose.facts.gpu import (
    GpuClocks,
    GpuEcc,
    GpuFan,
    GpuIdentity,
    GpuLoad,
    GpuMemory,
    GpuPcieLink,
    GpuPower,
    GpuTemperature,
)
from diagnose.facts.host import KernelModule

_CARD = re.compile(r"^card(\d{1,3})$")
_TEXT = re.compile(r"^GPU\[(\d{1,3})\]\s*:\s*(.+?)\s*:\s*(\S.*?)\s*$")
_LINK = re.compile(r"(\d{1,2}\.\d) ?GT/s x(\d{1,2})")
_GENERATIONS = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}
_MHZ = re.compile(r"\((\d{1,5})Mhz\)", re.IGNORECASE)


def _clock(text: str) -> Value | None:
    match = _MHZ.search(text)
    # A clock of zero is that of a part that sleeps.
    return float(match[1]) or None if match else None


def _generation(text: str) -> Value | None:
    match = _LINK.search(text)
    return _GENERATIONS.get(match[1]) if match else None


def _width(text: str) -> Value | None:
    match = _LINK.search(text)
    return int(match[2]) if match else None


def _name(text: str) -> Value | None:
    """A name; ROCm 4 prints ids where it knows none."""
    return None if text.startswith("0x") else words(text)


class _Field(NamedTuple):
    kind: type[Fact]
    name: str
    convert: Convert


_FIELDS: Mapping[str, tuple[_Field, ...]] = {
    "device name": (_Field(GpuIdentity, "product_name", _name),),
    "card series": (_Field(GpuIdentity, "product_name", _name),),
    "vbios version": (_Field(GpuIdentity, "vbios_version", words),),
    "gfx version": (_Field(GpuIdentity, "architecture", words),),
    "temperature (sensor junction) (c)": (_Field(GpuTemperature, "gpu_celsius", real),),
    "temperature (sensor memory) (c)": (_Field(GpuTemperature, "memory_celsius", real),),
    "average graphics package power (w)": (_Field(GpuPower, "draw_watts", real),),
    "current socket graphics package power (w)": (_Field(GpuPower, "draw_watts", real),),
    "max graphics package power (w)": (_Field(GpuPower, "limit_watts", real),),
    "gpu use (%)": (_Field(GpuLoad, "gpu_utilization_ratio", ratio),),
    "gpu memory read/write activity (%)": (_Field(GpuLoad, "memory_utilization_ratio", ratio),),
    "sclk clock level": (_Field(GpuClocks, "sm_mhz", _clock),),
    "sclk clock speed:": (_Field(GpuClocks, "sm_mhz", _clock),),
    "mclk clock speed:": (_Field(GpuClocks, "memory_mhz", _clock),),
    "pcie clock level": (
        _Field(GpuPcieLink, "generation_current", _generation),
        _Field(GpuPcieLink, "width_current", _width),
    ),
    "pcie replay count": (_Field(GpuPcieLink, "replay_count", integer),),
    "vram total memory (b)": (_Field(GpuMemory, "total_bytes", integer),),
    "vram total used memory (b)": (_Field(GpuMemory, "used_bytes", integer),),
    "fan speed (%)": (_Field(GpuFan, "speed_ratio", ratio),),
    "ras correctable errors": (_Field(GpuEcc, "volatile_corrected", integer),),
    "ras uncorrectable errors": (_Field(GpuEcc, "volatile_uncorrected", integer),),
}
_EDGE = "temperature (sensor edge) (c)"
"""Taken for the GPU's temperature where there is no junction sensor."""


class RocmSmiJson(BlockCollector):
    """JSON."""

    kind: ClassVar[str] = "rocm-smi-json"
    literals: ClassVar[tuple[bytes, ...]] = (b'{"card0":',)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\brocm-smi\b.*--json")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The whole on one line; laid out over lines it is known by `resembles`."""
        return text.lstrip().startswith('{"card0":')

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Cards with AMD's keys."""
        text = "\n".join(lines[:400])
        keys = ("Temperature (Sensor", "VRAM Total Memory", "GPU use (%)", "Card Series", "Card series")
        return 0.9 if '"card' in text and any(key in text for key in keys) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of every card."""
        content = load_object(block)
        if isinstance(content, Parsed):
            return content
        cards = {
            int(match[1]): {str(key): str(value) for key, value in mapping(card).items()}
            for name, card in content.items()
            if (match := _CARD.match(name)) is not None
        }
        lines = {index: _line_of(block, f'"card{index}"') for index in cards}
        parsed = Parsed([*_facts(cards, lines, block)])
        version = mapping(content.get("system")).get("Driver version")
        if isinstance(version, str) and version:
            parsed.facts.append(
                KernelModule(
                    subject=block.subject(), sources=(block.source(),), name="amdgpu", version=version, loaded=True
                )
            )
        if not parsed.facts:
            parsed.problems.append(f"line {block.lines[0].number}: no value of a card was found")
        return parsed


class RocmSmiText(BlockCollector):
    """Long text."""

    kind: ClassVar[str] = "rocm-smi"
    literals: ClassVar[tuple[bytes, ...]] = (b"ROCm System Management Interface", b"GPU[0]")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\brocm-smi\b(?!.*--json)")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The title, or a card's first value."""
        return "ROCm System Management Interface" in text or _TEXT.match(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Values of cards."""
        return share(lines, _TEXT)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of every card."""
        cards: dict[int, dict[str, str]] = defaultdict(dict)
        lines: dict[int, int] = {}
        for line in block.lines:
            match = _TEXT.match(line.text)
            if match is not None:
                cards[int(match[1])].setdefault(match[2], match[3])
                lines.setdefault(int(match[1]), line.number)
        facts = [*_facts(cards, lines, block)]
        if facts:
            return Parsed(facts)
        return Parsed(problems=[f"line {block.lines[0].number}: no value of a card was found in a form that is read"])


def _line_of(block: Block, word: str) -> int:
    return next((line.number for line in block.lines if word in line.text), block.lines[0].number)


def _facts(cards: Mapping[int, Mapping[str, str]], lines: Mapping[int, int], block: Block) -> Iterator[Fact]:
    for index, card in cards.items():
        values = {key.lower(): value for key, value in card.items()}
        subject = Subject(host=block.host, gpu_index=index, gpu_bus_id=normalise_bus_id(values.get("pci bus", "")))
        reading = Reading()
        if "temperature (sensor junction) (c)" not in values and _EDGE in values:
            values["temperature (sensor junction) (c)"] = values[_EDGE]
        for key, fields in _FIELDS.items():
            text = values.get(key)
            for kind, name, convert in fields if text is not None else ():
                absent = Missing.NOT_APPLICABLE if (text or "").startswith("N/A") else None
                reading.put(kind, name, absent or read(text or "", convert), lines[index])
        yield from reading.facts(subject, block)
