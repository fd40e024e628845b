"""`ip link` and `ip -s link`, as text and as JSON (`-j`): state, MTU and counters of interfaces."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.json_text import items, mapping, whole
from diagnose.facts import Fact, Subject
from diagnose.facts.network import NetworkCounters, NetworkInterface

_HEAD = re.compile(r"^\d{1,5}: ([\w.-]{1,40})(?:@[\w.-]+)?: <([A-Z0-9_,-]*)> mtu (\d{2,6})\b(.*)$")
_STATE = re.compile(r"\bstate ([A-Z]+)\b")
_NUMBERS = re.compile(r"^\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+\d+\s+\d+\s*$")
_COUNTERS = {
    side: {name: f"{word}_{name}" for name in ("bytes", "packets", "errors", "dropped")}
    for side, word in (("rx", "receive"), ("tx", "transmit"))
}


class IpLink(BlockCollector):
    """Interfaces as text."""

    kind: ClassVar[str] = "ip-link"
    literals: ClassVar[tuple[bytes, ...]] = (b"> mtu ",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bip\s+(?:-(?!j)\S+\s+)*(?:l|li|link|a|addr|address)\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """An interface."""
        return _HEAD.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Link and counters of each interface but the loopback."""
        parsed = Parsed()
        nic: str | None = None
        side: str | None = None
        counters: dict[str, Any] = {}
        for line in block.lines:
            if (head := _HEAD.match(line.text)) is not None:
                nic, counters = head[1], {}
                state = _STATE.search(head[4])
                if "LOOPBACK" not in head[2]:
                    parsed.facts.append(
                        NetworkInterface(
                            subject=Subject(host=block.host, nic=nic),
                            sources=(block.source(line),),
                            mtu_bytes=int(head[3]),
                            operational_state=state[1].lower() if state else None,
                            link_detected="LOWER_UP" in head[2].split(",") if "UP" in head[2].split(",") else None,
                        )
                    )
            elif line.text.strip().startswith(("RX:", "TX:")):
                side = line.text.strip()[:2].lower()
            elif side is not None and nic is not None and (numbers := _NUMBERS.match(line.text)) is not None:
                counters.update(zip(_COUNTERS[side].values(), map(_bounded, numbers.groups()), strict=True))
                if side == "tx" and nic != "lo":
                    parsed.facts.append(
                        NetworkCounters(
                            subject=Subject(host=block.host, nic=nic), sources=(block.source(line),), **counters
                        )
                    )
                side = None
        return parsed


def _bounded(text: str) -> int | None:
    return int(text) if len(text) < 21 else None


class IpLinkJson(BlockCollector):
    """Interfaces as JSON."""

    kind: ClassVar[str] = "ip-link-json"
    literals: ClassVar[tuple[bytes, ...]] = (b'[{"ifindex":',)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bip\s+(?:-\S+\s+)*-j\S*\s+(?:-\S+\s+)*(?:link|addr)")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The whole on one line."""
        return text.lstrip().startswith('[{"ifindex":')

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Laid out over many lines (`-p`)."""
        text = "\n".join(lines)
        return 0.9 if text.startswith("[") and '"ifindex":' in text and '"operstate"' in text else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Link and counters of each interface but the loopback."""
        text = "\n".join(block.texts())
        try:
            content, _ = json.JSONDecoder().raw_decode(text, max(text.find("["), 0))
        except (ValueError, RecursionError):
            return Parsed(problems=[f"line {block.lines[0].number}: the JSON is damaged or incomplete"])
        parsed = Parsed()
        for entry in items(content, dict):
            parsed.facts += _entry(entry, block)
        return parsed


def _entry(entry: dict[str, Any], block: Block) -> list[Fact]:
    name, flags = entry.get("ifname"), [*items(entry.get("flags"), str)]
    if not isinstance(name, str) or "LOOPBACK" in flags:
        return []
    subject, sources = Subject(host=block.host, nic=name), (block.source(),)
    facts: list[Fact] = [
        NetworkInterface(
            subject=subject,
            sources=sources,
            mtu_bytes=whole(entry.get("mtu")),
            operational_state=str(entry.get("operstate", "")).lower() or None,
            link_detected="LOWER_UP" in flags if "UP" in flags else None,
            link_type=str(entry.get("link_type", "")) or None,
        )
    ]
    counters: dict[str, Any] = {}
    statistics = mapping(entry.get("stats64") or entry.get("stats"))
    for side, names in _COUNTERS.items():
        for key, field in names.items():
            if (value := whole(mapping(statistics.get(side)).get(key))) is not None:
                counters[field] = value
    if counters:
        facts.append(NetworkCounters(subject=subject, sources=sources, **counters))
    return facts
