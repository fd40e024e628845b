"""Comparison tables of msprobe (CSV): one row for each input, output and parameter of an operator."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.json_text import real
from diagnose.facts import Fact
from diagnose.facts.precision import OperatorComparison

_NAME = re.compile(r"^(?P<operator>.+?)[._](?P<place>input|output|kwargs|parameters)(?:[._].*)?$")
_MOST_ROWS = 50_000


class MsprobeCompare(BlockCollector):
    """One fact for each row of tensors."""

    kind: ClassVar[str] = "msprobe-compare"
    literals: ClassVar[tuple[bytes, ...]] = (b"NPU Name", b"Target Name")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The heading; the compared side is called NPU or target."""
        names = _cells(text)
        return len(names) > 6 and names[0] in ("NPU Name", "Target Name") and "Cosine" in names

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Rows in their order, which is that of the computation."""
        columns = {name: at for at, name in enumerate(_cells(block.lines[0].text))}
        facts: list[Fact] = []
        for order, line in enumerate(block.lines[1 : _MOST_ROWS + 1]):
            row = _cells(line.text)
            if len(row) >= len(columns) and (fact := _fact(block, line, columns, row, order)) is not None:
                facts.append(fact)
        return Parsed(facts)


def _cells(text: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([text]), [])]
    except csv.Error:
        return []


def _fact(
    block: Block, line: Line, columns: Mapping[str, int], row: Sequence[str], order: int
) -> OperatorComparison | None:
    match = _NAME.match(row[0])
    if match is None or match.group("place") == "parameters":
        return None

    def number(*names: str) -> float | None:
        return next((real(row[columns[name]].rstrip("%")) for name in names if name in columns), None)

    shapes = [row[at] for name, at in columns.items() if name.endswith("Shape")]
    thousandth = number("One Thousandth Err Ratio")
    verdict = row[columns["Accuracy Reached or Not"]] if "Accuracy Reached or Not" in columns else ""
    limits = [number(name) for name in ("Bench max", "Bench min", "Golden max", "Golden min")]
    return OperatorComparison(
        subject=block.subject(),
        sources=(block.source(line),),
        tool="msprobe",
        operator=match.group("operator")[:200],
        place="output" if match.group("place") == "output" else "input",
        order=order,
        cosine=number("Cosine"),
        max_absolute_error=number("MaxAbsErr", "Max Absolute Err"),
        max_relative_error=number("MaxRelativeErr", "Max Relative Err"),
        one_thousandth_ratio=thousandth,
        largest_magnitude=max((abs(value) for value in limits if value is not None), default=None),
        same_shape=len(set(shapes)) <= 1,
        passed={"yes": True, "no": False}.get(verdict.strip().lower()),
    )
