"""All-reduce benchmarks written with torch.distributed: a table of payloads, or lines of one payload's bandwidth."""

from __future__ import annotations

import re
from statistics import median
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.nccl_test_run import Run

_TABLE = re.compile(r"^\s*\|\s*payload\s*\|\s*(busbw|algbw)\s*\|\s*(busbw|algbw)\s*\|\s*$")
_TABLE_ROW = re.compile(
    r"^\s*\|\s*(\d+(?:\.\d+)?)\s*([KMGT]?i?B)\s*\|\s*(\d+(?:\.\d+)?)\s*(G[Bb]ps)\s*\|\s*(\d+(?:\.\d+)?)\s*(G[Bb]ps)\s*\|"
)
_PAYLOAD = re.compile(r"(?:\bdata size: |\bwith a )(\d+(?:\.\d+)?)\s*([KMGT]?i?B)(?: payload)?\b")
_RANKS = re.compile(r"\b(\d{1,7}) ranks\b")
_BUSBW = re.compile(r"^\s*busbw\s*:\s*(\d+(?:\.\d+)?)\s*(G[Bb]ps)\b")
_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4}


class TorchAllReduce(BlockCollector):
    """One fact for each table, and one for all lines of one payload."""

    kind: ClassVar[str] = "torch-all-reduce"
    literals: ClassVar[tuple[bytes, ...]] = (b"payload", b" data size: ")
    reopens = False
    interleaved = True

    @classmethod
    def opens(cls, text: str) -> bool:
        """The head of a table, or a line that names the payload."""
        if _TABLE.match(text):
            return True
        return _PAYLOAD.search(text) is not None and (
            re.match(r"^\s*\d+ data size: ", text) is not None or "bandwidth of all_reduce" in text
        )

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Bus bandwidth by payload; repeats of one payload by their median."""
        run = Run(block.source(), "all_reduce")
        bus_first = True
        payload: int | None = None
        repeats: dict[int, list[float]] = {}
        for text in block.texts():
            if table := _TABLE.match(text):
                bus_first = table.group(1) == "busbw"
            elif row := _TABLE_ROW.match(text):
                cells = [row.group(3, 4), row.group(5, 6)]
                size = _bytes(row.group(1), row.group(2))
                repeats.setdefault(size, []).append(_gigabytes(*cells[0 if bus_first else 1]))
            elif named := _PAYLOAD.search(text):
                payload = _bytes(named.group(1), named.group(2))
                if ranks := _RANKS.search(text):
                    run.ranks = int(ranks.group(1))
            elif payload is not None and (bus := _BUSBW.match(text)):
                repeats.setdefault(payload, []).append(_gigabytes(bus.group(1), bus.group(2)))
        for size, values in repeats.items():
            run.add(size, "", "", str(median(values)))
        fact = run.fact(block.path, block.host)
        return Parsed([fact] if fact else [])


def _bytes(value: str, unit: str) -> int:
    base = 1024 if "i" in unit else 1000
    return int(float(value[:30]) * base ** _POWERS.get(unit[0], 0))


def _gigabytes(value: str, unit: str) -> float:
    return float(value[:30]) / (8 if unit == "Gbps" else 1)
