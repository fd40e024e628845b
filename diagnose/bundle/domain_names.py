"""Full names of hosts, and e-mail addresses. Domains that everybody knows, such as those of vendors, stay."""

from __future__ import annotations

import re

from diagnose.bundle.boundaries import START
from diagnose.bundle.common_words import KNOWN_DOMAINS, SYSTEM_ACCOUNTS
from diagnose.bundle.gated import Gated, Piece
from diagnose.bundle.pseudonyms import STAND_IN, Pseudonyms

_TOP_LEVELS = (
    "com|org|net|edu|gov|mil|io|ai|co|dev|cloud|tech|local|lan|internal|intranet|corp|localdomain|priv|hpc|arpa|test"
    "|invalid"
)
_COUNTRIES = "de|fr|uk|jp|cn|kr|nl|ch|se|fi|dk|eu|au|ca|nz|br|ru|sg|tw|hk|cz|at|it|es|pl|us|il|ie|no|be|pt|gr|tr|mx|za"
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})"
_FULL_NAME = Gated(
    rf"(?<![.@A-Za-z0-9])(?P<name>(?:{_LABEL}\.){{1,8}}(?:{_TOP_LEVELS})|(?:{_LABEL}\.){{2,8}}(?:{_COUNTRIES}))"
    r"(?![A-Za-z0-9_(]|-\w|\.[A-Za-z0-9])",
    flags=re.IGNORECASE,
    probe=re.compile(rf"\.(?:{_TOP_LEVELS}|{_COUNTRIES})(?![a-z0-9_(])"),
)
_AT = Gated(
    rf"{START}(?P<user>[A-Za-z0-9_](?:[\w.+-]{{0,63}}))@(?P<host>(?:[A-Za-z0-9-]{{1,63}}\.){{1,8}}[A-Za-z]{{2,24}})(?![\w@])",
    "@",
)
_UNIT = re.compile(r"\.(?:service|socket|slice|timer|mount|target|scope|path|swap|device|automount)$")


def is_known_domain(name: str) -> bool:
    """Whether a name lies in a domain that tells nothing about who made the recording."""
    parts = name.lower().split(".")
    return ".".join(parts[-2:]) in KNOWN_DOMAINS


def find_domains(piece: Piece) -> set[str]:
    """Domains of the full names of hosts, down to two labels, which are then known wherever they stand."""
    found = set()
    for match in _FULL_NAME.matches(piece):
        labels = match["name"].split(".")
        if len(labels) > 2 and not STAND_IN.fullmatch(match["name"]):
            found.add(".".join(labels[-2:]))
    return found


class DomainNames:
    """Replaces all of them in a text."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        self._pseudonyms = pseudonyms

    def replace(self, piece: Piece) -> Piece:
        """The piece with stand-ins."""
        return _FULL_NAME.replace(self._full_name, _AT.replace(self._address, piece))

    def _address(self, match: re.Match[str]) -> str:
        user, host = match["user"], match["host"]
        if _UNIT.search(host):
            return match[0]
        known = STAND_IN.fullmatch(user) or user.lower() in SYSTEM_ACCOUNTS
        return f"{user if known else self._pseudonyms.user(user)}@{self._host(host)}"

    def _full_name(self, match: re.Match[str]) -> str:
        return self._host(match["name"])

    def _host(self, name: str) -> str:
        if STAND_IN.fullmatch(name) or is_known_domain(name) or name.lower().startswith("localhost."):
            return name
        return self._pseudonyms.host(name)
