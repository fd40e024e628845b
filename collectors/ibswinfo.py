"""`ibswinfo`: an InfiniBand switch's model, firmware, temperature, fans and power supplies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed, share
from diagnose.facts.network import FabricSwitch

_PAIR = re.compile(r"^\s*([A-Za-z#][\w #()/:.-]{1,20}?)\s*\|\s*(.*?)\s*$")
_TITLE = re.compile(r"^(?:SwitchIB|Quantum|SwitchX|Spectrum)\S*\b.*Mellanox|^part number\s+\|")
_BODY = re.compile(rf"{_PAIR.pattern}|^[=-]{{20,}}$")
_SUPPLY = re.compile(r"^PSU(\d{1,2}) status$")


class Ibswinfo(BlockCollector):
    """One switch."""

    kind: ClassVar[str] = "ibswinfo"
    literals: ClassVar[tuple[bytes, ...]] = (b"part number  ", b"Mellanox Technologies")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bibswinfo\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The title, or the first row below it."""
        return _TITLE.match(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Rows of the table with power supplies."""
        return share(lines, _BODY) if any(_SUPPLY.match(line.partition("|")[0].strip()) for line in lines) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Its state."""
        values: dict[str, str] = {}
        supplies: dict[str, bool] = {}
        supply: str | None = None
        for line in block.lines:
            pair = _PAIR.match(line.text)
            if pair is None:
                supply = None
                continue
            key, value = pair[1].strip(), pair[2]
            if (match := _SUPPLY.match(key)) is not None:
                supply = match[1]
                supplies[supply] = value == "OK"
            elif supply is not None and line.text.startswith(" "):
                if key in ("DC power", "fan status"):
                    supplies[supply] = supplies[supply] and value == "OK"
            else:
                supply = None
                values.setdefault(key.lower(), value)
        name = values.get("guid") or values.get("part number")
        if name is None:
            return Parsed(problems=[f"line {block.lines[0].number}: no switch was found"])
        temperature = re.fullmatch(r"-?\d{1,3}", values.get("temperature (c)", ""))
        return Parsed(
            [
                FabricSwitch(
                    subject=block.subject(),
                    sources=(block.source(),),
                    name=name,
                    product=values.get("product name") or values.get("part number"),
                    firmware_version=values.get("firmware version"),
                    temperature_celsius=float(temperature[0]) if temperature else None,
                    fans_ok=values["fan status"] == "OK" if "fan status" in values else None,
                    power_supplies=len(supplies) or None,
                    power_supplies_failed=sum(not good for good in supplies.values()) if supplies else None,
                )
            ]
        )
