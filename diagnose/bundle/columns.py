"""Names in columns of tables whose header says what they are: CSV of nvidia-smi, ps, squeue, sinfo, lsblk."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnose.bundle.name_places import NameKind, expand_list

_HEADS = {
    "serial": NameKind.SERIAL,
    "board_serial": NameKind.SERIAL,
    "gpu_serial": NameKind.SERIAL,
    "sn": NameKind.SERIAL,
    "wwn": NameKind.SERIAL,
    "host": NameKind.HOST,
    "hostname": NameKind.HOST,
    "hostnames": NameKind.HOST,
    "node": NameKind.HOST,
    "nodelist": NameKind.HOST,
    "nodelist(reason)": NameKind.HOST,
    "user": NameKind.USER,
    "username": NameKind.USER,
    "uid": NameKind.USER,
    "owner": NameKind.USER,
}
_HEADER = re.compile(
    r"(?im)^.*(?<![\w.])(?:(?:board_|gpu_)?serial|sn|wwn|host(?:names?)?|node(?:list(?:\(reason\))?)?|user(?:name)?|uid|owner)(?![\w.]).*$"
)
_NAME = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9_][\w.,\[\]-]*")
_NUMBER = re.compile(r"[\d.]+")


class Columns:
    """Follows one file's lines from table to table."""

    def __init__(self) -> None:
        self._separator: str | None = None
        self._wanted: dict[int, NameKind] = {}
        self._width = 0

    def names(self, text: str) -> Iterator[tuple[NameKind, str]]:
        """Names in the rows of a piece of the file."""
        if not self._wanted and not _HEADER.search(text):
            return
        for line in text.splitlines():
            row = self._row(line)
            if not self._wanted or len(row) != self._width:
                self._begin(line)
                continue
            for at, kind in self._wanted.items():
                # ps ends a name that is too long for its column in a plus sign.
                cell = row[at].removesuffix("+")
                if _NAME.fullmatch(cell):
                    yield from ((kind, name) for name in expand_list(cell))

    def _row(self, line: str) -> list[str]:
        cells = line.removeprefix("|").split(self._separator, self._limit())
        return [cell.strip().strip('"') for cell in cells]

    def _limit(self) -> int:
        """The last column of a table without separators may hold blanks."""
        return -1 if self._separator else max(self._width - 1, 0)

    def _begin(self, line: str) -> None:
        """A new header, or the end of the table."""
        self._wanted = {}
        if len(line) > 2000:
            return
        self._separator = "," if line.count(",") >= 1 else None
        heads = [cell.strip().strip('"').lower() for cell in line.removeprefix("|").split(self._separator)]
        upper = line.upper() == line or self._separator is not None
        if len(heads) >= 2 and upper and not any(_NUMBER.fullmatch(head) for head in heads):
            self._wanted = {at: _HEADS[head] for at, head in enumerate(heads) if head in _HEADS}
            self._width = len(heads)
