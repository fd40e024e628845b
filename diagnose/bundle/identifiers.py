"""Gathers, in a first pass over all files, what names people and machines, so that it is known wherever it stands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address
from pathlib import PurePosixPath

from diagnose.bundle.boundaries import with_marks
from diagnose.bundle.columns import Columns
from diagnose.bundle.common_words import NO_HOSTS, SYSTEM_ACCOUNTS, names_a_device
from diagnose.bundle.domain_names import find_domains, is_known_domain
from diagnose.bundle.gated import Piece
from diagnose.bundle.hardware_addresses import find_guids, find_uuids
from diagnose.bundle.name_places import PLACES, NameKind, expand_list, hosts_file_names
from diagnose.bundle.pseudonyms import STAND_IN

_HEXADECIMAL = re.compile(r"(?:0x)?[0-9a-f]+", re.IGNORECASE)
_LONGEST_KEPT = 1000
_NO_SERIAL = re.compile(r"0+|1234567890?|0?123456789|n/?a|none|unknown|default|serial\w*", re.IGNORECASE)
FILE_ENDING = re.compile(
    r"\.(?:log|txt|json|jsonl|csv|tsv|xml|ya?ml|out|err|gz|zst|xz|bz2|tar|tgz|zip|md|py|sh|c|h|cc|cpp|cu|so|ko|conf|cfg"
    r"|ini|html?|service|socket|pt|bin|safetensors|ttar|prom|d|o|a|pid|sock|rules|db|old|bak|part|\d+)$",
    re.IGNORECASE,
)


@lru_cache(100_000)
def is_replaceable(kind: NameKind, name: str) -> bool:
    """Whether a name that stands where names of this kind stand is one, and one that tells who or which machine."""
    if STAND_IN.fullmatch(name) or not name.strip("._-"):
        return False
    if kind is NameKind.SERIAL:
        return any(letter.isdigit() for letter in name) and not _NO_SERIAL.fullmatch(name)
    if kind is NameKind.USER:
        return len(name) > 1 and name.lower() not in SYSTEM_ACCOUNTS and not name.isdigit()
    if kind is NameKind.DOMAIN:
        return not is_known_domain(name) and name.lower() not in NO_HOSTS
    if name.lower() in NO_HOSTS or name.lower().startswith("localhost.") or is_known_domain(name):
        return False
    if name.isdigit() or (_HEXADECIMAL.fullmatch(name) and len(name) >= 8) or FILE_ENDING.search(name):
        return False
    return len(name) > 1 and not _is_address(name)


def _is_address(text: str) -> bool:
    try:
        IPv4Address(text)
    except AddressValueError:
        return False
    return True


@dataclass(slots=True)
class Identifiers:
    """What was found. Host names are short ones; their domains stand for themselves."""

    hosts: set[str] = field(default_factory=set)
    domains: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    serials: set[str] = field(default_factory=set)
    guids: set[int] = field(default_factory=set)
    uuids: set[str] = field(default_factory=set)

    def add(self, kind: NameKind, name: str) -> None:
        """Take a name, if it is one."""
        name = name.strip(".")
        if not is_replaceable(kind, name):
            return
        if kind is NameKind.HOST:
            short, _, domain = name.partition(".")
            if is_replaceable(kind, short):
                self.hosts.add(short)
            self.add(NameKind.DOMAIN, domain)
        elif kind is NameKind.DOMAIN:
            if "." in name:
                self.domains.add(name)
        elif kind is NameKind.USER:
            self.users.add(name)
        else:
            self.serials.add(name)


class Learner:
    """Reads one file, piece by piece."""

    def __init__(self, identifiers: Identifiers, path: str) -> None:
        self._identifiers = identifiers
        self._columns = Columns()
        self._last_line = ""
        self._hosts_file = PurePosixPath(path).name in ("hosts", "etc-hosts", "hosts.txt")

    def read(self, text: str) -> None:
        """Take note of the names in a piece that ends at a line end."""
        # The name of a file and its content stand in two lines, which two pieces may share.
        whole = with_marks(self._last_line + text)
        self._last_line = text[text.rfind("\n", 0, -1) + 1 :][-_LONGEST_KEPT:]
        piece = Piece(whole, whole.lower())
        found = self._identifiers
        for place in PLACES:
            for match in place.pattern.matches(piece):
                self._add(place.kind, match["name"])
        for kind, name in self._columns.names(text):
            self._add(kind, name)
        if self._hosts_file or "etc/hosts" in piece.lower:
            for name in hosts_file_names(text.splitlines()):
                found.add(NameKind.HOST, name)
        for name in find_domains(piece):
            found.add(NameKind.DOMAIN, name)
        found.guids |= find_guids(piece)
        found.uuids |= find_uuids(piece)

    def _add(self, kind: NameKind, name: str) -> None:
        if kind is not NameKind.HOST:
            self._identifiers.add(kind, name)
            return
        for host in expand_list(name):
            # `node: mlx5_0`: what names a device names a host only where nothing else can be meant.
            if not (names_a_device(host) and "_" in host):
                self._identifiers.add(kind, host)
