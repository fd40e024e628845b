"""What people and tools put around text on its way here: marks before every line, entities of HTML, a narrow terminal.

Quotation marks of mails, line numbers, names of hosts (`pdsh`, `srun -l`, `grep`, containers), stamps of log drivers.
A beginning of line may be a format's own: whoever calls compares what both readings tell. Line numbers stay those of
the file.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

WRAPPED_BYTES = 1 << 23
"""Longer text is not unwrapped."""
_HEAD_BYTES = 1 << 16
_LABELS = 64
"""Most sources that lines of one text are from."""
_LAYERS = 3
_SAMPLE_LINES = 400
_SHARE = 0.9
"""Lines with content that must be wrapped alike."""

_QUOTES = re.compile(r"(?:> ?)+")
_STAMPS = re.compile(
    r"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|\w{3} [ \d]\d (?:\d{4} )?\d\d:\d\d:\d\d)"
    r"(?: std(?:out|err) [FP])?(?=\s|$)"
)
_NUMBERS = re.compile(r" {0,8}\d{1,7}(?:[\t:|]|(?= )|$)")
_INDENTATION = re.compile(r" {2}|\t")
_LABEL = re.compile(
    r"(?:\[(?P<bracket>[A-Za-z][\w.-]{1,80})\]:?|(?P<place>[\w./@-]{1,200}):(?:\d+:)?|(?P<name>[\w.-]{2,80}) +\|)"
    r"(?P<rest>.*)"
)
_NO_HOST = re.compile(
    r"[\d.]+$|(?:info|warn(?:ing)?|error|debug|trace|notice|std(?:out|err)|kernel)$|.*[/@]|.*\.(?:log|txt)$", re.I
)
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,6}|#x[0-9a-fA-F]{1,5});")
_ELEMENT = re.compile(r"</?(?:pre|code|div|p|span|br|tt|samp)(?: [^<>]*)?/?>", re.I)
_WIDTHS = range(72, 241)


class Unwrapped(NamedTuple):
    """The lines of one source; those of others are blank, so that each keeps its number."""

    host: str | None
    lines: list[str]

    def data(self) -> bytes:
        """As bytes of text."""
        return "\n".join(self.lines).encode("utf-8", "surrogateescape") + b"\n"


Layer: TypeAlias = Callable[[Unwrapped, Sequence[str]], list[Unwrapped] | None]
"""Takes one wrapping off; gets the text and its first lines with content. None where the text is not so wrapped."""


def unwrap(data: bytes) -> list[Unwrapped]:
    """The texts of each source without what was put around them; empty where nothing was."""
    if _without_layer(_text(data[:_HEAD_BYTES])) is None:
        return []
    texts = [_text(data)]
    changed = False
    for _ in range(_LAYERS):
        inner = [_without_layer(text) for text in texts]
        if not any(inner):
            break
        texts = [part for text, parts in zip(texts, inner, strict=True) for part in parts or [text]]
        changed = True
    return texts if changed else []


def _text(data: bytes) -> Unwrapped:
    return Unwrapped(None, data.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n"))


def _without_layer(text: Unwrapped) -> list[Unwrapped] | None:
    sample = [line for line in text.lines if line.strip()][:_SAMPLE_LINES]
    found = (layer(text, sample) for layer in _LAYER_KINDS) if sample else iter(())
    return next(filter(None, found), None)


def _html(text: Unwrapped, sample: Sequence[str]) -> list[Unwrapped] | None:
    if not any(_ENTITY.search(line) or _ELEMENT.search(line) for line in sample):
        return None
    plain = [html.unescape(_ELEMENT.sub("", line)).replace("\xa0", " ").replace("\n", " ") for line in text.lines]
    return [Unwrapped(text.host, plain)]


def _mark(mark: re.Pattern[str]) -> Layer:
    """The layer of a mark that most lines begin with."""

    def layer(text: Unwrapped, sample: Sequence[str]) -> list[Unwrapped] | None:
        if not _most(sample, mark):
            return None
        bare = [line[found.end() :] if (found := mark.match(line)) else line for line in text.lines]
        return [Unwrapped(text.host, _without_blank(bare))]

    return layer


def _labels(text: Unwrapped, sample: Sequence[str]) -> list[Unwrapped] | None:
    if not _most(sample, _LABEL):
        return None
    split = [_LABEL.match(line) for line in text.lines]
    labels = dict.fromkeys(_label(found) for found in split if found is not None)
    if len(labels) > min(_LABELS, max(1, len(text.lines) // 2)):
        return None
    return [
        Unwrapped(
            text.host if _NO_HOST.match(label) else label,
            _without_blank([found["rest"] if found and _label(found) == label else "" for found in split]),
        )
        for label in labels
    ]


def _label(found: re.Match[str]) -> str:
    return found["bracket"] or found["place"] or found["name"]


def _indentation(text: Unwrapped, sample: Sequence[str]) -> list[Unwrapped] | None:
    if not all(map(_INDENTATION.match, sample)):
        return None
    return [Unwrapped(text.host, textwrap.dedent("\n".join(text.lines)).split("\n"))]


def _narrow(text: Unwrapped, sample: Sequence[str]) -> list[Unwrapped] | None:
    """Lines that a terminal broke at its width, in one piece again: little else ends at the same column."""
    width = max(map(len, sample))
    full = sum(len(line) == width for line in sample)
    if width not in _WIDTHS or full < 2 or full > len(sample) // 2:
        return None
    # Equal names make equal lines too, but what follows those stands under them and not at the first column.
    if any(len(before) == width and line.startswith(" ") for before, line in pairwise(text.lines)):
        return None
    lines: list[str] = []
    owner = 0
    for before, line in zip(["", *text.lines], text.lines, strict=False):
        if len(before) == width and line.strip():
            lines[owner] += line
            lines.append("")
        else:
            owner = len(lines)
            lines.append(line)
    return [Unwrapped(text.host, lines)]


_LAYER_KINDS: tuple[Layer, ...] = (
    _html, _mark(_QUOTES), _mark(_STAMPS), _labels, _mark(_NUMBERS), _indentation, _narrow,
)  # fmt: skip


def _most(sample: Sequence[str], pattern: re.Pattern[str]) -> bool:
    return sum(pattern.match(line) is not None for line in sample) >= _SHARE * len(sample)


def _without_blank(lines: list[str]) -> list[str]:
    """Without the one blank between mark and text, where every line has it."""
    if all(not line or line.startswith(" ") for line in lines):
        return [line[1:] for line in lines]
    return lines
