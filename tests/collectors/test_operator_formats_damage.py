"""No saved text makes a collector of operators' formats raise: field files cut and changed at random."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from collectors.base import Block, BlockCollector, Line
from collectors.registry import BLOCK_COLLECTORS
from tests.collectors.test_operator_formats_corpus import FOLDERS

_CUTS_A_FILE = 6
_LARGEST = 40_000


def _read_by_all(data: bytes) -> None:
    rows = data.decode(errors="replace").splitlines() or [""]
    block = Block("x.txt", [Line(number, row) for number, row in enumerate(rows, start=1)])
    sample = [row for row in rows if row.strip()][:400]
    for collector in BLOCK_COLLECTORS:
        if sample and (_opens(collector, rows) or collector.resembles(sample) >= 0.5):
            collector.parse(block)


def _opens(collector: type[BlockCollector], rows: list[str]) -> bool:
    return any(any(literal in row.encode() for literal in collector.literals) and collector.opens(row) for row in rows)


@pytest.mark.parametrize("folder", FOLDERS)
def test_damaged_field_files_do_not_raise(corpus: Path, folder: str) -> None:
    numbers = random.Random(folder)
    for path in sorted((corpus / "files" / folder).iterdir()):
        data = path.read_bytes()[:_LARGEST]
        for _ in range(_CUTS_A_FILE):
            start, end = sorted(numbers.randrange(len(data) + 1) for _ in range(2))
            damaged = bytearray(data[start:end])
            for _ in range(min(len(damaged), 8)):
                damaged[numbers.randrange(len(damaged))] ^= 1 << numbers.randrange(8)
            _read_by_all(bytes(damaged))
