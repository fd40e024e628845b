"""The counters file of dcgm-exporter (`FIELD, type, help`), and plain lists of DCGM field names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed, share
from diagnose.facts.validation import TelemetryConfiguration

_COUNTER = re.compile(r"^#?\s*(DCGM_(?:FI|EXP)_\w+)\s*,\s*(gauge|counter|label|histogram)\s*,", re.IGNORECASE)
_NAME = re.compile(r"^\s*DCGM_FI_\w+\s*$")
FIELD_GROUPS = {
    "utilization": r"_(?:GPU_UTIL|GR_ENGINE_ACTIVE|SM_ACTIVE)$",
    "memory": r"_FB_(?:USED|FREE|USED_PERCENT)$",
    "memory_bandwidth": r"_(?:MEM_COPY_UTIL|DRAM_ACTIVE)$",
    "temperature": r"_TEMP$",
    "power": r"_(?:POWER_USAGE\w*|TOTAL_ENERGY_CONSUMPTION)$",
    "clock_reasons": r"_(?:THROTTLE_REASONS|CLOCKS_EVENT_REASON\w*|\w+_VIOLATION|CLOCK_EVENTS_COUNT)$",
    "errors": r"_XID_ERRORS(?:_COUNT)?$",
    "memory_errors": r"_(?:ECC_[SD]BE_\w+|RETIRED_\w+|\w*REMAPPED_ROWS|ROW_REMAP_\w+)$",
    "nvlink": r"_NVLINK_",
    "pcie": r"_PCIE_",
    "codec": r"_(?:ENC|DEC)_UTIL$",
}


class DcgmFieldList(BlockCollector):
    """What an exporter collects."""

    kind: ClassVar[str] = "dcgm-field-list"
    literals: ClassVar[tuple[bytes, ...]] = (b"# DCGM FIELD, Prometheus metric type",)
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """Never: comments of any number stand on top, so that the file is known as a whole."""
        return False

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Rows of the file, comments between them, or nothing but names of fields."""
        if any(_COUNTER.match(line) for line in lines):
            return share(lines, re.compile(f"{_COUNTER.pattern}|^#"))
        return share(lines, _NAME)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Which groups of fields are switched on; a list of names has no values and says so."""
        enabled = [
            match[1]
            for line in block.lines
            if not line.text.startswith("#") and (match := _COUNTER.match(line.text)) is not None
        ]
        if not enabled:
            return Parsed(problems=[f"line {block.lines[0].number}: names of DCGM fields without values"])
        groups = {name: any(re.search(pattern, field) for field in enabled) for name, pattern in FIELD_GROUPS.items()}
        return Parsed(
            [
                TelemetryConfiguration(
                    subject=block.subject(),
                    sources=(block.source(),),
                    exporter="dcgm-exporter",
                    fields=len(enabled),
                    **groups,
                )
            ]
        )
