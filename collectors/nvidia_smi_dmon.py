"""`nvidia-smi dmon`: one line for each GPU and second.

    # gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk
    # Idx      W      C      C      %      %      %      %      %      %    MHz    MHz
        0    631     63     57    100     10      0      0      0      0   2619   1980

Each fact holds the medians over all lines of its GPU, so that one odd second does not count. Columns go by their
titles, which drivers and `-s` change; `-` means that the GPU has no such value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.nvidia_smi_columns import Column
from collectors.nvidia_smi_facts import nothing_found
from collectors.nvidia_smi_layouts import block_series, dmon_layout
from collectors.nvidia_smi_reading import Reading
from collectors.nvidia_smi_values import megabyte_rate, ratio, read, real, size
from diagnose.facts import Missing
from diagnose.facts.gpu import GpuClocks, GpuLoad, GpuMemory, GpuPcieLink, GpuPower, GpuTemperature

DMON_COLUMNS: Mapping[str, Column] = {
    "pwr": Column(GpuPower, "draw_watts", real),
    "temp": Column(GpuTemperature, "gpu_celsius", real),
    "gtemp": Column(GpuTemperature, "gpu_celsius", real),
    "mtemp": Column(GpuTemperature, "memory_celsius", real),
    "sm": Column(GpuLoad, "gpu_utilization_ratio", ratio),
    "mem": Column(GpuLoad, "memory_utilization_ratio", ratio),
    "enc": Column(GpuLoad, "encoder_utilization_ratio", ratio),
    "dec": Column(GpuLoad, "decoder_utilization_ratio", ratio),
    "mclk": Column(GpuClocks, "memory_mhz", real),
    "pclk": Column(GpuClocks, "sm_mhz", real),
    "fb": Column(GpuMemory, "used_bytes", size),
    "bar1": Column(GpuMemory, "bar1_used_bytes", size),
    "rxpci": Column(GpuPcieLink, "receive_bytes_per_second", megabyte_rate),
    "txpci": Column(GpuPcieLink, "transmit_bytes_per_second", megabyte_rate),
}
"""Title of a column to what it fills."""
_TITLES = re.compile(r"^\s*#\s*(?:Date\s+Time\s+|Time\s+)?gpu\s+(?!pid\b)(\S.*)$", re.IGNORECASE)
_INDEX = re.compile(r"^[0-9]{1,4}$")


class NvidiaSmiDmon(BlockCollector):
    """Device monitor."""

    kind: ClassVar[str] = "nvidia-smi-dmon"
    literals: ClassVar[tuple[bytes, ...]] = (b"# gpu", b"#Date", b"#Time", b"# Date", b"# Time")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bnvidia-smi\s+dmon\b")
    # The titles come again every few lines.
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """Titles of columns."""
        return bool(dmon_titles(text))

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Medians of every GPU, and the values over time."""
        parsed = Parsed()
        titles: Sequence[str] = ()
        gpus: dict[int, Reading] = {}
        for line in block.lines:
            titles = dmon_titles(line.text) or titles
            cells = line.text.split()
            if len(cells) != len(titles) or "gpu" not in titles:
                continue
            row = dict(zip(titles, cells, strict=True))
            if not _INDEX.match(row["gpu"]):
                continue
            reading = gpus.setdefault(int(row["gpu"]), Reading())
            for title, cell in row.items():
                if column := DMON_COLUMNS.get(title):
                    value = Missing.NOT_APPLICABLE if cell == "-" else read(cell, column.convert)
                    reading.put(column.kind, column.name, value, line.number)
        for index, reading in gpus.items():
            parsed.facts += reading.facts(block.subject().model_copy(update={"gpu_index": index}), block)
        if not parsed.facts:
            parsed.problems += nothing_found(block, "no line of values under the titles")
        layout = dmon_layout(titles, DMON_COLUMNS, block.command)
        if layout is not None:
            parsed.series += block_series(block, layout, block.lines)
        return parsed


def dmon_titles(text: str) -> list[str]:
    """Titles of columns in lower case; none where the line is none of dmon's."""
    if not _TITLES.match(text):
        return []
    titles = text.replace("#", " ").lower().split()
    return titles if DMON_COLUMNS.keys() & set(titles) else []
