"""`systemctl show UNIT...`: state of services, and the limit on locked memory that they pass on.

Id=nvidia-fabricmanager.service
LoadState=loaded
ActiveState=failed
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from diagnose.facts import Fact
from diagnose.facts.tuning import ResourceLimit, ServiceState

_PROPERTY = re.compile(
    r"^(Id|Names|LoadState|ActiveState|SubState|UnitFileState|NRestarts|Result|LimitMEMLOCK|LimitMEMLOCKSoft)=(.*)$"
)
_ANY = re.compile(r"^[A-Z]\w+=")
_ONCE = ("Id", "ActiveState")
_STARTS_JOBS = {"docker", "containerd", "crio", "kubelet", "slurmd"}
"""Services whose limits hold for the jobs that they start."""


class SystemctlShow(BlockCollector):
    """Properties of units, which blank lines part."""

    kind: ClassVar[str] = "systemctl-show"
    literals: ClassVar[tuple[bytes, ...]] = (b"LoadState=", b"ActiveState=")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bsystemctl\b.*\sshow\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A property that every unit has."""
        return text.startswith(("LoadState=", "ActiveState="))

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Share of lines that are properties, where one of them is a unit's."""
        return share(lines, _ANY) if any(_PROPERTY.match(line) for line in lines) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """A fact for each unit, and one for its limit where it starts jobs."""
        return Parsed([fact for unit in _units(block.lines) for fact in _facts(block, unit)])


class _Unit(dict[str, str]):
    """Properties, and the line of the first one."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self.line = line


def _units(lines: Sequence[Line]) -> Iterator[_Unit]:
    unit: _Unit | None = None
    for line in lines:
        match = _PROPERTY.match(line.text)
        if not line.text.strip() or (match and unit is not None and match[1] in _ONCE and match[1] in unit):
            if unit is not None:
                yield unit
            unit = None
        if match is not None:
            unit = unit if unit is not None else _Unit(line)
            unit[match[1]] = match[2].strip()
    if unit is not None:
        yield unit


def _facts(block: Block, unit: _Unit) -> Iterator[Fact]:
    name = unit.get("Id", unit.get("Names", "").partition(" ")[0]).removesuffix(".service")
    if not name:
        return
    installed = unit.get("LoadState", "loaded") not in ("not-found", "masked", "bad-setting", "error")
    state, enabled, restarts = unit.get("ActiveState"), unit.get("UnitFileState"), unit.get("NRestarts", "")
    yield ServiceState(
        subject=block.subject(),
        sources=(block.source(unit.line),),
        name=name,
        installed=installed,
        active=state == "active" if state else None,
        state=state or None,
        enabled=enabled in ("enabled", "enabled-runtime", "static", "alias") if enabled else None,
        restarts=int(restarts) if restarts.isdecimal() and len(restarts) < 10 else None,
    )
    hard, soft = unit.get("LimitMEMLOCK", ""), unit.get("LimitMEMLOCKSoft", unit.get("LimitMEMLOCK", ""))
    if installed and state == "active" and name in _STARTS_JOBS and (soft == "infinity" or _amount(soft) is not None):
        yield ResourceLimit(
            subject=block.subject(),
            sources=(block.source(unit.line),),
            resource="locked-memory",
            of=name,
            unlimited=soft == "infinity",
            soft=_amount(soft),
            hard=_amount(hard),
        )


def _amount(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None
