"""`ibnetdiscover`: switches, adapters and links of an InfiniBand fabric, in both of its forms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed, share
from diagnose.facts.network import FabricTopology
from diagnose.facts.placement import LeafSwitch

_NODE = re.compile(r"^(Switch|Ca|Rt)\s+(\d{1,4})\s+\"([SHR]-[0-9a-f]{6,20})\"\s*(?:#\s*\"([^\"]*)\")?")
_LINK = re.compile(
    r"^\[(\d{1,4})\](?:\([0-9a-f]+\))?\s+\"([SHR]-[0-9a-f]{6,20})\"\[(\d{1,4})\](?:\([0-9a-f]+\))?\s*"
    r"(?:#\s*(?:lid \d+ lmc \d+ )?\"([^\"]*)\"(?:\s+lid \d+)?\s+(\d{1,2}x[A-Z]{2,4}))?"
)
_ATTRIBUTE = re.compile(r"^(?:vendid|devid|sysimgguid|switchguid|caguid|rtguid)=0x")
# The form of `ibnetdiscover -p`: SW lid port guid width speed - peer.
_PORT_ROW = re.compile(r"^(SW|CA|RT)\s+(\d{1,6})\s+(\d{1,4})\s+(0x[0-9a-f]{16})\s+(\d{1,2}x) (\w{2,4})\b(.*)$")
_BODY = re.compile(f"{_NODE.pattern}|{_LINK.pattern}|{_ATTRIBUTE.pattern}|{_PORT_ROW.pattern}|^#")
_SPEEDS = ("SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR")
_NAMES_TOLD = 5
_LANE_GIGABITS = {
    "SDR": 2.0, "DDR": 4.0, "QDR": 8.0, "FDR10": 10.0, "FDR": 13.6,
    "EDR": 25.0, "HDR": 50.0, "NDR": 100.0, "XDR": 200.0,
}  # fmt: skip
"""Data rate of a lane by the InfiniBand speed's name (InfiniBand Trade Association, roadmap)."""
_HOST = re.compile(r"^([A-Za-z][\w.-]*) (?:HCA-\d+|(?:mlx\d|ibp|rdma|rocep|irdma)\w*)$")
"""An adapter's description that tells its host; the factory's own names the vendor."""


@dataclass(slots=True)
class _Fabric:
    switches: set[str] = field(default_factory=set)
    adapters: set[str] = field(default_factory=set)
    links: dict[frozenset[tuple[str, int]], tuple[str | None, str]] = field(default_factory=dict)
    """Both ends to speed and a name for people."""
    names: dict[str, str] = field(default_factory=dict)
    """Switch to its description."""
    neighbours: dict[str, list[tuple[str, str, float]]] = field(default_factory=dict)
    """Switch to what hangs at its ports: address, description, Gb/s."""


class Ibnetdiscover(BlockCollector):
    """A fabric, counted, and its leaf switches."""

    kind: ClassVar[str] = "ibnetdiscover"
    literals: ClassVar[tuple[bytes, ...]] = (b"# Topology file", b"vendid=0x", b"(ibnetdiscover output)")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bibnetdiscover\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The head of the file or of its first node."""
        return (
            text.startswith("vendid=0x")
            or re.match(r"^# .*(?:Topology file|\(ibnetdiscover output\))", text) is not None
        )

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Nodes and links, or rows of ports."""
        if any(_NODE.match(line) or _PORT_ROW.match(line) for line in lines):
            return share(lines, _BODY)
        return 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Numbers of nodes and links, which links are slower than others of their sort, and what hangs at each leaf."""
        fabric = _Fabric()
        node: tuple[str, str] | None = None
        for line in block.lines:
            if (match := _NODE.match(line.text)) is not None:
                node = (match[3], match[4] or match[3])
                (fabric.switches if match[1] == "Switch" else fabric.adapters).add(match[3])
                if match[1] == "Switch":
                    fabric.names[match[3]] = node[1]
            elif node is not None and (link := _LINK.match(line.text)) is not None:
                ends = frozenset(((node[0], int(link[1])), (link[2], int(link[3]))))
                fabric.links.setdefault(ends, (link[5], f"{node[1]} port {link[1]} to {link[4] or link[2]}"))
                fabric.neighbours.setdefault(node[0], []).append((link[2], link[4] or "", _gigabits(link[5])))
            elif (row := _PORT_ROW.match(line.text)) is not None:
                (fabric.switches if row[1] == "SW" else fabric.adapters).add(row[4])
        if not fabric.switches and not fabric.adapters:
            return Parsed(problems=[f"line {block.lines[0].number}: no switch or adapter was found"])
        return Parsed([_fact(fabric, block), *_leaves(fabric, block)])


def _fact(fabric: _Fabric, block: Block) -> FabricTopology:
    host_links = {ends: told for ends, told in fabric.links.items() if any(name[:1] == "H" for name, _ in ends)}
    switch_links = {ends: told for ends, told in fabric.links.items() if ends not in host_links}
    slower = [name for links in (host_links, switch_links) for name in _slower(links.values())]
    speeds = Counter(speed for speed, _ in fabric.links.values() if speed is not None)
    return FabricTopology(
        subject=block.subject(),
        sources=(block.source(),),
        switches=len(fabric.switches),
        adapters=len(fabric.adapters),
        host_links=len(host_links),
        switch_links=len(switch_links),
        usual_link=speeds.most_common(1)[0][0] if speeds else None,
        slower_links=len(slower) if speeds else None,
        slower_link_names="; ".join(slower[:_NAMES_TOLD]) or None,
    )


def _leaves(fabric: _Fabric, block: Block) -> Iterator[LeafSwitch]:
    """Switches that hosts hang at by name; aggregation nodes and adapters without a host's name are no hosts."""
    for switch, name in fabric.names.items():
        ports = fabric.neighbours.get(switch, [])
        hosts = [(match[1], rate) for _, text, rate in ports if (match := _HOST.match(text)) is not None]
        down = [rate for peer, text, rate in ports if peer[:1] == "H" and "Aggregation" not in text]
        up = [rate for peer, _, rate in ports if peer[:1] == "S"]
        known = up and down and all(rate > 0.0 for rate in (*up, *down))
        if hosts:
            names = dict.fromkeys(host for host, _ in hosts)
            yield LeafSwitch(
                subject=block.subject(),
                sources=(block.source(),),
                name=name,
                nodes=len(names),
                node_names=" ".join(names),
                uplinks=len(up) or None,
                oversubscription_ratio=sum(down) / sum(up) if known else None,
            )


def _gigabits(speed: str | None) -> float:
    """Rate of a link such as `4xNDR`; 0 where it is not told."""
    width, _, name = (speed or "").partition("x")
    return int(width) * _LANE_GIGABITS.get(name, 0.0) if width.isdecimal() else 0.0


def _slower(links: Iterable[tuple[str | None, str]]) -> list[str]:
    """Names of links below the speed that most of them have."""
    rated = [(rate, name) for speed, name in links if (rate := _rate(speed)) is not None]
    if not rated:
        return []
    usual = Counter(rate for rate, _ in rated).most_common(1)[0][0]
    return [name for rate, name in rated if rate < usual]


def _rate(speed: str | None) -> tuple[int, int] | None:
    """Speed first, then width, so that they compare."""
    width, _, name = (speed or "").partition("x")
    return (_SPEEDS.index(name), int(width)) if name in _SPEEDS and width.isdecimal() else None
