"""Measured pairs of GPUs or hosts, whatever the text that lists them, and their facts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from collectors.base import Block, Line
from diagnose.facts import Fact
from diagnose.facts.topology import PeerBandwidth, PeerBandwidthSummary

_UNIT = re.compile(r"^([GgMm])(i?)(B|b|bit)(?:ps|/s)$")


def unit_bytes_per_second(text: str) -> float | None:
    """`GB/s` and `GBps` are 1e9, `Gb/s`, `Gbps` and `Gbit/s` an eighth of it; None for other units."""
    match = _UNIT.match(text)
    if match is None:
        return None
    power = 3 if match.group(1) in "Gg" else 2
    scale = float((1024 if match.group(2) else 1000) ** power)
    return scale if match.group(3) == "B" else scale / 8


@dataclass(frozen=True, slots=True)
class Measurement:
    """How a set of pairs was measured."""

    bidirectional: bool | None = None
    p2p_enabled: bool | None = None
    between_hosts: bool | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """One measured pair: GPU indices, or names of hosts."""

    first: int | str
    second: int | str
    bytes_per_second: float
    line: Line
    reference_bytes_per_second: float | None = None
    concurrent: bool | None = None
    label: str | None = None

    @property
    def ends(self) -> frozenset[int | str]:
        """Both ends without direction."""
        return frozenset((self.first, self.second))

    @property
    def name(self) -> str:
        """In words."""
        if self.label:
            return self.label
        return f"GPU{self.first}-GPU{self.second}" if isinstance(self.first, int) else f"{self.first}-{self.second}"


def slower_directions(pairs: Iterable[Pair]) -> list[Pair]:
    """Each pair once, lower index first, with the slower of its directions."""
    found: dict[frozenset[int | str], Pair] = {}
    for pair in pairs:
        if isinstance(pair.first, int) and isinstance(pair.second, int) and pair.first > pair.second:
            pair = replace(pair, first=pair.second, second=pair.first)
        known = found.get(pair.ends)
        if known is None or pair.bytes_per_second < known.bytes_per_second:
            found[pair.ends] = pair
    return list(found.values())


def pair_facts(
    block: Block,
    pairs: Iterable[Pair],
    how: Measurement,
    without_peer_access: Mapping[frozenset[int | str], float] | None = None,
) -> list[Fact]:
    """One fact for each pair; of the same pairs the bandwidth without peer access, where it was measured too."""
    without_peer_access = without_peer_access or {}
    return [
        PeerBandwidth(
            subject=block.subject().model_copy(
                update={"gpu_index": pair.first} if isinstance(pair.first, int) else {"host": pair.first}
            ),
            sources=(block.source(pair.line),),
            peer=str(pair.second),
            between_hosts=how.between_hosts,
            bytes_per_second=pair.bytes_per_second,
            bidirectional=how.bidirectional,
            p2p_enabled=how.p2p_enabled,
            without_peer_access_bytes_per_second=without_peer_access.get(pair.ends),
            reference_bytes_per_second=pair.reference_bytes_per_second,
            concurrent=pair.concurrent,
            label=pair.label,
        )
        for pair in pairs
    ]


def summary(block: Block, pairs: Sequence[Pair], how: Measurement) -> list[Fact]:
    """The measurement summed up; nothing where no pair was measured, or the median is zero."""
    if not pairs:
        return []
    middle = median(pair.bytes_per_second for pair in pairs)
    lowest = min(pairs, key=lambda pair: pair.bytes_per_second)
    if middle <= 0:
        return []
    references = [
        pair.bytes_per_second / pair.reference_bytes_per_second for pair in pairs if pair.reference_bytes_per_second
    ]
    elsewhere = _ends_elsewhere(pairs, lowest)
    return [
        PeerBandwidthSummary(
            subject=block.subject(),
            sources=(block.source(lowest.line),),
            between_hosts=how.between_hosts,
            bidirectional=how.bidirectional,
            p2p_enabled=how.p2p_enabled,
            pairs=len(pairs),
            lowest_bytes_per_second=lowest.bytes_per_second,
            median_bytes_per_second=middle,
            lowest_to_median_ratio=lowest.bytes_per_second / middle,
            lowest_to_reference_ratio=min(references, default=None),
            lowest_pair=lowest.name,
            lowest_is_concurrent=lowest.concurrent,
            ends_elsewhere_to_median_ratio=None if elsewhere is None else elsewhere / middle,
        )
    ]


def _ends_elsewhere(pairs: Sequence[Pair], lowest: Pair) -> float | None:
    """The best that each end of the slowest pair reaches with another partner; the lower of the two."""
    best: dict[int | str, float] = defaultdict(float)
    for pair in pairs:
        if pair.ends != lowest.ends:
            for end in pair.ends:
                best[end] = max(best[end], pair.bytes_per_second)
    return min(best[end] for end in lowest.ends) if all(end in best for end in lowest.ends) else None
