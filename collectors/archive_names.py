"""Names of archive members: which are refused, and how any name is shown without harm."""

from __future__ import annotations

import re

_DRIVE = re.compile(r"^[A-Za-z]:")
_SHOWN_CHARACTERS = 300


def shown(name: str) -> str:
    """The name with everything that does not print as `\\x..` or `\\u....`: control characters, marks that turn the
    direction of writing, bytes that are no UTF-8. Very long names are shortened in the middle."""
    text = "".join(letter if letter.isprintable() else _escaped(letter) for letter in name)
    if len(text) > _SHOWN_CHARACTERS:
        text = f"{text[: _SHOWN_CHARACTERS // 2]}…{text[-_SHOWN_CHARACTERS // 2 :]}"
    return text


def _escaped(letter: str) -> str:
    code = ord(letter)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that did not decode
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class MemberPath(str):
    """A path within an archive: relative, with `/` between its parts, none of which is empty, `.` or `..`."""

    __slots__ = ()

    @property
    def parts(self) -> list[str]:
        """Its folders and file."""
        return self.split("/")


class NameRefusedError(Exception):
    """Why names like this one are refused, as a sentence."""


def member_path(name: str, limit_bytes: int, *, backslashes: bool = False) -> tuple[MemberPath, bool]:
    """The path that a member's name means, and whether it was absolute and is taken as relative.

    `backslashes` are separators in zip archives that Windows wrote.

    Raises:
        NameRefusedError: the name leads out of the archive, is too long, or names nothing.
    """
    if len(name.encode("utf-8", "surrogateescape")) > limit_bytes:
        raise NameRefusedError(f"Names of more than {limit_bytes:,} bytes are refused")
    if "\0" in name:
        raise NameRefusedError("Names with a NUL byte are refused")
    text = name.replace("\\", "/") if backslashes else name
    drive = _DRIVE.match(text)
    if drive is None:
        drive = _DRIVE.match(text.lstrip("/\\"))
    absolute = text.startswith(("/", "\\")) or drive is not None
    if drive is not None:
        text = text.lstrip("/\\")[2:].replace("\\", "/")
    parts = [part for part in text.lstrip("\\").split("/") if part not in ("", ".")]
    if ".." in parts or any(part.startswith("..\\") or "\\..\\" in part for part in parts):
        raise NameRefusedError("Names that lead out of the archive are refused")
    if not parts:
        raise NameRefusedError("Names that name nothing are refused")
    return MemberPath("/".join(parts)), absolute
