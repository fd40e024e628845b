"""`dmidecode`: which machine it is, by its firmware."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed
from diagnose.facts.host import HostModel

_TITLE = re.compile(r"^# dmidecode \d|^SMBIOS \d[\d.]* present\.")
_HANDLE = re.compile(r"^Handle 0x[0-9A-F]{4}, DMI type (\d{1,3}), ")
_SYSTEM = "1"
_PAIR = re.compile(r"^\s+(Manufacturer|Product Name): (.*?)\s*$")
_NOTHING = ("not specified", "to be filled by o.e.m.", "default string", "system product name", "")


class Dmidecode(BlockCollector):
    """The machine's maker and model; nothing else of the listing is used."""

    kind: ClassVar[str] = "dmidecode"
    literals: ClassVar[tuple[bytes, ...]] = (b"# dmidecode ", b"SMBIOS ", b", DMI type ")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bdmidecode\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The title, or the head of an entry."""
        return _TITLE.match(text) is not None or _HANDLE.match(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """The entry of the system without its head (`-t system` with the head cut off)."""
        return 0.6 if any(line.strip() == "System Information" for line in lines[:5]) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact, from the entry of the system as a whole."""
        values: dict[str, str] = {}
        within, number = True, block.lines[0].number
        for line in block.lines:
            if (handle := _HANDLE.match(line.text)) is not None:
                within = handle[1] == _SYSTEM
            elif within and (pair := _PAIR.match(line.text)) is not None and pair[1] not in values:
                number = line.number if not values else number
                values[pair[1]] = pair[2]
        known = {key: value for key, value in values.items() if value.lower() not in _NOTHING}
        if not known:
            return Parsed(problems=[f"line {number}: the firmware does not name the machine"])
        return Parsed(
            [
                HostModel(
                    subject=block.subject(),
                    sources=(block.source(number),),
                    manufacturer=known.get("Manufacturer"),
                    product_name=known.get("Product Name"),
                )
            ]
        )
