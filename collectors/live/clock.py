"""How far the clock is from the time that it is synchronised with, as the kernel knows it."""

from __future__ import annotations

import ctypes

_UNSYNCHRONISED = 0x40
_NANOSECONDS = 0x2000
"""Bits of `status`: Linux, include/uapi/linux/timex.h."""
_ERROR_STATE = 5


class _Timex(ctypes.Structure):
    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("_rest", ctypes.c_char * 512),
    )


def clock_offset_seconds() -> float | None:
    """Offset that is left to correct; None where nothing synchronises the clock or the kernel does not tell."""
    state = _Timex()  # `modes` of 0 asks and sets nothing
    try:
        answer = ctypes.CDLL(None).adjtimex(ctypes.byref(state))
    except (OSError, AttributeError):
        return None
    if answer in (-1, _ERROR_STATE) or state.status & _UNSYNCHRONISED:
        return None
    return float(state.offset) / (1e9 if state.status & _NANOSECONDS else 1e6)
