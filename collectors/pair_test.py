"""Results of home-made transfer tests: a line that names pairs of GPUs, and lines with bandwidths below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.pair_bandwidth import Measurement, Pair, pair_facts, summary, unit_bytes_per_second

_ARROW = r"(?:\u2192|\u2194|->|=>|<->)"
_PAIR = re.compile(rf"\bGPU\s?(\d{{1,4}})(?:\([^()]{{0,40}}\))?\s*{_ARROW}\s*GPU\s?(\d{{1,4}})")
_OPENING = re.compile(
    rf"^\W*(?:[A-Za-z][\w /-]{{0,40}}:\s*)?GPU\s?\d{{1,4}}(?:\([^()]{{0,40}}\))?\s*{_ARROW}\s*GPU\s?\d"
)
_VALUE = re.compile(r":\s*(\d{1,9}(?:\.\d{1,9})?)\s*([GM]i?[Bb]/s|[GM]i?[Bb]ps)(?![\w/])")
_RESULT = re.compile(r"^\s+([A-Za-z][\w .()-]{0,60}?)\s*:\s*\d")
_BASELINE = re.compile(r"\b(?:baseline|reference|alone|single)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Heading:
    text: str
    pairs: tuple[tuple[int, int], ...]
    line: Line


class PairTest(BlockCollector):
    """Pairs measured alone and while others are busy."""

    kind: ClassVar[str] = "pair-test"
    literals: ClassVar[tuple[bytes, ...]] = tuple(
        f"{arrow}{gap}GPU".encode() for arrow in ("\u2192", "\u2194", "->", "=>") for gap in ("", " ")
    )
    reopens = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A line that begins with a pair."""
        return _OPENING.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Results of pairs; a baseline is the reference of its pair's other results."""
        results = list(_results(block))
        alone = {pair.ends: pair for pair, baseline in results if baseline}
        pairs = [
            pair
            if baseline or pair.ends not in alone
            else replace(pair, reference_bytes_per_second=alone[pair.ends].bytes_per_second)
            for pair, baseline in results
        ]
        return Parsed([*pair_facts(block, pairs, Measurement()), *summary(block, pairs, Measurement())])


def _results(block: Block) -> Iterator[tuple[Pair, bool]]:
    """Pairs, and whether a pair is the baseline."""
    heading: _Heading | None = None
    for line in block.lines:
        found = tuple((int(first), int(second)) for first, second in _PAIR.findall(line.text))
        if found and _OPENING.match(line.text):
            heading = _Heading(line.text.strip(" -=#*\t"), found, line)
            if value := _VALUE.search(line.text):
                if (pair := _pair(heading, value, line, heading.text)) is not None:
                    yield pair, _BASELINE.search(line.text) is not None
                heading = None
        elif not line.text.strip() or line.text.lstrip().startswith(("==", "--", "##")):
            heading = None
        elif heading is not None and (named := _RESULT.match(line.text)) and (value := _VALUE.search(line.text)):
            pair = _pair(heading, value, line, f"{heading.text}, {named.group(1)}")
            if pair is not None:
                yield pair, False


def _pair(heading: _Heading, value: re.Match[str], line: Line, label: str) -> Pair | None:
    unit = unit_bytes_per_second(value.group(2))
    first, second = heading.pairs[0]
    if unit is None or first == second:
        return None
    return Pair(
        first,
        second,
        float(value.group(1)) * unit,
        line,
        concurrent=len(set(heading.pairs)) > 1,
        label=label[:200],
    )
