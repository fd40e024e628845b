"""Network links that lose and regain carrier: systemd-networkd, bonding and the drivers' own lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from collectors.kernel_events import MAX_KEYS, Context, Count, Heard
from diagnose.facts import Fact, Subject
from diagnose.facts.kernel import LinkFlap

_NETWORKD = re.compile(r"^([\w.@-]{1,32}): ([Ll]ost|[Gg]ained) carrier\b")
_DRIVER = re.compile(
    r"\b[\w-]+ [0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] ([\w.@-]{1,32}): (?:NIC )?Link (?:is )?([Uu]p|[Dd]own)\b"
)
_BONDING = re.compile(r"link status definitely (up|down) for (?:interface )?([\w.@-]{1,32})")


@dataclass(slots=True)
class _Link:
    count: Count
    lost: int = 0
    gained: int = 0
    up: bool | None = None
    boot: tuple[str, float] | None = None


class CarrierTally:
    """Counts losses and returns of carrier for each interface."""

    def __init__(self) -> None:
        self._links: dict[tuple[str | None, str], _Link] = {}

    def take(self, heard: Heard) -> bool:
        """Count a change of a link."""
        text = heard.message
        if text.startswith("PM: suspend entry"):
            for link in self._links.values():
                link.up = None
            return True
        if "carrier" not in text and "Link " not in text and "link status" not in text:
            return False
        match = _NETWORKD.match(text)
        if match is not None:
            self._change(heard, match[1], match[2].lower() == "gained", certain=True)
            return True
        match = _DRIVER.search(text)
        if match is not None:
            self._change(heard, match[1], match[2].lower() == "up", certain=False)
            return True
        match = _BONDING.search(text)
        if match is not None:
            self._change(heard, match[2], match[1] == "up", certain=True)
        return match is not None

    def _change(self, heard: Heard, nic: str, up: bool, certain: bool) -> None:
        key = (heard.host, nic)
        link = self._links.get(key)
        if link is None:
            if len(self._links) >= MAX_KEYS:
                return
            link = self._links[key] = _Link(Count.of(heard))
        else:
            link.count.add(heard)
        if link.boot != heard.moment.boot:
            # Each boot opens the interface anew: that it was up before says nothing of a loss.
            link.boot, link.up = heard.moment.boot, None
        if up:
            link.gained += heard.repeats
        # Drivers print "down" when an interface without a cable is opened: lost is only what was up before.
        elif certain or link.up:
            link.lost += heard.repeats
        link.up = up

    def facts(self, context: Context) -> Iterator[Fact]:
        """One fact for each interface that lost carrier."""
        for (host, nic), link in self._links.items():
            if link.lost:
                yield LinkFlap(
                    subject=Subject(host=host, nic=nic),
                    sources=link.count.sources(context.path),
                    lost_count=link.lost,
                    gained_count=link.gained,
                )
