"""Finds thousands of known words in text by one pattern, whose size in states grows with the letters, not the words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from diagnose.bundle.boundaries import END, START

_Tree = dict[str, "_Tree"]
_WORD_END = ""


def any_of(words: Iterable[str], flags: re.RegexFlag = re.NOFLAG, after: str = "") -> re.Pattern[str] | None:
    """A pattern for any of the words as a whole word, the longest first, in group `word`; None where there is none.

    `after` is a pattern that follows the word.
    """
    tree: _Tree = {}
    for word in words:
        branch = tree
        for letter in word:
            branch = branch.setdefault(letter, {})
        branch[_WORD_END] = {}
    return re.compile(f"{START}(?P<word>{_pattern(tree)}){END}{after}", flags) if tree else None


def _pattern(tree: _Tree) -> str:
    """Branches share their beginnings. Built without recursion: a word may be long."""
    built: dict[int, str] = {}
    waiting: list[tuple[_Tree, bool]] = [(tree, False)]
    while waiting:
        branch, ready = waiting.pop()
        if not ready:
            waiting.append((branch, True))
            waiting += [(below, False) for letter, below in branch.items() if letter != _WORD_END]
            continue
        parts = [re.escape(letter) + built[id(below)] for letter, below in branch.items() if letter != _WORD_END]
        body = f"(?:{'|'.join(parts)})" if len(parts) > 1 else "".join(parts)
        built[id(branch)] = f"(?:{body})?" if _WORD_END in branch and parts else body
    return built[id(tree)]
