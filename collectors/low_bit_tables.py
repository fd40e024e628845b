"""Small tables about low-bit models: unpacked zero points, and rates by number format."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.cells import cells
from collectors.json_text import real, whole
from collectors.precision_words import precision_of
from diagnose.facts.precision import PrecisionThroughput, ZeroPoints

_MOST_ROWS = 10_000
_ZERO = re.compile(
    r"^(?:unpacked[ _-]?)?(?:q?zeros?(?:[ _-]?points?)?|zp)(?:[ _-]?(?:value|unpacked))?$", re.IGNORECASE
)
_TENSOR = re.compile(r"^(?:tensor|name|layer|param|parameter|weight)(?:[ _-]?name)?$", re.IGNORECASE)
_FORMAT = re.compile(
    r"^(?:dtype|data[ _-]?type|precision|format|quantization|quantisation|in[ _-]?type)$", re.IGNORECASE
)
_RATE = re.compile(
    r"^(?:t?flops|tops|gflops|gemm[ _-]?tflops|tflops[ _-]?per[ _-]?gpu|throughput.*|(?:output[ _-]?)?tok(?:en)?s?"
    r"(?:[ _-]?per[ _-]?s(?:ec(?:ond)?)?|/s)|req(?:uest)?s?(?:[ _-]?per[ _-]?s(?:ec(?:ond)?)?|/s))"
    r"(?:[ _]?[(\[][^)\]]{1,20}[)\]])?$",
    re.IGNORECASE,
)
_SHAPE = re.compile(r"^(?:m|n|k|batch|batch[ _-]?size|bs|concurrency|tokens)$", re.IGNORECASE)


class ZeroPointTable(BlockCollector):
    """One fact for each tensor."""

    kind: ClassVar[str] = "zero-point-table"
    literals: ClassVar[tuple[bytes, ...]] = (b"zero", b"Zero", b"zp,", b",zp")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A tensor's name and its zero point."""
        names = cells(text)
        return len(text) < 300 and 2 <= len(names) <= 8 and None not in (_at(names, _TENSOR), _at(names, _ZERO))

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Most common value of each tensor."""
        names = cells(block.lines[0].text)
        tensor, zero = _at(names, _TENSOR), _at(names, _ZERO)
        if tensor is None or zero is None:
            return Parsed()
        found: dict[str, Counter[int]] = defaultdict(Counter)
        first: dict[str, Line] = {}
        for line in block.lines[1 : _MOST_ROWS + 1]:
            row = cells(line.text)
            value = whole(row[zero]) if len(row) >= len(names) else None
            if value is not None:
                found[row[tensor]][value] += 1
                first.setdefault(row[tensor], line)
        return Parsed(
            [
                ZeroPoints(
                    subject=block.subject(),
                    sources=(block.source(first[name]),),
                    tensor=name[:200],
                    count=sum(values.values()),
                    most_common=values.most_common(1)[0][0],
                    smallest=min(values),
                    largest=max(values),
                )
                for name, values in found.items()
            ]
        )


class PrecisionThroughputTable(BlockCollector):
    """Rates of one measurement in several number formats."""

    kind: ClassVar[str] = "precision-throughput-table"
    literals: ClassVar[tuple[bytes, ...]] = (
        b"flops",
        b"FLOPS",
        b"TOPS,",
        b"tops,",
        b"hroughput",
        b"tokens",
        b"tok/s",
        b"req/s",
    )
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A column of formats and one of rates."""
        names = cells(text)
        return len(text) < 300 and len(names) >= 2 and None not in (_at(names, _FORMAT), _at(names, _RATE))

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for each row; there must be two formats, else there is nothing to compare."""
        names = cells(block.lines[0].text)
        form, rate = _at(names, _FORMAT), _at(names, _RATE)
        if form is None or rate is None:
            return Parsed()
        facts: list[PrecisionThroughput] = []
        for line in block.lines[1 : _MOST_ROWS + 1]:
            row = cells(line.text)
            value = real(row[rate]) if len(row) >= len(names) else None
            precision = precision_of(row[form]) if value is not None else None
            if value is None or precision is None or value <= 0:
                continue
            dimensions = [whole(row[at]) for at, name in enumerate(names) if _SHAPE.match(name)]
            facts.append(
                PrecisionThroughput(
                    subject=block.subject(),
                    sources=(block.source(line),),
                    precision=precision,
                    rate=value,
                    unit=names[rate][:60],
                    shape=", ".join(
                        f"{name} {row[at]}" for at, name in enumerate(names)
                        if at not in (form, rate) and (_SHAPE.match(name) or real(row[at]) is None)
                    )[:200],
                    largest_dimension=max((value for value in dimensions if value is not None), default=None),
                )
            )  # fmt: skip
        return Parsed(list(facts) if len({fact.precision for fact in facts}) > 1 else [])


def _at(names: Sequence[str], pattern: re.Pattern[str]) -> int | None:
    return next((at for at, name in enumerate(names) if pattern.match(name)), None)
