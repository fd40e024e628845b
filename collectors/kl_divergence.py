"""Divergence of a model's token distribution from its original: llama.cpp's statistics, and tables by model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.json_text import real, whole
from collectors.precision_words import BITS, precision_of
from diagnose.facts.precision import KlDivergenceResult

_TITLE = re.compile(r"KLD? (?:divergence )?(?:evaluation|statistics|results)|KL divergence", re.IGNORECASE)
_POSITIONS = re.compile(r"([\d,]+) (?:positions|tokens)")
_COLUMN = re.compile(
    r"(?:mean|median|p\d+(?:\.\d+)?|\d+(?:\.\d+)?%|max(?:imum)?)\s+kld?|kld|top[ -]?1|same top p", re.IGNORECASE
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_STATISTIC = re.compile(
    r"^\s*\|?\s*(Mean|Median|Maximum|99\.0%|Same top p|Mean PPL\(Q\)/PPL\(base\))\s*(KLD)?\s*[:|]\s*(-?\d[\d.eE-]*)"
)


class KlDivergenceTable(BlockCollector):
    """Rows of models under a heading with columns of KLD, in text or Markdown."""

    kind: ClassVar[str] = "kl-divergence-table"
    literals: ClassVar[tuple[bytes, ...]] = (b"KLD",)

    @classmethod
    def opens(cls, text: str) -> bool:
        """A title, or a heading of columns; statistics that stand in lines belong to the other collector."""
        if _STATISTIC.match(text) or len(text) > 400:
            return False
        return _columns(text) is not None or ("KLD" in text and _TITLE.search(text) is not None and ":" not in text[:4])

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for each row."""
        parsed = Parsed()
        columns: list[str] | None = None
        positions: int | None = None
        for line in block.lines:
            found = _columns(line.text)
            if found is not None:
                columns = found
            elif columns is None:
                match = _POSITIONS.search(line.text)
                positions = whole(match.group(1).replace(",", "")) if match else positions
            else:
                fact = _row(block, line, columns, positions)
                if fact is not None:
                    parsed.facts.append(fact)
        return parsed


def _columns(text: str) -> list[str] | None:
    """Names of the columns after the first, where there is one of KLD and a first one."""
    names = _split(text)
    if len(names) < 2 or any(_NUMBER.fullmatch(name) for name in names):
        return None
    if not re.match(r"^(?:model|quantization|quant|variant|checkpoint|type)", names[0], re.IGNORECASE):
        return None
    return names if any(_COLUMN.fullmatch(name) for name in names) else None


def _split(text: str) -> list[str]:
    if "|" in text:
        return [cell.strip() for cell in text.strip().strip("|").split("|")]
    return [cell for cell in re.split(r"\s{2,}|\t", text.strip()) if cell]


def _row(block: Block, line: Line, columns: Sequence[str], positions: int | None) -> KlDivergenceResult | None:
    row = _split(line.text)
    if len(row) != len(columns):
        return None
    values: dict[str, Any] = {}
    for name, cell in zip(columns[1:], row[1:], strict=True):
        match = _NUMBER.match(cell)
        key = _key(name)
        if match is not None and key is not None:
            number = float(match.group())
            values[key] = number / 100.0 if key == "top1_agreement_ratio" and number > 1.0 else number
    if "mean_nats" not in values:
        return None
    precision = precision_of(row[0])
    return KlDivergenceResult(
        subject=block.subject(),
        sources=(block.source(line),),
        model=row[0][:160],
        precision=precision,
        bits=BITS.get(precision) if precision else None,
        positions=positions,
        **values,
    )


def _key(name: str) -> str | None:
    lower = name.lower()
    if re.search(r"top[ -]?1|same top", lower):
        return "top1_agreement_ratio"
    if "kld" not in lower and "kl" not in lower.split():
        return None
    for pattern, key in (
        (r"mean|^kld?$", "mean_nats"), (r"median", "median_nats"), (r"\bp99$|p99\s|^99(?:\.0)?%", "p99_nats"),
        (r"max", "max_nats"),
    ):  # fmt: skip
        if re.search(pattern, lower):
            return key
    return None


class KlDivergenceStatistics(BlockCollector):
    """What `llama-perplexity --kl-divergence` prints at its end."""

    kind: ClassVar[str] = "kl-divergence-statistics"
    literals: ClassVar[tuple[bytes, ...]] = (b"Perplexity statistics", b"KL divergence statistics", b"KLD")

    @classmethod
    def opens(cls, text: str) -> bool:
        """The ruler with the title, or the first statistic."""
        return re.match(r"^=+ (?:Perplexity|KL divergence) statistics =+", text) is not None or (
            _STATISTIC.match(text) is not None
            and "KLD" in text
            and text.count("|") <= 3
            and text.lstrip(" |").startswith("Mean")
        )

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact, when the mean is there."""
        keys = {
            "Mean": "mean_nats", "Median": "median_nats", "Maximum": "max_nats", "99.0%": "p99_nats",
            "Same top p": "top1_agreement_ratio", "Mean PPL(Q)/PPL(base)": "perplexity_ratio",
        }  # fmt: skip
        values: dict[str, float] = {}
        for line in block.lines:
            match = _STATISTIC.match(line.text)
            # Tables with one column for each of several models are not one run's.
            if (
                match is None
                or line.text.count("|") > 3
                or (match.group(1) in ("Mean", "Median", "Maximum", "99.0%") and not match.group(2))
            ):
                continue
            number = real(match.group(3))
            if number is not None:
                key = keys[match.group(1)]
                values.setdefault(key, number / 100.0 if key == "top1_agreement_ratio" else number)
        mean = values.pop("mean_nats", None)
        if mean is None:
            return Parsed()
        precision = precision_of(block.path.rsplit("/", 1)[-1])
        return Parsed(
            [
                KlDivergenceResult(
                    subject=block.subject(),
                    sources=(block.source(),),
                    model=None,
                    precision=precision,
                    bits=BITS.get(precision) if precision else None,
                    mean_nats=mean,
                    **values,
                )
            ]
        )
