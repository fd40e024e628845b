"""How nvidia-smi writes values: numbers with units, flags in four spellings, and many words for `no value`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from diagnose.facts import Missing

Value: TypeAlias = str | int | float | bool
Convert: TypeAlias = Callable[[str], Value | None]
"""Reads the text of a value; None where it makes no sense."""

_ABSENT = {
    "n/a": Missing.NOT_APPLICABLE,
    "not supported": Missing.NOT_SUPPORTED,
    "function not found": Missing.NOT_SUPPORTED,
    "unknown error": Missing.UNKNOWN_ERROR,
    "err!": Missing.ERROR,
    "error": Missing.ERROR,
    "gpu requires reset": Missing.ERROR,
    "insufficient permissions": Missing.NO_PERMISSION,
}
_ABSENT_BEGINNINGS = (
    ("requested functionality has been deprecated", Missing.DEPRECATED),
    ("gpu is lost", Missing.LOST),
    ("not available", Missing.NOT_SUPPORTED),
)
# NVML's placeholders for 'no value' in 64 bits: 0x7ffffffffffffff0 to ...f3.
_BLANKS = range(9223372036854775792, 9223372036854775796)
_NUMBER = re.compile(r"\s*([-+]?[0-9]{1,20}(?:\.[0-9]{1,20})?)(?![0-9xX][0-9a-fA-F])")
_QUANTITY = re.compile(r"\s*([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([a-zA-Z]*)")
_VERSION = re.compile(r"\s*([0-9]{1,5}(?:\.[0-9]{1,5}){1,3})\b")
_HEX = re.compile(r"\s*(?:0x)?([0-9a-fA-F]{8})\s*$", re.IGNORECASE)
_STATE = re.compile(r"\s*P([0-9]{1,2})\s*$")
_UUID = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MASKED_UUID = re.compile(r"GPU-[0-]+$")
_FLAGS = {
    **dict.fromkeys(("enabled", "on", "yes", "active", "true", "1", "valid"), True),
    **dict.fromkeys(("disabled", "off", "no", "not active", "false", "0", "invalid"), False),
}
_BYTES = {"b": 1, "kib": 1 << 10, "kb": 1 << 10, "mib": 1 << 20, "mb": 1 << 20, "gib": 1 << 30, "gb": 1 << 30}


def absence(text: str) -> Missing | None:
    """Why a text is no value, or None where it is one."""
    word = text.strip().strip("[]").strip().lower()
    if word in _ABSENT:
        return _ABSENT[word]
    if word[:1].isdigit():
        blank = len(word) == 19 and word.isascii() and word.isdigit() and int(word) in _BLANKS
        return Missing.BLANK if blank else None
    return next((reason for beginning, reason in _ABSENT_BEGINNINGS if word.startswith(beginning)), None)


def read(text: str, convert: Convert) -> Value | Missing | None:
    """The value of a text, the reason why it has none, or None where it is not understood."""
    return absence(text) or convert(text)


def real(text: str) -> float | None:
    """The number at the beginning: `78.28 W`, `-2 C`, `345 MHz`."""
    match = _NUMBER.match(text)
    return float(match[1]) if match else None


def integer(text: str) -> int | None:
    """The whole number at the beginning: `16x`, `2559 bank(s)`."""
    number = real(text)
    return None if number is None else int(number)


def positive(text: str) -> int | None:
    """A whole number of 1 or more; virtual machines print 0 for a slot that they do not know."""
    number = integer(text)
    return number if number is not None and number > 0 else None


def ratio(text: str) -> float | None:
    """`36 %` as 0.36."""
    number = real(text)
    return None if number is None else number / 100


def size(text: str) -> int | None:
    """`8192 MiB` in bytes. Without a unit it is MiB, which is what `nounits` leaves away."""
    match = _QUANTITY.match(text)
    if match is None:
        return None
    factor = _BYTES.get(match[2].lower() or "mib")
    return None if factor is None else int(float(match[1]) * factor)


def seconds(text: str) -> float | None:
    """`39595 us` in seconds."""
    number = real(text)
    return None if number is None else number / 1e6


def kilobyte_rate(text: str) -> float | None:
    """`376 KB/s` in bytes per second."""
    number = real(text)
    return None if number is None else number * 1e3


def megabyte_rate(text: str) -> float | None:
    """A number of MB/s in bytes per second."""
    number = real(text)
    return None if number is None else number * 1e6


def flag(text: str) -> bool | None:
    """`Enabled`, `On`, `Yes`, `Active`, `True` and their opposites."""
    return _FLAGS.get(text.strip().lower())


def words(text: str) -> str | None:
    """Text as it stands; None where it is empty or blacked out."""
    cleaned = text.strip()
    return None if not cleaned or cleaned.strip("[]").lower() == "redacted" else cleaned


def lower_words(text: str) -> str | None:
    """Text in lower case."""
    cleaned = words(text)
    return None if cleaned is None else cleaned.lower()


def version(text: str) -> str | None:
    """The version at the beginning; 610 writes a remark behind it, or only the remark."""
    match = _VERSION.match(text)
    return match[1] if match else None


def performance_state(text: str) -> int | None:
    """`P8` as 8."""
    match = _STATE.match(text)
    return int(match[1]) if match else None


def device_id(text: str) -> str | None:
    """`0x233010DE` and `233010DE`, both as `0x233010DE`."""
    match = _HEX.match(text)
    return f"0x{match[1].upper()}" if match else None


def uuid(text: str) -> str | None:
    """The GPU's UUID; None where it is masked with zeros, because that is no GPU's name."""
    match = _UUID.search(text)
    return None if match is None or _MASKED_UUID.match(match[0]) else match[0]
