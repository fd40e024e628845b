"""`dcgmi dmon -e 1011,1012`: one line for each GPU and reading.

    #Entity   NVLTX                       NVLRX
    ID
    GPU 3     19694075554                 19687914629

Columns go by the field numbers of the command where it is known, else by their short titles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from collectors.base import Block, BlockCollector, Parsed, share
from collectors.gpu_series import GPU_METRICS
from collectors.nvidia_smi_reading import Reading
from collectors.nvidia_smi_values import Convert, Value, ratio, read, real, size
from collectors.series_columns import SeriesColumns
from diagnose.facts import Fact, Subject
from diagnose.facts.bandwidth import NvlinkTraffic
from diagnose.facts.gpu import GpuActivity, GpuClocks, GpuLoad, GpuMemory, GpuPcieLink, GpuPower, GpuTemperature
from diagnose.facts.series import Clock


class _Field(NamedTuple):
    titles: tuple[str, ...]
    kind: type[Fact]
    name: str
    convert: Convert


def _busy(text: str) -> Value | None:
    """Traffic counts only where there was any: the tool prints 0 while a field is not watched yet."""
    number = real(text)
    return number or None


# Field numbers and titles: NVIDIA/DCGM, dcgmlib/dcgm_fields.h and src/dcgm_fields.cpp.
_FIELDS: dict[int, _Field] = {
    100: _Field(("SMCLK",), GpuClocks, "sm_mhz", real),
    101: _Field(("MMCLK",), GpuClocks, "memory_mhz", real),
    140: _Field(("MMTMP",), GpuTemperature, "memory_celsius", real),
    150: _Field(("TMPTR",), GpuTemperature, "gpu_celsius", real),
    155: _Field(("POWER",), GpuPower, "draw_watts", real),
    203: _Field(("GPUTL",), GpuLoad, "gpu_utilization_ratio", ratio),
    204: _Field(("MCUTL",), GpuLoad, "memory_utilization_ratio", ratio),
    206: _Field(("ENCUT",), GpuLoad, "encoder_utilization_ratio", ratio),
    207: _Field(("DECUT",), GpuLoad, "decoder_utilization_ratio", ratio),
    250: _Field(("FBTTL",), GpuMemory, "total_bytes", size),
    252: _Field(("FBUSD", "FBUSE"), GpuMemory, "used_bytes", size),
    1001: _Field(("GRACT",), GpuActivity, "graphics_engine_ratio", real),
    1002: _Field(("SMACT",), GpuActivity, "sm_ratio", real),
    1003: _Field(("SMOCC",), GpuActivity, "sm_occupancy_ratio", real),
    1004: _Field(("TENSO",), GpuActivity, "tensor_ratio", real),
    1005: _Field(("DRAMA",), GpuActivity, "dram_ratio", real),
    1009: _Field(("PCITX",), GpuPcieLink, "transmit_bytes_per_second", real),
    1010: _Field(("PCIRX",), GpuPcieLink, "receive_bytes_per_second", real),
    1011: _Field(("NVLTX",), NvlinkTraffic, "transmit_bytes_per_second", _busy),
    1012: _Field(("NVLRX",), NvlinkTraffic, "receive_bytes_per_second", _busy),
}
_BY_TITLE = {title: known for known in _FIELDS.values() for title in known.titles}
_TITLES = re.compile(r"^#\s*Entity\s+(\S.*)$")
_ROW = re.compile(r"^GPU[ -]?(\d{1,3})\s+(\S.*)$")
_NUMBERS = re.compile(r"\s(?:-e|--field-id)[ =]?\s*(\d[\d,]*)")
_INTERVAL = re.compile(r"\s(?:-d|--delay)[ =]?\s*(\d{1,7})\b")
"""Milliseconds between readings; 1000 where the command does not say."""
_BODY = re.compile(r"^(?:#\s*Entity|ID\s|ID$|GPU[ -]?\d{1,3}\s+(?:N/A|[\d.]+))")


class DcgmiDmon(BlockCollector):
    """Watched fields."""

    kind: ClassVar[str] = "dcgmi-dmon"
    literals: ClassVar[tuple[bytes, ...]] = (b"#Entity", b"# Entity")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bdcgmi\s+dmon\b")
    # The titles come again every few readings.
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """Titles of columns."""
        return bool(_titles(text))

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Titles and rows of values."""
        return share(lines, _BODY) if any(_titles(line) for line in lines) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Medians of every GPU, and the values over time, counted from the first reading."""
        asked = _NUMBERS.search(block.command or "")
        columns: Sequence[_Field | None] = _asked(asked[1]) if asked else ()
        gpus: dict[int, Reading] = {}
        series = SeriesColumns(Clock.RELATIVE)
        interval = _INTERVAL.search(block.command or "")
        step, readings = (int(interval[1]) / 1000 if interval else 1.0), Counter[int]()
        for line in block.lines:
            titles = _titles(line.text)
            if titles:
                columns = [_BY_TITLE.get(title) for title in titles]
            row = _ROW.match(line.text)
            cells = row[2].split() if row else []
            if row is None or len(cells) != len(columns):
                continue
            gpu = int(row[1])
            reading = gpus.setdefault(gpu, Reading())
            for column, cell in zip(columns, cells, strict=True):
                if column is not None:
                    value = read(cell, column.convert)
                    reading.put(column.kind, column.name, value, line.number)
                    metric = GPU_METRICS.get((column.kind, column.name))
                    if metric is not None and isinstance(value, int | float):
                        subject = Subject(host=block.host, gpu_index=gpu)
                        series.put(metric, subject, readings[gpu] * step, value, block.source(line))
            readings[gpu] += 1
        parsed = Parsed(series=[*series.series()])
        for index, reading in sorted(gpus.items()):
            parsed.facts += reading.facts(Subject(host=block.host, gpu_index=index), block)
        if not parsed.facts:
            why = "the fields had no values" if gpus else "no line of values under the titles"
            parsed.problems.append(f"line {block.lines[0].number}: {why}")
        return parsed


def _asked(numbers: str) -> list[_Field | None]:
    return [_FIELDS.get(int(number)) for number in numbers.split(",") if 0 < len(number) < 6]


def _titles(text: str) -> list[str]:
    match = _TITLES.match(text)
    return match[1].split() if match else []
