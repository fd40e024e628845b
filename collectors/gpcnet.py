"""GPCNeT's tables: latency and bandwidth of an isolated network, and under congestion."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed, share
from diagnose.facts.bandwidth import NetworkBandwidth, NetworkLatency

_TITLE = re.compile(r"^Network Tests v\d")
_SECTION = re.compile(r"^\|\s+((?:Isolated|Congestion|Network)[\w -]*Tests.*?)\s*\|\s*$")
_ROW = re.compile(
    r"^\|\s*(?P<name>[A-Z][\w -]{2,40}?(?:\+Sync)?) \((?P<size>\d{1,12}) B\)\s*\|\s*(?P<typical>\d{1,12}(?:\.\d+)?)\s*"
    r"\|\s*(?P<percentile>\d{1,12}(?:\.\d+)?)\s*\|\s*(?P<unit>usec|MiB/s/rank)\s*\|\s*$"
)
_BODY = re.compile(rf"{_ROW.pattern}|{_SECTION.pattern}|^\+[-+]+\+$")


class Gpcnet(BlockCollector):
    """One run."""

    kind: ClassVar[str] = "gpcnet"
    literals: ClassVar[tuple[bytes, ...]] = (b"Network Tests v", b"Isolated Network Tests")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The title."""
        return _TITLE.match(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Rows of its tables."""
        return share(lines, _BODY) if any(_ROW.match(line) for line in lines) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for each row."""
        parsed = Parsed()
        section = ""
        for line in block.lines:
            if (title := _SECTION.match(line.text)) is not None:
                section = " ".join(title[1].split()).lower()
            elif (row := _ROW.match(line.text)) is not None:
                operation = f"{section}: {row['name'].strip()}" if section else row["name"].strip()
                size, typical = int(row["size"]), float(row["typical"])
                if row["unit"] == "usec":
                    parsed.facts.append(
                        NetworkLatency(
                            subject=block.subject(),
                            sources=(block.source(line),),
                            tool="gpcnet",
                            operation=operation,
                            size_bytes=size,
                            typical_seconds=typical / 1e6,
                            percentile_99_seconds=float(row["percentile"]) / 1e6,
                        )
                    )
                else:
                    rate = typical * 1048576
                    parsed.facts.append(
                        NetworkBandwidth(
                            subject=block.subject(),
                            sources=(block.source(line),),
                            tool="gpcnet",
                            operation=operation,
                            largest_size_bytes=size,
                            largest_bytes_per_second=rate,
                            peak_bytes_per_second=rate,
                        )
                    )
        if not parsed.facts:
            parsed.problems.append(f"line {block.lines[0].number}: no row with a result was found")
        return parsed
