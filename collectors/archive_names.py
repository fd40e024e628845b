"""Names of archive members: which are refused, and how any name is shown without harm."""

from __future__ import annotations

import re

from diagnose.printable import printable

_DRIVE = re.compile(r"^[A-Za-z]:")
_SHOWN_CHARACTERS = 300


def shown(name: str) -> str:
    """The name with everything that does not print escaped. Very long names are shortened in the middle."""
    text = printable(name)
    if len(text) > _SHOWN_CHARACTERS:
        text = f"{text[: _SHOWN_CHARACTERS // 2]}…{text[-_SHOWN_CHARACTERS // 2 :]}"
    return text


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
