"""Replaces MAC addresses, GUIDs, UUIDs and other rows of hexadecimal digits that name one piece of hardware.

PCI addresses, times, register values and hexadecimal dumps have other shapes and stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from diagnose.bundle.boundaries import END, HEX_START, START
from diagnose.bundle.gated import Gated, Piece
from diagnose.bundle.pseudonyms import MARK, Pseudonyms

_SEPARATED = re.compile(r"[0-9A-Fa-f]{2}([:.-])[0-9A-Fa-f]{2,4}\1[0-9A-Fa-f]{2}")
"""What all of them have that are written with separators."""
_UUID = Gated(
    rf"{HEX_START}[0-9A-Fa-f]{{7}}(?:-[0-9A-Fa-f]{{4}}){{3}}-[0-9A-Fa-f]{{12}}{END}",
    probe=re.compile(r"[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-"),
)
_PLAIN_UUID = Gated(
    rf"[0-9a-f](?<![A-Za-z0-9].)[0-9a-f]{{31}}{END}|[0-9A-F](?<![A-Za-z0-9].)[0-9A-F]{{31}}{END}",
    probe=re.compile("[0-9a-f]{32}"),
)
_SHORT_UUID = Gated(
    rf"(?P<prefix>GPU-|MIG-)(?P<digits>[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{0,3}}){END}(?!-?[0-9a-fA-F])", "gpu-", "mig-"
)
_PAIRS = Gated(
    rf"{HEX_START}(?<!(?<![0-9A-Za-z])[0-9A-Fa-f]{{2}}[:-].)[0-9A-Fa-f](?P<separator>[:-])[0-9A-Fa-f]{{2}}"
    rf"(?:(?P=separator)[0-9A-Fa-f]{{2}}){{4,}}{END}(?![:-][0-9A-Fa-f])",
    probe=re.compile(r"[0-9a-f]{2}([:-])[0-9A-Fa-f]{2}\1[0-9A-Fa-f]{2}\1[0-9A-Fa-f]{2}\1"),
)
_DOTTED_MAC = Gated(
    rf"{HEX_START}(?<!\..)[0-9A-Fa-f]{{3}}(?:\.[0-9A-Fa-f]{{4}}){{2}}{END}(?!\.)",
    probe=re.compile(r"[0-9a-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}"),
)
_NAMED_BY_MAC = Gated(r"(?<![A-Za-z0-9])(?:enx|wlx|wwx)(?P<digits>[0-9a-f]{12})(?![0-9a-f])", "enx", "wlx", "wwx")
_MAC_FIELD = Gated(
    rf"mac(?:[ _-]?addr(?:ess)?)?\\?[\"']?\s*[:=]\s*\\?[\"']?(?P<digits>[0-9a-f]{{12}}){END}",
    "mac",
    flags=re.IGNORECASE,
)
_QUADS = Gated(
    rf"{HEX_START}(?<!(?<![0-9A-Za-z])[0-9A-Fa-f]{{4}}:.)[0-9A-Fa-f]{{3}}(?::[0-9A-Fa-f]{{4}}){{3}}{END}(?!:)",
    probe=re.compile(r"[0-9a-f]{4}:[0-9A-Fa-f]{4}:[0-9A-Fa-f]{4}:"),
)
_PCI_VENDORS = frozenset(
    ("10de", "15b3", "8086", "1002", "1022", "1000", "10b5", "14e4", "1af4", "1d0f", "11f8", "144d")
)
_GUID_FIELD = Gated(
    rf"guid[\w \"')]{{0,40}}?\\?[\"']?\s*[:=.( ]+\s*\\?[\"']?(?:0x)?(?P<digits>[0-9a-f]{{12,16}}){END}",
    "guid",
    flags=re.IGNORECASE,
)
# ibnetdiscover puts H, S or R in front; the middle of an EUI-64 made of a MAC address is fixed.
_NAMED_GUID = Gated(rf"{START}[HSR]-(?P<digits>[0-9a-f]{{16}}){END}", "h-", "s-", "r-")
_BUILT_GUID = Gated(
    rf"(?:(?<![A-Za-z0-9])|(?<=0x))(?P<digits>[0-9a-f]{{6}}(?:0300|03ff|fffe)[0-9a-f]{{6}}){END}",
    "0300",
    "03ff",
    "fffe",
)
_GUID_PLACES = (_GUID_FIELD, _NAMED_GUID, _BUILT_GUID)
_HEX = Gated(rf"0x(?P<prefixed>[0-9a-fA-F]{{12,16}}){END}|{HEX_START}[0-9a-fA-F]{{11,15}}{END}")


def find_guids(piece: Piece) -> set[int]:
    """GUIDs that the text calls so, which are then known wherever they stand."""
    found = {int(match["digits"], 16) for place in _GUID_PLACES for match in place.matches(piece)}
    found |= {int(match[0].replace(":", ""), 16) for match in _QUADS.matches(piece) if _is_guid(match[0])}
    return {number for number in found if number >> 32}


def find_uuids(piece: Piece) -> set[str]:
    """UUIDs in lower case: of a short one it is known then which it means."""
    return {match[0].lower() for match in _UUID.matches(piece)}


def _is_guid(quads: str) -> bool:
    parts = quads.lower().split(":")
    return not (parts[0] in _PCI_VENDORS or parts[2] in _PCI_VENDORS) and any(part.strip("0") for part in parts)


class HardwareAddresses:
    """Replaces all of them in a text."""

    def __init__(self, pseudonyms: Pseudonyms, guids: Collection[int], uuids: Collection[str]) -> None:
        self._pseudonyms = pseudonyms
        self._guids = frozenset(guids)
        self._uuids = sorted(uuids)

    def replace(self, piece: Piece) -> Piece:
        """The piece with stand-ins."""
        if _SEPARATED.search(piece.text):
            piece = self._separated(piece)
        piece = _PLAIN_UUID.replace(lambda match: _shaped(match[0], self._pseudonyms.uuid(match[0])), piece)
        piece = _SHORT_UUID.replace(self._short_uuid, piece)
        for place in (_NAMED_BY_MAC, _MAC_FIELD):
            piece = place.replace(lambda match: _with_digits(match, self._mac(match["digits"])), piece)
        for place in _GUID_PLACES:
            piece = place.replace(self._guid_place, piece)
        return _HEX.replace(self._known, piece) if self._guids else piece

    def _separated(self, piece: Piece) -> Piece:
        piece = _UUID.replace(lambda match: _shaped(match[0], self._pseudonyms.uuid(_plain(match[0]))), piece)
        piece = _PAIRS.replace(self._pairs, piece)
        piece = _DOTTED_MAC.replace(self._dotted_mac, piece)
        return _QUADS.replace(self._quads, piece)

    def _dotted_mac(self, match: re.Match[str]) -> str:
        """One of digits alone is more likely a version or an amount."""
        return match[0] if _plain(match[0]).isdigit() else _shaped(match[0], self._mac(_plain(match[0])))

    def _mac(self, digits: str) -> str:
        return self._pseudonyms.mac(digits)

    def _guid(self, digits: str) -> str:
        """Fewer digits than 16 are those of a number without its zeros in front."""
        return self._pseudonyms.guid(digits.lower().rjust(16, "0"))

    def _short_uuid(self, match: re.Match[str]) -> str:
        """The beginning of a UUID that occurs in full elsewhere becomes the beginning of its stand-in."""
        digits = match["digits"]
        if digits.startswith(MARK):
            return match[0]
        whole = next((uuid for uuid in self._uuids if uuid.startswith(digits)), digits)
        stand_in = self._pseudonyms.uuid(whole.replace("-", "").ljust(32, "0"))
        return match["prefix"] + _shaped(digits, stand_in)

    def _pairs(self, match: re.Match[str]) -> str:
        digits = match[0].replace(match["separator"], "")
        if len(digits) == 12:
            found = self._mac(digits)
        elif len(digits) == 16:
            found = self._guid(digits)
        elif len(digits) == 40:
            # Hardware address of IP over InfiniBand: flags and queue pair, subnet prefix, GUID.
            found = digits[:24] + self._guid(digits[24:])
        elif not digits.strip("0") or not digits.lower().strip("f"):
            found = digits
        else:
            found = digits if digits.startswith(MARK) else MARK + self._pseudonyms.digits("pairs", digits[4:])
        return _shaped(match[0], found)

    def _quads(self, match: re.Match[str]) -> str:
        if not _is_guid(match[0]) and int(match[0].replace(":", ""), 16) not in self._guids:
            return match[0]
        return _shaped(match[0], self._guid(match[0].replace(":", "")))

    def _guid_place(self, match: re.Match[str]) -> str:
        digits = match["digits"]
        return _with_digits(match, self._guid(digits)) if int(digits, 16) >> 32 else match[0]

    def _known(self, match: re.Match[str]) -> str:
        digits = match["prefixed"] or match[0]
        if int(digits, 16) not in self._guids:
            return match[0]
        return match[0].removesuffix(digits) + _cased(digits, self._guid(digits))


def _plain(text: str) -> str:
    return text.replace("-", "").replace(":", "").replace(".", "")


def _with_digits(match: re.Match[str], digits: str) -> str:
    """The match with other digits at its end."""
    return match[0].removesuffix(match["digits"]) + _cased(match["digits"], digits)


def _cased(original: str, digits: str) -> str:
    return digits.upper() if original.upper() == original and original.lower() != original else digits


def _shaped(original: str, digits: str) -> str:
    """The digits with the separators and the case of the original."""
    supply = iter(_cased(original, digits))
    return "".join(next(supply) if letter.isalnum() else letter for letter in original)
