"""Amounts of memory as command-line tools print them."""

from __future__ import annotations

import re

_UNITS = "KMGTPE"
_AMOUNT = re.compile(r"^(\d{1,20}(?:\.\d{1,6})?)\s*(?:([KMGTPE])i?)?(B?)$", re.IGNORECASE)


def parse_bytes(text: str, default_unit: int = 1) -> int | None:
    """Bytes of `64M`, `1.5GiB`, `774124 MB`, `128`; None where it is no amount.

    K, M and G are powers of 1024 with or without an i, as df and numactl mean them. A bare number counts in
    `default_unit` bytes.
    """
    match = _AMOUNT.match(text.strip())
    if match is None:
        return None
    number, unit, mark = match.groups()
    if unit is None:
        return int(float(number) * (1 if mark else default_unit))
    return int(float(number) * 1024 ** (_UNITS.index(unit.upper()) + 1))
