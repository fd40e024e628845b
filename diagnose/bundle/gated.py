"""Patterns that are tried only where a cheap look says that they may match: most pieces of text lack most of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Piece(NamedTuple):
    """A few lines of a file, and the same in lower case, which stays that of the original while the text changes."""

    text: str
    lower: str


class Gated:
    """A pattern with hints, one of which is in every text that it matches, or with a probe that finds as much.

    Hints and probe are for text in lower case. With both, either lets the pattern be tried; with neither, it always is.
    """

    def __init__(
        self, pattern: str, *hints: str, flags: re.RegexFlag = re.NOFLAG, probe: re.Pattern[str] | None = None
    ) -> None:
        self.pattern = re.compile(pattern, flags | re.MULTILINE)
        self._hints = hints
        self._probe = probe

    def may_match(self, piece: Piece) -> bool:
        """The cheap look."""
        lower = piece.lower
        for hint in self._hints:
            if hint in lower:
                return True
        if self._probe is not None:
            return self._probe.search(lower) is not None
        return not self._hints

    def matches(self, piece: Piece) -> Iterator[re.Match[str]]:
        """All matches."""
        return self.pattern.finditer(piece.text) if self.may_match(piece) else iter(())

    def replace(self, by: Callable[[re.Match[str]], str], piece: Piece) -> Piece:
        """The piece with each match replaced."""
        return Piece(self.pattern.sub(by, piece.text), piece.lower) if self.may_match(piece) else piece
