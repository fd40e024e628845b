"""Where a name begins and ends within text: at anything but a letter or digit, and behind escapes of JSON and URLs."""

from __future__ import annotations

import re

START = r"(?<![A-Za-z0-9])"
END = r"(?![A-Za-z0-9])"
HEX_START = r"[0-9A-Fa-f](?<![A-Za-z0-9].)"
"""The first digit of a hexadecimal number. Patterns that begin with a set of letters are searched for much faster."""

# Behind Users and home a backslash is one of a path.
_ESCAPE = re.compile(r"(?<!\\)(?<!Users)(?<!home)\\(?:[nrtbf]|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})|%[0-9A-Fa-f]{2}")
_MARK = "\0"


def with_marks(text: str) -> str:
    """The text with a mark behind each escape, so that its last letter does not seem to begin the word that follows.

    The mark is a NUL, which text that was read as text does not hold.
    """
    return _ESCAPE.sub(rf"\g<0>{_MARK}", text) if "\\" in text or "%" in text else text


def without_marks(text: str) -> str:
    """The text as it was."""
    return text.replace(_MARK, "")
