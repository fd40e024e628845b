"""HdrHistogram: its table of percentiles (.hgrm, and within the report of wrk2), and its compressed log.

The table does not tell the unit; wrk2's is milliseconds. The log holds counts in compressed form (version 2).
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, FileCollector, Line, OpenFile, Parsed
from collectors.benchmark_values import Result
from collectors.request_columns import unit_of
from diagnose.facts import Source, Subject

_ROW = re.compile(r"^\s*(\d{1,15}(?:\.\d{1,9})?)\s+([01]\.\d{1,18})\s+(\d{1,15})\s+(?:\d{1,18}(?:\.\d{1,9})?|inf)\s*$")
_FOOT = re.compile(r"#\[(Mean|Max)\s+=\s+(\d{1,15}(?:\.\d{1,9})?)")
_WANTED = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
_COMPRESSED, _PAYLOAD, _BASE = 0x1C849304, 0x1C849303, 0xFFFFFF0F
_MOST_COUNTS = 1 << 22


def table_values(lines: Iterable[Line]) -> dict[str, float]:
    """Statistics of a table of percentiles, in its own unit."""
    rows: list[tuple[float, float]] = []
    found: dict[str, float] = {}
    for line in lines:
        if match := _ROW.match(line.text):
            rows.append((float(match[2]), float(match[1])))
        for name, value in _FOOT.findall(line.text):
            found[name.lower()] = float(value)
    for name, share in _WANTED.items():
        value = next((value for percentile, value in rows if percentile >= share), None)
        if value is not None and rows[-1][0] >= share:
            found[name] = value
    return found


class HdrHistogramTable(BlockCollector):
    """A table on its own; the unit is what makes sense of it, else it is asked for."""

    kind: ClassVar[str] = "hdr-histogram"
    literals: ClassVar[tuple[bytes, ...]] = (b"1/(1-Percentile)",)

    @classmethod
    def opens(cls, text: str) -> bool:
        """The head of the table."""
        return text.split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One result."""
        return _result(table_values(block.lines), _total(block.lines), block.subject(), block.source())


def _total(lines: Iterable[Line]) -> int | None:
    counts = [int(match[3]) for line in lines if (match := _ROW.match(line.text))]
    return counts[-1] if counts else None


def _result(values: dict[str, float], total: int | None, subject: Subject, source: Source) -> Parsed:
    if "p50" not in values:
        return Parsed(problems=["the histogram has no rows"])
    scale, fitting = unit_of({"end_to_end_seconds": values["p50"]})
    if scale is None:
        fit = " as well as ".join(fitting) or "no unit"
        return Parsed(problems=[f"the histogram does not tell its unit, and its median {values['p50']:.6g} fits {fit}"])
    result = Result("hdr-histogram")
    result.set("completed", total)
    for name, value in values.items():
        result.put("e2e", name, value * scale)
    return Parsed([result.fact(subject, source)])


class HdrHistogramLog(FileCollector):
    """A log of intervals: all of them together."""

    kind: ClassVar[str] = "hdr-histogram-log"

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Its first line, or the header of its columns."""
        return b"#[Histogram log format version" in head or b'"Interval_Compressed_Histogram"' in head

    @classmethod
    def parse(cls, file: OpenFile) -> Parsed:
        """One result; intervals that cannot be decoded are counted."""
        counts: dict[int, int] = defaultdict(int)
        damaged = read = 0
        for piece in file.chunks():
            for line in piece.split(b"\n"):
                if line and not line.startswith((b"#", b'"')):
                    try:
                        for value, count in decode(line.rsplit(b",", 1)[-1]):
                            counts[value] += count
                        read += 1
                    except (ValueError, struct.error, zlib.error, binascii.Error):
                        damaged += 1
        problems = [f"{damaged:,} intervals could not be decoded"] if damaged else []
        if not counts:
            return Parsed(problems=problems or ["the log has no intervals"])
        parsed = _result(_quantiles(counts), sum(counts.values()), Subject(), Source(path=file.name, line=1))
        parsed.problems = problems + parsed.problems
        return parsed


def _quantiles(counts: dict[int, int]) -> dict[str, float]:
    ordered = sorted(counts)
    total = sum(counts.values())
    found = {"mean": sum(value * count for value, count in counts.items()) / total, "max": float(ordered[-1])}
    for name, share in _WANTED.items():
        below = 0
        for value in ordered:
            below += counts[value]
            if below >= share * total:
                found[name] = float(value)
                break
    return found


def decode(text: bytes) -> Iterator[tuple[int, int]]:
    """Values and counts of a histogram in base64 (HdrHistogram's compressed encoding, version 2).

    Raises ValueError, struct.error, zlib.error or binascii.Error where it is damaged.
    """
    data = base64.b64decode(text, validate=True)
    cookie, length = struct.unpack_from(">II", data)
    if cookie & _BASE != _COMPRESSED:
        raise ValueError("not of version 2")
    expander = zlib.decompressobj()
    payload = expander.decompress(data[8 : 8 + length], _MOST_COUNTS * 9)
    cookie, size, _, digits, lowest, _, _ = struct.unpack_from(">IIIIQQd", payload)
    if cookie & _BASE != _PAYLOAD or not 0 <= digits <= 5 or lowest < 1:
        raise ValueError("not of version 2")
    unit_magnitude = lowest.bit_length() - 1
    half = max(1, (2 * 10**digits - 1).bit_length()) - 1
    index = 0
    for count in _zigzag(payload[40 : 40 + size]):
        if count < 0:
            index -= count
        elif count > 0:
            yield _value(index, half, unit_magnitude), count
            index += 1
        else:
            index += 1
        if index > _MOST_COUNTS:
            raise ValueError("too many counts")


def _value(index: int, half: int, unit_magnitude: int) -> int:
    """The middle of the range of values that an index counts."""
    bucket = (index >> half) - 1
    within = (index & ((1 << half) - 1)) + (1 << half)
    if bucket < 0:
        within, bucket = within - (1 << half), 0
    shift = bucket + unit_magnitude
    return (within << shift) + ((1 << shift) >> 1)


def _zigzag(data: Sequence[int]) -> Iterator[int]:
    """Numbers in 7 bits a byte, at most nine bytes each; the lowest bit is the sign."""
    number = shift = 0
    for byte in data:
        number |= (byte if shift == 56 else byte & 0x7F) << shift
        shift += 7
        if shift == 63 or not byte & 0x80:
            yield (number >> 1) ^ -(number & 1)
            number = shift = 0
