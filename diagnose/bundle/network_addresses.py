"""Replaces IP addresses, in all notations that tools print. Loopback, netmasks and the like say nothing and stay."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address, IPv6Network

from diagnose.bundle.gated import Gated, Piece
from diagnose.bundle.pseudonyms import Pseudonyms

_IPV4 = Gated(
    r"\d(?<![\w.].)(?P<rest>\d{0,2}(?:\.\d{1,3}){3})(?![\dA-Za-z]|\.\d)|(?<=_)\d{1,3}(?:\.\d{1,3}){3}(?![\dA-Za-z]|\.\d)",
    probe=re.compile(r"\d\.\d{1,3}\.\d{1,3}\.\d"),
)
_IPV4_IN_NAME = Gated(r"(?<![A-Za-z0-9])ip-(?P<address>\d{1,3}(?:-\d{1,3}){3})(?![\d-])", "ip-")
_IPV6 = Gated(
    r"(?:(?<![\w:.])|(?<=[G-Zg-z_\])]:))(?P<address>(?=[0-9A-Fa-f:.]{2,45}(?![\w:]))"
    r"(?=[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:)[0-9A-Fa-f:]+(?::\d{1,3}(?:\.\d{1,3}){3})?)(?![\w:]|\.\d)",
    "::",
    probe=re.compile(r"[0-9a-f]:[0-9a-f]{1,4}:[0-9a-f]{1,4}:[0-9a-f]"),
)
_PROC_TCP = Gated(
    r"(?<![0-9A-F])(?P<local>[0-9A-F]{8}):(?P<port>[0-9A-F]{4}) (?P<remote>[0-9A-F]{8}):(?P<remote_port>[0-9A-F]{4}) "
    r"(?=[0-9A-F]{2} )",
    "00000000:",
)
_PROC_ROUTE = Gated(
    r"^(?P<before>\|?\S+\t)(?P<to>[0-9A-F]{8})\t(?P<gateway>[0-9A-F]{8})(?=\t)", probe=re.compile(r"\t[0-9a-f]{8}\t")
)

_IPV6_NETWORKS = tuple(map(IPv6Network, ("2000::/3", "fc00::/7", "fe80::/9", "ff00::/8", "64:ff9b::/96")))
_VERSION_WORD = re.compile(
    r"(?:\bversion|\bver|driver|firmware|\bfw|\brev(?:ision)?|\brelease|\bofed|\bbuild|\bbios|==|>=|<=|~=|\bv)"
    r"(?:[ _-]?(?:version|ver|rev))?[\"']?\s*[:=(]?\s*[\"']?v?$",
    re.IGNORECASE,
)
_PACKAGE = re.compile(
    r"(?:\b(?:nvidia-[\w-]+-cu1\d|lib[a-z][\w.+-]*(?::\w+)?|cu(?:da|dnn|blas|fft|rand|solver|sparse)[\w.+-]*"
    r"|(?:tensorrt|nccl|mlnx|ofed|openmpi|ucx|rdma)[\w.+-]*)\s+|[A-Za-z_][\w.+]*-(?:\d[\w.]*-)?v?|-\d[\w.]*-)$",
    re.IGNORECASE,
)
_COMPARED_ADDRESS = re.compile(r"(?:ip|addr|address|host|src|dst)[\"')]*\s*[=<>~]=\s*[\"']?$", re.IGNORECASE)
_LOOK_BACK = 32
_PRIVATE_FIRST = ("10.", "192.168.", "172.", "100.")


def _stays(address: IPv4Address) -> bool:
    """Addresses that name no machine: loopback, unspecified, netmasks, multicast, link-local, stand-ins."""
    number = int(address)
    return (
        address.is_loopback
        or address.is_link_local
        or number >> 28 >= 0xE  # multicast, class E, 255...
        or number >> 24 == 0
    )


def _is_version(match: re.Match[str]) -> bool:
    """Whether four numbers are the version of a program or package."""
    start = match.start()
    before = match.string[max(0, start - _LOOK_BACK) : start].rpartition("\n")[2]
    if not _ends_like_a_version(before):
        return False
    # Behind a name and a hyphen a private address is more likely than a version.
    return not (before.endswith("-") and match[0].startswith(_PRIVATE_FIRST))


@lru_cache(10_000)
def _ends_like_a_version(before: str) -> bool:
    if _VERSION_WORD.search(before):
        return not _COMPARED_ADDRESS.search(before)
    return _PACKAGE.search(before) is not None


class NetworkAddresses:
    """Replaces all of them in a text."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        self._pseudonyms = pseudonyms
        self._decimal = lru_cache(100_000)(self._find_decimal)

    def replace(self, piece: Piece) -> Piece:
        """The piece with stand-ins."""
        piece = _IPV6.replace(self._ipv6, piece)
        piece = _PROC_TCP.replace(self._proc_tcp, piece)
        piece = _PROC_ROUTE.replace(self._proc_route, piece)
        piece = _IPV4.replace(self._ipv4, piece)
        return _IPV4_IN_NAME.replace(self._ipv4_in_name, piece)

    def _ipv4(self, match: re.Match[str]) -> str:
        stand_in = self._decimal(match[0])
        return match[0] if stand_in is None or _is_version(match) else stand_in

    def _find_decimal(self, text: str) -> str | None:
        try:
            address = IPv4Address(text)
        except AddressValueError:  # 999.1.1.1, or zeros in front as in versions of a BIOS
            return None
        return None if _stays(address) else str(self._pseudonyms.ipv4(address))

    def _ipv4_in_name(self, match: re.Match[str]) -> str:
        stand_in = self._decimal(match["address"].replace("-", "."))
        return match[0] if stand_in is None else "ip-" + stand_in.replace(".", "-")

    def _ipv6(self, match: re.Match[str]) -> str:
        text = match["address"]
        try:
            address = IPv6Address(text)
        except AddressValueError:
            return match[0]
        if address.ipv4_mapped is None and not any(address in network for network in _IPV6_NETWORKS):
            return match[0]  # loopback, unspecified, and names of C++ such as c10d::add
        if address.ipv4_mapped is not None:
            if _stays(address.ipv4_mapped):
                return match[0]
            stand_in = IPv6Address(0xFFFF << 32 | int(self._pseudonyms.ipv4(address.ipv4_mapped)))
        elif address.is_multicast and int(address) & (1 << 64) - 1 < 1 << 16:
            return match[0]
        else:
            stand_in = self._pseudonyms.ipv6(address)
        return _as_written(text, stand_in)

    def _hexadecimal(self, text: str) -> str:
        """The kernel's way in /proc: the bytes of the address in the order of the machine."""
        address = IPv4Address(int.from_bytes(bytes.fromhex(text), "little"))
        if _stays(address):
            return text
        return int(self._pseudonyms.ipv4(address)).to_bytes(4, "little").hex().upper()

    def _proc_tcp(self, match: re.Match[str]) -> str:
        local, remote = self._hexadecimal(match["local"]), self._hexadecimal(match["remote"])
        return f"{local}:{match['port']} {remote}:{match['remote_port']} "

    def _proc_route(self, match: re.Match[str]) -> str:
        return f"{match['before']}{self._hexadecimal(match['to'])}\t{self._hexadecimal(match['gateway'])}"


def _as_written(original: str, address: IPv6Address) -> str:
    """In the notation of the original: all digits or shortened, with a dotted end or without, upper or lower case."""
    mapped = address.ipv4_mapped
    if "." in original and mapped is not None:
        head = original[: original.rindex(":") + 1]
        return head + str(mapped)
    text = str(address) if "::" in original or len(original) < 39 else address.exploded
    if mapped is not None and "::" in original:
        text = f"::ffff:{int(mapped) >> 16:x}:{int(mapped) & 0xFFFF:x}"
    return text.upper() if original.upper() == original and original.lower() != original else text
