"""Small tables of scores that people write down: by number format or by phase, read by the meaning of the columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.cells import cells
from collectors.json_text import real
from collectors.lm_eval import score
from collectors.precision_words import about_kv_cache, precision_of, role_of
from diagnose.facts import Fact
from diagnose.facts.precision import EvaluationProgress

_MOST_ROWS = 1000
_LONGEST_HEADER = 300
_FORMAT = re.compile(
    r"^(?:(?P<kv>kv[ _-]?cache[ _-]?|kv[ _-]?)|model[ _-]?|weight[ _-]?|compute[ _-]?)?"
    r"(?:dtype|data[ _-]?type|precision|quantization|quantisation|quant|format|scheme)$",
    re.IGNORECASE,
)
_NAMED = re.compile(r"^(?:model|variant|run|config|configuration|checkpoint|setup)$", re.IGNORECASE)
_PASSED = re.compile(r"^(?:passed|correct|solved|hits|num[ _-]?correct|n[ _-]?correct|right)$", re.IGNORECASE)
_TOTAL = re.compile(r"^(?:total|items|samples|questions|num[ _-]?samples|n|count|problems)$", re.IGNORECASE)
_SCORE = re.compile(
    r"^(?P<name>(?:[a-z0-9]+[ _-])*"
    r"(?:accuracy|acc|score|exact[ _-]?match|em|pass@?1|f1|bleu|top[ _-]?1|perplexity|ppl))"
    r"(?:[ _(-]*(?P<percent>percent|pct|%)\)?)?$",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"percent|pct|%", re.IGNORECASE)
_TASK = re.compile(r"^(?:task|benchmark|dataset|eval|suite)$", re.IGNORECASE)
_PHASE = re.compile(r"^(?:phase|part|stage of run|progress|when)$", re.IGNORECASE)
_EARLY = re.compile(r"^(?:early|start|begin(?:ning)?|first(?: half)?|initial)$", re.IGNORECASE)
_LATE = re.compile(r"^(?:late|end|final|last|second half|finish)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Layout:
    variant: int | None
    kv: bool
    passed: int | None
    total: int | None
    scores: tuple[tuple[int, str, bool], ...]
    """Column, name, and whether it is in percent."""
    task: int | None
    phase: int | None


class ScoreTable(BlockCollector):
    """One result for each row and score."""

    kind: ClassVar[str] = "score-table"
    literals: ClassVar[tuple[bytes, ...]] = (
        b"ccuracy", b"passed", b"score", b"xact", b"erplexity", b"ppl", b"pass@1", b"orrect", b"acc,", b"solved",
    )  # fmt: skip
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A heading with a column that tells runs or phases apart, and one of scores."""
        return len(text) <= _LONGEST_HEADER and _layout(cells(text)) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Results by variant, or the progress of one run by phase."""
        names = cells(block.lines[0].text)
        layout = _layout(names)
        if layout is None:
            return Parsed()
        rows = [(line, row) for line in block.lines[1 : _MOST_ROWS + 1] if len(row := cells(line.text)) >= len(names)]
        if layout.phase is not None:
            return Parsed(_progress(block, layout, rows))
        return Parsed([fact for line, row in rows for fact in _results(block, layout, names, line, row)])


def _layout(names: Sequence[str]) -> _Layout | None:
    if not 2 <= len(names) <= 24 or any(real(name) is not None for name in names):
        return None
    passed, total = _at(names, _PASSED), _at(names, _TOTAL)
    scores = tuple(
        (at, match.group("name"), match.group("percent") is not None or _PERCENT.search(name) is not None)
        for at, name in enumerate(names)
        if (match := _SCORE.match(name))
    )
    if not scores and (passed is None or total is None):
        return None
    phase, variant = _at(names, _PHASE), _at(names, _FORMAT)
    match = _FORMAT.match(names[variant]) if variant is not None else None
    if variant is None:
        variant = _at(names, _NAMED)
    if phase is None and variant is None:
        return None
    kv = match is not None and match.group("kv") is not None
    return _Layout(variant, kv, passed, total, scores, _at(names, _TASK), phase if variant is None else None)


def _at(names: Sequence[str], pattern: re.Pattern[str]) -> int | None:
    return next((at for at, name in enumerate(names) if pattern.match(name)), None)


def _results(block: Block, layout: _Layout, names: Sequence[str], line: Line, row: Sequence[str]) -> list[Fact]:
    """A format in a cell tells the run; tables whose cells name none are of something else."""
    about = row[layout.variant or 0]
    precision = precision_of(about)
    if precision is None:
        return []
    if layout.kv and not about_kv_cache(about):
        about = f"{about} KV cache"
    task = row[layout.task] if layout.task is not None else "score"
    total = real(row[layout.total]) if layout.total is not None else None
    found: list[Fact] = []
    if (
        layout.passed is not None
        and total is not None
        and total > 0
        and (passed := real(row[layout.passed])) is not None
    ):
        share = passed / total
        if 0.0 <= share <= 1.0:
            error = (share * (1.0 - share) / total) ** 0.5
            found.append(
                score(block, line, task, names[layout.passed], share, about, items=int(total), stderr=error or None)
            )
    for at, name, percent in layout.scores:
        value = real(row[at].strip(" %"))
        if value is not None:
            value = value / 100.0 if percent or row[at].endswith("%") else value
            items = int(total) if total and total >= 1 else None
            found.append(score(block, line, task, name, value, about, items=items))
    return found


def _progress(block: Block, layout: _Layout, rows: Sequence[tuple[Line, Sequence[str]]]) -> list[Fact]:
    found: list[Fact] = []
    for at, name, percent in layout.scores:
        early = late = None
        for _, row in rows:
            value = real(row[at].strip(" %"))
            if value is None:
                continue
            value = value / 100.0 if percent or row[at].endswith("%") else value
            if _EARLY.match(row[layout.phase or 0]):
                early = value
            elif _LATE.match(row[layout.phase or 0]):
                late = value
        if early is not None and late is not None:
            found.append(
                EvaluationProgress(
                    subject=block.subject(),
                    sources=(block.source(),),
                    measure=name,
                    early_value=early,
                    late_value=late,
                    role=role_of(block.path).role,
                )
            )
    return found
