"""`amd-smi metric|static|list --json`: a list of GPUs, values as numbers or as `{"value": 36, "unit": "W"}`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from collectors.base import Block, BlockCollector, Parsed
from collectors.json_text import items, mapping, real, whole
from collectors.nvidia_smi_reading import Reading
from collectors.nvidia_smi_values import absence
from diagnose.facts import Fact, Missing, Subject, normalise_bus_id
from diagnose.facts.gpu import (
    GpuClocks,
    GpuEcc,
    GpuIdentity,
    GpuLoad,
    GpuMemory,
    GpuPcieLink,
    GpuPower,
    GpuTemperature,
)

_KEYS = ('"gfx_activity"', '"socket_power"', '"market_name"', '"ecc"', '"asic"')
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
_UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "B": 1}


class _Field(NamedTuple):
    kind: type[Fact]
    name: str
    path: tuple[str, ...]
    sort: str
    """`real`, `whole`, `ratio`, `bytes`, `generation` or `text`."""


_FIELDS: tuple[_Field, ...] = (
    _Field(GpuIdentity, "product_name", ("asic", "market_name"), "text"),
    _Field(GpuIdentity, "vbios_version", ("vbios", "version"), "text"),
    _Field(GpuLoad, "gpu_utilization_ratio", ("usage", "gfx_activity"), "ratio"),
    _Field(GpuLoad, "memory_utilization_ratio", ("usage", "umc_activity"), "ratio"),
    _Field(GpuPower, "draw_watts", ("power", "socket_power"), "real"),
    _Field(GpuPower, "limit_watts", ("limit", "socket_power"), "real"),
    _Field(GpuPower, "max_limit_watts", ("limit", "max_power"), "real"),
    _Field(GpuTemperature, "gpu_celsius", ("temperature", "hotspot"), "real"),
    _Field(GpuTemperature, "memory_celsius", ("temperature", "mem"), "real"),
    _Field(GpuTemperature, "slowdown_celsius", ("limit", "slowdown_hotspot_temperature"), "real"),
    _Field(GpuTemperature, "shutdown_celsius", ("limit", "shutdown_hotspot_temperature"), "real"),
    _Field(GpuClocks, "sm_mhz", ("clock", "gfx_0", "clk"), "real"),
    _Field(GpuClocks, "sm_max_mhz", ("clock", "gfx_0", "max_clk"), "real"),
    _Field(GpuClocks, "memory_mhz", ("clock", "mem_0", "clk"), "real"),
    _Field(GpuPcieLink, "width_current", ("pcie", "width"), "whole"),
    _Field(GpuPcieLink, "generation_current", ("pcie", "speed"), "generation"),
    _Field(GpuPcieLink, "replay_count", ("pcie", "replay_count"), "whole"),
    _Field(GpuPcieLink, "replay_rollover_count", ("pcie", "replay_roll_over_count"), "whole"),
    _Field(GpuPcieLink, "width_max", ("bus", "max_pcie_width"), "whole"),
    _Field(GpuPcieLink, "generation_max", ("bus", "max_pcie_speed"), "generation"),
    _Field(GpuEcc, "volatile_corrected", ("ecc", "total_correctable_count"), "whole"),
    _Field(GpuEcc, "volatile_uncorrected", ("ecc", "total_uncorrectable_count"), "whole"),
    _Field(GpuMemory, "total_bytes", ("mem_usage", "total_vram"), "bytes"),
    _Field(GpuMemory, "used_bytes", ("mem_usage", "used_vram"), "bytes"),
)


class AmdSmiJson(BlockCollector):
    """GPUs of one command."""

    kind: ClassVar[str] = "amd-smi-json"
    literals: ClassVar[tuple[bytes, ...]] = (b'[{"gpu":',)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bamd-smi\b.*--json")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The whole on one line; laid out over lines it is known by `resembles`."""
        return text.lstrip().startswith('[{"gpu":') and any(key in text for key in _KEYS)

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """A list of GPUs with its keys."""
        text = "\n".join(lines)
        return 0.9 if '"gpu":' in text and text[:1] in "[{" and sum(key in text for key in _KEYS) >= 1 else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of every GPU."""
        text = "\n".join(block.texts())
        start = min((place for place in (text.find("["), text.find("{")) if place >= 0), default=0)
        try:
            content, _ = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            return Parsed(problems=[f"line {block.lines[0].number}: the JSON is damaged or incomplete"])
        if isinstance(content, dict):
            content = content.get("gpu_data", [])
        parsed = Parsed()
        for gpu in items(content, dict):
            parsed.facts += _facts(gpu, block)
        if not parsed.facts:
            parsed.problems.append(f"line {block.lines[0].number}: no value of a GPU was found")
        return parsed


def _facts(gpu: Mapping[str, Any], block: Block) -> Iterator[Fact]:
    index = whole(gpu.get("gpu"))
    if index is None or not 0 <= index < 1000:
        return
    bus = str(mapping(gpu.get("bus")).get("bdf") or gpu.get("bdf") or "")
    subject = Subject(host=block.host, gpu_index=index, gpu_bus_id=normalise_bus_id(bus))
    number = next((line.number for line in block.lines if f'"gpu": {index}' in line.text), block.lines[0].number)
    reading = Reading()
    for field in _FIELDS:
        reading.put(field.kind, field.name, _value(_at(gpu, field.path), field.sort), number)
    yield from reading.facts(subject, block)


def _at(gpu: Mapping[str, Any], path: tuple[str, ...]) -> object:
    found: object = gpu
    for key in path:
        found = mapping(found).get(key)
    return found


def _value(found: object, sort: str) -> str | int | float | Missing | None:
    unit = str(found.get("unit", "")) if isinstance(found, dict) else ""
    value = found.get("value") if isinstance(found, dict) else found
    if isinstance(value, str) and (reason := absence(value)) is not None:
        return reason
    if sort == "text":
        return value.strip() or None if isinstance(value, str) else None
    number = real(value)
    if number is None or number < 0:
        return None
    if sort == "ratio":
        return number / 100
    if sort == "whole":
        return int(number)
    if sort == "bytes":
        return int(number * _UNITS.get(unit, 1 << 20))
    if sort == "generation":
        return _GENERATIONS.get(number)
    return number
