"""Stand-ins for names: the same name always gets the same one, and nobody without the key can tell which name it was.

Each is recognisable as a stand-in and is never replaced again, so that redacting twice changes nothing, and each keeps
the shape that parsers need. All are cut from HMAC-SHA256 of the name under the key.
"""

from __future__ import annotations

import hmac
import re
import secrets
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from diagnose.bundle.errors import BundleError

KEY_BYTES = 32
_LEAST_KEY_BYTES = 16
STAND_IN = re.compile(
    r"(?:host|user)-(?=[0-9a-f]{8}\b)(?=[a-f]*\d)[0-9a-f]{8}|(?:host|user)-[g-v]{8}|SN-[0-9A-F]{12}|REDACTED"
    r"|(?:(?:host|user)-[0-9a-v]{8}\.)?domain-[0-9a-f]{8}\.example",
    re.IGNORECASE,
)
"""A name that is a stand-in already."""
MARK = "d1a9"
"""Begins every UUID, GUID and IPv6 interface identifier that is a stand-in."""
_MAC_MARK = "02d1"
_IPV6_NETWORK = 0x2001_0DB8
_CLASS_E = 240


def random_key() -> bytes:
    """A key that nobody knows, for one bundle."""
    return secrets.token_bytes(KEY_BYTES)


def read_key(path: Path) -> bytes:
    """The key of a file: all its bytes. Raises BundleError where they are too few to be secret, and OSError."""
    key = path.read_bytes().strip()
    if len(key) < _LEAST_KEY_BYTES:
        raise BundleError(
            f"{path} holds {len(key)} bytes, too few for a key; make one with: head -c 32 /dev/urandom > {path}"
        )
    return key


class Pseudonyms:
    """Stand-ins under one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.short_name = lru_cache(100_000)(self._short_name)
        self.ipv4 = lru_cache(100_000)(self._ipv4)

    def _digits(self, kind: str, name: str, count: int) -> str:
        return hmac.digest(self._key, f"{kind}\0{name}".encode("utf-8", "surrogateescape"), "sha256").hex()[:count]

    def _short_name(self, kind: str, name: str) -> str:
        """`host-...` or `user-...`. A name with a digit gets one with a digit, because that is how headings of hosts
        are told from other words."""
        digits = self._digits(kind, name.lower(), 8)
        if kind == "host" and not any(letter.isdigit() for letter in name):
            return f"{kind}-" + "".join(chr(ord("g") + int(digit, 16)) for digit in digits)
        if not any(letter.isdigit() for letter in digits):
            digits = f"{ord(digits[0]) % 10}{digits[1:]}"
        return f"{kind}-{digits}"

    def host(self, name: str) -> str:
        """A host's short or full name; the short part of a full name gets what it gets alone."""
        short, dot, domain = name.partition(".")
        return self.short_name("host", short) + (f".{self.domain(domain)}" if dot and domain else "")

    def domain(self, name: str) -> str:
        """A domain, under the top-level domain that is reserved for examples."""
        return f"domain-{self._digits('domain', name.lower(), 8)}.example"

    def user(self, name: str) -> str:
        """An account's name."""
        return self.short_name("user", name)

    def serial(self, text: str) -> str:
        """A serial number, asset tag or the like."""
        return f"SN-{self._digits('serial', text.upper(), 12).upper()}"

    def _ipv4(self, address: IPv4Address) -> IPv4Address:
        """An address of class E, which no network uses. Addresses of one /24 stay in one /24, and 0 and 255 at the end
        stay what they are."""
        number = int(address)
        if number >> 28 == 0xF:
            return address
        network = int(self._digits("ipv4-network", str(number >> 8), 8), 16)
        first = _CLASS_E + network % 15
        return IPv4Address(first << 24 | (network >> 4 & 0xFFFF) << 8 | self._last_octet(number >> 8, number & 0xFF))

    def _last_octet(self, network: int, octet: int) -> int:
        if octet in (0, 255):
            return octet
        order = sorted(range(1, 255), key=lambda value: self._digits("ipv4-host", f"{network}/{value}", 16))
        return order[octet - 1]

    def ipv6(self, address: IPv6Address) -> IPv6Address:
        """An address of the range for documentation; link-local and multicast ones stay what they are in front."""
        number = int(address)
        network, interface = number >> 64, number & (1 << 64) - 1
        marked = int(self.guid(f"{interface:016x}"), 16)
        if network >> 54 == 0xFE80 >> 6 or network >> 56 == 0xFF:
            return IPv6Address(network << 64 | marked)
        if network >> 32 == _IPV6_NETWORK and interface >> 48 == int(MARK, 16):
            return address
        subnet = int(self._digits("ipv6-network", f"{network:016x}", 8), 16)
        return IPv6Address((_IPV6_NETWORK << 32 | subnet) << 64 | marked)

    def guid(self, digits: str) -> str:
        """16 hexadecimal digits of a port, node or system GUID, or of an interface identifier."""
        lower = digits.lower()
        if lower.startswith(MARK) or not lower.strip("0") or not lower.strip("f"):
            return digits
        return MARK + self._digits("guid", lower, 12)

    def mac(self, digits: str) -> str:
        """12 hexadecimal digits of a locally administered address; broadcast and nothing stay."""
        lower = digits.lower()
        if lower.startswith(_MAC_MARK) or not lower.strip("0") or not lower.strip("f"):
            return digits
        return _MAC_MARK + self._digits("mac", lower, 8)

    def uuid(self, digits: str) -> str:
        """32 hexadecimal digits."""
        lower = digits.lower()
        if lower.startswith(MARK) or not lower.strip("0") or not lower.strip("f"):
            return digits
        found = self._digits("uuid", lower, 28)
        return f"{MARK}{found[:8]}4{found[9:12]}8{found[13:]}"

    def digits(self, kind: str, text: str) -> str:
        """As many hexadecimal digits as the text has, for hardware addresses of unusual lengths."""
        found = self._digits(kind, text.lower(), len(text))
        return found if len(found) == len(text) else (found * (len(text) // len(found) + 1))[: len(text)]
