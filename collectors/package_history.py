"""History of package managers: apt's history.log, dnf's and yum's logs, as far as GPU driver packages go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from diagnose.facts import Fact
from diagnose.facts.host import PackageUpdate

_START = re.compile(r"^Start-Date: \d{4}-\d\d-\d\d")
_YUM = re.compile(
    r"^(?:\w{3} \d\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+)\s+(?:SUBDEBUG |DEBUG |INFO )?"
    r"(?:Installed|Updated|Upgrade|Upgraded|Install):\s+(\S+)"
)
_DRIVER_PACKAGE = re.compile(
    r"\b(?:(?:lib)?nvidia-(?:driver|dkms|kernel|compute|utils|firmware|headless|gl|common|open|fabricmanager)|cuda-drivers|"
    r"kmod-nvidia|linux-modules-nvidia|nvidia-(?:kmod|modprobe|persistenced)|libnvidia|akmod-nvidia|libxnvctrl|nvidia-fabric-manager)"
)
_AUTOMATIC = re.compile(r"unattended-upgrade|apt\.systemd\.daily|packagekit|dnf-automatic|yum-cron", re.IGNORECASE)
_VERSION = re.compile(r"(?<![\w.])(\d{3}\.\d{2,3}(?:\.\d{2})?)(?![\w.]*\d)")


class PackageHistory(BlockCollector):
    """Changes of GPU driver packages."""

    kind: ClassVar[str] = "package-history"
    literals: ClassVar[tuple[bytes, ...]] = (
        b"Start-Date: ",
        b"Installed: ",
        b"Updated: ",
        b"Upgraded: ",
        b"Upgrade: ",
        b"Install: ",
    )
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"/var/log/(?:apt/history|dnf|yum)|dnf history")
    reopens: ClassVar[bool] = False
    interleaved: ClassVar[bool] = True

    @classmethod
    def opens(cls, text: str) -> bool:
        """The first line of a record."""
        return _START.match(text) is not None or _YUM.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for each record that touches a driver package."""
        facts: list[Fact] = [*_apt_facts(block), *_yum_facts(block)]
        return Parsed(facts)


def _apt_records(block: Block) -> Iterator[list[Line]]:
    record: list[Line] = []
    for line in block.lines:
        if _START.match(line.text) and record:
            yield record
            record = []
        record.append(line)
    if record:
        yield record


def _apt_facts(block: Block) -> Iterator[Fact]:
    for record in _apt_records(block):
        if _START.match(record[0].text) is None:
            continue
        command = next((line.text.partition(": ")[2] for line in record if line.text.startswith("Commandline: ")), None)
        touched = [line for line in record if _DRIVER_PACKAGE.search(line.text) and not line.text.startswith("Command")]
        if touched:
            yield PackageUpdate(
                subject=block.subject(),
                sources=(block.source(record[0]), block.source(touched[0])),
                unattended=_AUTOMATIC.search(command) is not None if command else None,
                to_version=_new_version(" ".join(line.text for line in record)),
                command=command,
            )


def _yum_facts(block: Block) -> Iterator[Fact]:
    packages = [(line, match[1]) for line in block.lines if (match := _YUM.match(line.text))]
    drivers = [(line, name) for line, name in packages if _DRIVER_PACKAGE.search(name)]
    if drivers:
        yield PackageUpdate(
            subject=block.subject(),
            sources=(block.source(drivers[0][0]), block.source(drivers[-1][0])),
            to_version=_new_version(" ".join(name.replace("-", " ") for _, name in drivers)),
        )


def _new_version(text: str) -> str | None:
    """The highest driver version that a record names: the one that was installed, unless it was a downgrade."""
    versions = _VERSION.findall(text.replace(":", " ").replace("-", " "))
    return max(versions, key=lambda version: [int(part) for part in version.split(".")], default=None)
