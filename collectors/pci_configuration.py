"""Configuration space of a PCI Express device: ACS control and AER status.

Layout as in Linux, include/uapi/linux/pci_regs.h; names of error bits as lspci prints them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_EXTENDED = 0x100
"""Extended capabilities begin here; without privilege the kernel shows the first 64 bytes only."""
_HEADER_TYPE, _SECONDARY_BUS = 0x0E, 0x19
_AER, _ACS = 0x0001, 0x000D
_ACS_CONTROL = 6
_ACS_BITS: Mapping[str, int] = {
    "source_validation": 0,
    "request_redirect": 2,
    "completion_redirect": 3,
    "upstream_forwarding": 4,
    "direct_translated": 6,
}
_UNCORRECTABLE: Mapping[int, str] = {
    4: "DLP", 5: "SDES", 12: "TLP", 13: "FCP", 14: "CmpltTO", 15: "CmpltAbrt", 16: "UnxCmplt", 17: "RxOF",
    18: "MalfTLP", 19: "ECRC", 20: "UnsupReq", 21: "ACSViol",
}  # fmt: skip
_CORRECTABLE: Mapping[int, str] = {
    0: "RxErr", 6: "BadTLP", 7: "BadDLLP", 8: "Rollover", 12: "Timeout", 13: "AdvNonFatalErr",
}  # fmt: skip


def parse_hexadecimal(text: str | None) -> bytes:
    """Bytes of hexadecimal digits with blanks and line ends; as many as are whole and well-formed."""
    digits = "".join((text or "").split())
    try:
        return bytes.fromhex(digits[: len(digits) // 2 * 2])
    except ValueError:
        return b""


def responds(data: bytes) -> bool | None:
    """False where configuration space reads as ones; None where it was not read."""
    return set(data[:64]) != {0xFF} if len(data) >= 64 else None


def secondary_bus(data: bytes) -> int | None:
    """The bus beneath a bridge; None for other devices, and for bridges that have none yet."""
    is_bridge = len(data) > _SECONDARY_BUS and data[_HEADER_TYPE] & 0x7F == 1
    return data[_SECONDARY_BUS] or None if is_bridge else None


def acs(data: bytes) -> dict[str, bool]:
    """The switches of ACS control by field of pci-acs; empty where the device has no ACS or it was not readable."""
    base = _capability(data, _ACS)
    if base is None or base + 8 > len(data):
        return {}
    control = int.from_bytes(data[base + _ACS_CONTROL : base + _ACS_CONTROL + 2], "little")
    return {name: bool(control >> bit & 1) for name, bit in _ACS_BITS.items()}


def errors(data: bytes) -> dict[str, str]:
    """Names of error bits that are set and not masked, by field of pci-aer."""
    base = _capability(data, _AER)
    if base is None or base + 0x18 > len(data):
        return {}
    found = {}
    for field, offset, names in (("uncorrectable", 4, _UNCORRECTABLE), ("correctable", 0x10, _CORRECTABLE)):
        mask_at = offset + 4
        status = int.from_bytes(data[base + offset : base + offset + 4], "little")
        mask = int.from_bytes(data[base + mask_at : base + mask_at + 4], "little")
        if bits := [name for bit, name in names.items() if (status & ~mask) >> bit & 1]:
            found[field] = " ".join(bits)
    return found


def _capability(data: bytes, wanted: int) -> int | None:
    return next((at for identifier, at in _capabilities(data) if identifier == wanted), None)


def _capabilities(data: bytes) -> Iterator[tuple[int, int]]:
    """Identifiers and places of the extended capabilities. Each header names the next place: loops end."""
    at, seen = _EXTENDED, set[int]()
    while _EXTENDED <= at <= len(data) - 4 and at not in seen:
        seen.add(at)
        header = int.from_bytes(data[at : at + 4], "little")
        if header in (0, 0xFFFFFFFF):
            return
        yield header & 0xFFFF, at
        at = header >> 20
