"""Replaces in text all that names people and machines, and takes secrets out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from diagnose.bundle.boundaries import with_marks, without_marks
from diagnose.bundle.common_words import is_common, names_a_device
from diagnose.bundle.credentials import Credentials
from diagnose.bundle.domain_names import DomainNames
from diagnose.bundle.gated import Gated, Piece
from diagnose.bundle.hardware_addresses import HardwareAddresses
from diagnose.bundle.identifiers import FILE_ENDING, Identifiers, is_replaceable
from diagnose.bundle.name_places import PLACES, NameKind, expand_list
from diagnose.bundle.network_addresses import NetworkAddresses
from diagnose.bundle.pseudonyms import Pseudonyms
from diagnose.bundle.word_search import any_of

SLICE_BYTES = 1 << 12
"""Text is replaced in pieces of about this size: most of them lack what most patterns look for."""
_DOMAIN_BEHIND = r"(?P<domain>(?:\.[A-Za-z][A-Za-z0-9-]{0,62}){0,6})(?![A-Za-z0-9])"
_BRACKETED = Gated(r"(?<![A-Za-z0-9])[A-Za-z][\w.-]{0,60}\[\d[\d,-]{0,200}\]", probe=re.compile(r"\[\d+(?:[,-]\d+)+\]"))
_MOST_HOSTS_OF_A_LIST = 4096


class Redactor:
    """Knows what to replace; texts of different files may be given in any order."""

    def __init__(self, identifiers: Identifiers, pseudonyms: Pseudonyms) -> None:
        self._pseudonyms = pseudonyms
        self._hosts = identifiers.hosts
        self._domain_names = DomainNames(pseudonyms)
        self._hardware = HardwareAddresses(pseudonyms, identifiers.guids, identifiers.uuids)
        self._network = NetworkAddresses(pseudonyms)
        self._words: dict[str, str] = {}
        self._words.update({name.lower(): pseudonyms.user(name) for name in identifiers.users if not is_common(name)})
        self._words.update({name.lower(): pseudonyms.serial(name) for name in identifiers.serials})
        self._words.update({name.lower(): pseudonyms.domain(name) for name in identifiers.domains})
        hosts = {name for name in identifiers.hosts if not is_common(name)}
        self._word_search = any_of(self._words, re.IGNORECASE)
        self._host_search = any_of(
            (name.lower() for name in hosts if not names_a_device(name)), re.IGNORECASE, _DOMAIN_BEHIND
        )
        self._exact_search = any_of((name for name in hosts if names_a_device(name)), after=_DOMAIN_BEHIND)

    def pieces(self, texts: Iterable[str]) -> Iterator[str]:
        """A file without what names anybody; its pieces end at line ends."""
        credentials = Credentials()
        for text in texts:
            for piece in slices(text):
                marked = with_marks(piece)
                yield without_marks(self._names(credentials.replace(Piece(marked, marked.lower()))).text)

    def text(self, text: str) -> str:
        """A whole text, such as the name of a file."""
        return "".join(self.pieces([text]))

    def named(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """A manifest whose host and user are stand-ins even where they look like words."""
        found = dict(manifest)
        if isinstance(host := found.get("host"), str):
            found["host"] = self._stand_in(NameKind.HOST, host)
        privileges = found.get("privileges")
        if isinstance(privileges, dict) and isinstance(user := privileges.get("user"), str):
            found["privileges"] = {**privileges, "user": self._stand_in(NameKind.USER, user)}
        return found

    def _names(self, piece: Piece) -> Piece:
        piece = self._domain_names.replace(piece)
        for place in PLACES:
            piece = place.pattern.replace(partial(self._in_place, place.kind), piece)
        piece = _BRACKETED.replace(self._list, piece)
        for search in (self._host_search, self._exact_search):
            if search is not None:
                piece = Piece(search.sub(self._host, piece.text), piece.lower)
        if self._word_search is not None:
            piece = Piece(
                self._word_search.sub(lambda match: self._words[match["word"].lower()], piece.text), piece.lower
            )
        return self._network.replace(self._hardware.replace(piece))

    def _in_place(self, kind: NameKind, match: re.Match[str]) -> str:
        start, end = match.span("name")
        stand_in = self._stand_in(kind, match["name"])
        return match[0][: start - match.start()] + stand_in + match[0][end - match.start() :]

    def _stand_in(self, kind: NameKind, name: str) -> str:
        if kind is NameKind.HOST and ("," in name or "[" in name or ":" in name):
            return ",".join(self._item(item) for item in name.split(",")) if "[" not in name else self._expanded(name)
        core = name.rstrip(".")
        if not is_replaceable(kind, core):
            return name
        if kind is NameKind.HOST:
            return self._pseudonyms.host(core) + name[len(core) :]
        if kind is NameKind.DOMAIN:
            return self._pseudonyms.domain(core) + name[len(core) :]
        return self._pseudonyms.user(name) if kind is NameKind.USER else self._pseudonyms.serial(name)

    def _item(self, text: str) -> str:
        host, colon, slots = text.partition(":")
        return self._stand_in(NameKind.HOST, host) + colon + slots

    def _expanded(self, text: str) -> str:
        """The hosts of `gpu[01-04]` one by one, since their stand-ins have no numbers in common."""
        return ",".join(self._stand_in(NameKind.HOST, host) for host in expand_list(text))

    def _list(self, match: re.Match[str]) -> str:
        hosts = list(expand_list(match[0]))
        if len(hosts) > _MOST_HOSTS_OF_A_LIST or not any(host in self._hosts for host in hosts):
            return match[0]
        return self._expanded(match[0])

    def _host(self, match: re.Match[str]) -> str:
        word, domain = match["word"], match["domain"]
        before = match.string[max(0, match.start() - 12) : match.start()]
        if before.endswith("system/node/") or (before.endswith("/") and "/devices/" in before):
            return match[0]  # /sys/devices/system/node/node0
        if domain and not FILE_ENDING.search(domain):
            return self._pseudonyms.host(word + domain)
        return self._pseudonyms.host(word) + domain


def slices(text: str) -> Iterator[str]:
    """The text in pieces that end at line ends, where lines are not longer than a piece."""
    at = 0
    while at < len(text):
        end = text.rfind("\n", at, at + SLICE_BYTES) + 1
        if end <= at:
            end = text.find("\n", at + SLICE_BYTES) + 1 or len(text)
        if len(text) - end < SLICE_BYTES // 4:
            end = len(text)
        yield text[at:end]
        at = end
