"""Matrices of `p2pBandwidthLatencyTest` (CUDA samples), whole or in parts, also with dashes on the diagonal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.nccl_test_run import GIGA, number
from collectors.pair_bandwidth import Measurement, Pair, pair_facts, slower_directions, summary
from diagnose.facts import Fact
from diagnose.facts.topology import PeerAccess

_COLUMNS = re.compile(r"^\s*D\\D((?:\s+\d{1,4})+)\s*$")
_TITLE = re.compile(r"(?:(Unidirectional|Bidirectional)\s+)?P2P=(Enabled|Disabled)\b.*\bMatrix\b")
_ROW = re.compile(r"^\s*(\d{1,4})\s+(\S.*)$")
_ACCESS = re.compile(r"Device=(\d{1,4}) (CAN|CANNOT) Access Peer Device=(\d{1,4})\b")


@dataclass(slots=True)
class _Section:
    how: Measurement
    columns: list[int] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)


class PeerBandwidthMatrix(BlockCollector):
    """Bandwidth by pair of one matrix, a summary of each, and peer access as the tool tells it."""

    kind = "p2p-bandwidth-matrix"
    literals = (b"D\\D", b"P2P=", b"[P2P (Peer-to-Peer) GPU")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bp2pBandwidthLatencyTest\b")
    reopens = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The tool's first line, the title of a matrix, or its columns."""
        return bool(_COLUMNS.match(text) or _TITLE.search(text) or "[P2P (Peer-to-Peer) GPU" in text)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Pairs of the matrix that compares best with others: peer access on, one direction at a time.

        Facts of several matrices side by side would invite comparing one direction with two.
        """
        sections = [section for section in _sections(block) if section.pairs]
        parsed = Parsed(list(_access(block)))
        for section in sections:
            section.pairs = slower_directions(section.pairs)
            parsed.facts += summary(block, section.pairs, section.how)
        if sections:
            best = min(
                sections, key=lambda section: (section.how.p2p_enabled is False, bool(section.how.bidirectional))
            )
            parsed.facts += pair_facts(block, best.pairs, best.how, _without_peer_access(best, sections))
        return parsed


def _without_peer_access(best: _Section, sections: Sequence[_Section]) -> dict[frozenset[int | str], float]:
    """Pairs of the matrix that differs from the best one in nothing but peer access."""
    if not best.how.p2p_enabled:
        return {}
    other = next((item for item in sections if item.how == replace(best.how, p2p_enabled=False)), None)
    return {pair.ends: pair.bytes_per_second for pair in other.pairs} if other is not None else {}


def _sections(block: Block) -> Iterator[_Section]:
    named: bool | None = None
    name = PurePosixPath(block.path).name.lower()
    if "unidir" in name or "bidir" in name:
        named = "bidir" in name
    title: Measurement | None = Measurement(bidirectional=named)
    section: _Section | None = None
    for line in block.lines:
        if found := _TITLE.search(line.text):
            direction, enabled = found.groups()
            bidirectional = direction == "Bidirectional" if direction else None
            title = Measurement(bidirectional, enabled == "Enabled") if "Bandwidth" in line.text else None
        elif "Connectivity Matrix" in line.text:
            title = None
        elif columns := _COLUMNS.match(line.text):
            if section is not None:
                yield section
            # Latencies and the table of who may reach whom have the same shape.
            section = _Section(title, [int(cell) for cell in columns.group(1).split()]) if title else None
        elif section is not None and (row := _ROW.match(line.text)):
            section.pairs += _row(section.columns, int(row.group(1)), row.group(2).split(), line)
        elif line.text.strip() and section is not None:
            yield section
            section = None
    if section is not None:
        yield section


def _row(columns: list[int], first: int, cells: list[str], line: Line) -> Iterator[Pair]:
    for second, cell in zip(columns, cells, strict=False):
        value = number(cell)
        if first != second and value is not None and value > 0:
            yield Pair(first, second, value * GIGA, line)


def _access(block: Block) -> Iterator[Fact]:
    """Each pair once; the direction that does not work is the news."""
    found: dict[tuple[int, int], PeerAccess] = {}
    for line in block.lines:
        if match := _ACCESS.search(line.text):
            one, can, other = int(match.group(1)), match.group(2), int(match.group(3))
            pair = (min(one, other), max(one, other))
            if pair not in found or found[pair].status == "OK":
                found[pair] = PeerAccess(
                    subject=block.subject().model_copy(update={"gpu_index": pair[0]}),
                    sources=(block.source(line),),
                    peer=str(pair[1]),
                    operation="unknown",
                    status="OK" if can == "CAN" else "NS",
                )
    yield from found.values()
