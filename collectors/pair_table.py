"""Small tables in which operators note the bandwidth of pairs: read by the meaning of the columns' names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.cells import cells as cells_of
from collectors.nccl_test_run import number
from collectors.pair_bandwidth import Measurement, Pair, pair_facts, slower_directions, summary, unit_bytes_per_second

_VALUE = re.compile(r"^(.*?)[\s_(\[-]*([GMgm]i?[Bb]ps|[GMgm]i?[Bb]/s|[GM]bit/s)[)\]]?$")
_PAIR_NAME = re.compile(
    r"^(?:path|pairs?|link|connection|gpus|gpu_pair|nodes|hosts|node_pair|host_pair)$", re.IGNORECASE
)
_END_NAME = re.compile(
    r"^(node|host|server|machine|gpu|device|src|source|from|dst|dest|destination|to|target|peer)"
    r"(?:[ _-]?(?:gpu|node|host|name|a|b|x|y|0|1|2|i|j))?$",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"gen\d|health|before|expect|base|ref|good|old|spec|normal|earlier", re.IGNORECASE)
_NOW = re.compile(r"now|current|today|degrad|after|measur|bad|new|actual", re.IGNORECASE)
_HOST_WORD = re.compile(r"^(?:node|host|server|machine)", re.IGNORECASE)
_GPU_PAIR = re.compile(r"\bGPU\s?(\d{1,4})\W+(?:to\W+)?GPU\s?(\d{1,4})\b", re.IGNORECASE)
_GPU = re.compile(r"^(?:GPU|cuda:?)\s?(\d{1,4})$", re.IGNORECASE)
_HOST_PAIR = re.compile(r"^([A-Za-z][\w.]*\d[\w.]*)\s*(?:<?->?|\u2192|\u2194|/|:| to )\s*([A-Za-z][\w.]*\d[\w.]*)$")


@dataclass(frozen=True, slots=True)
class _Layout:
    ends: tuple[int, ...]
    """One column that names the pair, or two that name its ends."""
    gpus: bool
    hosts: bool
    """The columns are said to be of hosts, so that `gpu50` is one."""
    value: int
    reference: int | None
    unit_bytes_per_second: float


class PairTable(BlockCollector):
    """Tables with a column for the pair, or one for each end, and one or two columns of bandwidth."""

    kind: ClassVar[str] = "pair-table"
    literals: ClassVar[tuple[bytes, ...]] = (b"GBps", b"Gbps", b"gbps", b"GB/s", b"Gb/s", b"Gbit/s", b"MBps", b"MB/s")
    reopens = True

    @classmethod
    def opens(cls, text: str) -> bool:
        """A header whose columns are understood."""
        return _layout(cells_of(text)) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Pairs of the rows below."""
        layout = _layout(cells_of(block.lines[0].text))
        if layout is None:
            return Parsed()
        pairs = [pair for line in block.lines[1:] if (pair := _pair(layout, line)) is not None]
        gpus = slower_directions(pair for pair in pairs if isinstance(pair.first, int))
        hosts = slower_directions(pair for pair in pairs if isinstance(pair.first, str))
        parsed = Parsed()
        for found, how in ((gpus, Measurement()), (hosts, Measurement(between_hosts=True))):
            parsed.facts += [*pair_facts(block, found, how), *summary(block, found, how)]
        return parsed


def _layout(cells: Sequence[str]) -> _Layout | None:
    values = [(at, match.group(1), match.group(2)) for at, cell in enumerate(cells) if (match := _VALUE.match(cell))]
    units = {unit for *_, unit in values}
    unit = unit_bytes_per_second(units.pop()) if len(units) == 1 else None
    if unit is None or len(values) > 2 or any(number(cell) is not None for cell in cells):
        return None
    ends = _ends(cells)
    if ends is None:
        return None
    value, reference = values[-1][0], None
    if len(values) == 2:
        (first, first_name, _), (second, second_name, _) = values
        swapped = bool(_REFERENCE.search(second_name)) and not _REFERENCE.search(first_name)
        swapped = swapped or (bool(_NOW.search(first_name)) and not _NOW.search(second_name))
        value, reference = (first, second) if swapped else (second, first)
    names = [cells[at] for at in ends]
    gpus, hosts = any("gpu" in name.lower() for name in names), all(_HOST_WORD.match(name) for name in names)
    return _Layout(ends, gpus, hosts, value, reference, unit)


def _ends(cells: Sequence[str]) -> tuple[int, ...] | None:
    for at, cell in enumerate(cells):
        if _PAIR_NAME.match(cell):
            return (at,)
    named = [at for at, cell in enumerate(cells) if _END_NAME.match(cell)]
    return next(((first, second) for first, second in pairwise(named) if second == first + 1), None)


def _pair(layout: _Layout, line: Line) -> Pair | None:
    cells = cells_of(line.text)
    if max(*layout.ends, layout.value, layout.reference or 0) >= len(cells):
        return None
    value = number(cells[layout.value])
    ends = _named(layout, cells)
    if value is None or value < 0 or ends is None or ends[0] == ends[1]:
        return None
    reference = number(cells[layout.reference]) if layout.reference is not None else None
    return Pair(
        ends[0],
        ends[1],
        value * layout.unit_bytes_per_second,
        line,
        reference * layout.unit_bytes_per_second if reference is not None and reference > 0 else None,
        label=cells[layout.ends[0]] if len(layout.ends) == 1 else None,
    )


def _named(layout: _Layout, cells: Sequence[str]) -> tuple[int, int] | tuple[str, str] | None:
    if len(layout.ends) == 1:
        text = cells[layout.ends[0]]
        if not layout.hosts and (match := _GPU_PAIR.search(text)):
            return int(match.group(1)), int(match.group(2))
        hosts = _HOST_PAIR.match(text)
        return (hosts.group(1), hosts.group(2)) if hosts else None
    first, second = (cells[at] for at in layout.ends)
    gpus = [None if layout.hosts else _gpu(text, layout.gpus) for text in (first, second)]
    if gpus[0] is not None and gpus[1] is not None:
        return gpus[0], gpus[1]
    # A bare number may be a rank, a port or a slot: without a word for it, it names nothing.
    return (first, second) if re.match(r"[A-Za-z]", first) and re.match(r"[A-Za-z]", second) else None


def _gpu(text: str, bare: bool) -> int | None:
    if match := _GPU.match(text):
        return int(match.group(1))
    return int(text) if bare and re.fullmatch(r"\d{1,4}", text) else None
