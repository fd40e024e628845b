"""Text from inputs, made safe to show: a log or a file's name must not command the reader's terminal."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """The text with everything that does not print as `\\x..` or `\\u....`.

    That is control characters, line ends among them, marks that turn the direction of writing, and bytes that are no
    UTF-8. Blanks of every width stay.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or _is_blank(letter) else _escaped(letter) for letter in text)


def printable_lines(text: str) -> str:
    """The same for text of several lines, whose ends stay."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _is_blank(letter: str) -> bool:
    return unicodedata.category(letter) == "Zs"


def _escaped(letter: str) -> str:
    code = ord(letter)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that did not decode
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
