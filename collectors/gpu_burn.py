"""gpu-burn: a line rewritten with carriage returns while it runs, and a verdict for each GPU at the end.

100.0%  proc'd: 2618 (15421 Gflop/s) - 2590 (15230 Gflop/s)   errors: 0 - 12  (WARNING!) temps: 61 C - 74 C
Tested 2 GPUs:
        GPU 0: OK
        GPU 1: FAULTY
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from diagnose.facts import Fact, Subject
from diagnose.facts.gpu import GpuTemperature
from diagnose.facts.validation import ComputeRate, DiagnosticResult

_PROGRESS = re.compile(r"\d{1,3}\.\d%\s+proc'd: (?P<rates>.*?)\s+errors: (?P<errors>.*?)\s+temps: (?P<temps>.*)$")
_RATE = re.compile(r"\((-?\d{1,12}(?:\.\d+)?) Gflop/s\)")
_ERRORS = re.compile(r"(?:^|- )\s*(-?\d{1,15})\b")
_TEMPERATURE = re.compile(r"(?:^|- )\s*(?:(\d{1,3}) C|--)")
_VERDICT = re.compile(r"^\s+GPU (\d{1,3}): (OK|FAULTY)\s*$")
_TESTED = re.compile(r"^Tested \d{1,3} GPUs?:\s*$")
_BODY = re.compile(
    rf"{_PROGRESS.pattern}|{_VERDICT.pattern}|{_TESTED.pattern}|^(?:GPU \d+: .* \(UUID: |Initialized device|Summary at:"
    r"|Burning for|Using compare file|Run length|Results are|Killing processes|Freed memory|Uninitted|done$)"
)
_DIED = re.compile(r"No clients are alive|couldn't init|Couldn't init a GPU test|Error in .*gpu_burn", re.IGNORECASE)
_GIGA = 1e9


@dataclass(slots=True)
class _Burn:
    rates: list[float] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    temperatures: list[float | None] = field(default_factory=list)
    verdicts: dict[int, tuple[str, Line]] = field(default_factory=dict)
    line: Line | None = None
    died: Line | None = None


class GpuBurn(BlockCollector):
    """One run."""

    kind: ClassVar[str] = "gpu-burn"
    literals: ClassVar[tuple[bytes, ...]] = (b"proc'd: ", b"Burning for ", b"Tested ")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bgpu[-_]burn\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """Progress, or the list of verdicts."""
        return _PROGRESS.search(text) is not None or _TESTED.match(text) is not None or text.startswith("Burning for ")

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Its lines, with a verdict among them."""
        return share(lines, _BODY) if any(_VERDICT.match(line) for line in lines) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Verdict, errors, temperature and rate of each GPU."""
        burn = _Burn()
        for line in block.lines:
            for piece in line.text.split("\r"):
                _take(burn, piece, line)
        facts = [*_results(burn, block), *_rates(burn, block), *_temperatures(burn, block)]
        if facts:
            return Parsed(facts)
        return Parsed(problems=[f"line {block.lines[0].number}: no result of a GPU was found"])


def _take(burn: _Burn, text: str, line: Line) -> None:
    if (progress := _PROGRESS.search(text)) is not None:
        rates = [float(number) * _GIGA for number in _RATE.findall(progress["rates"])]
        if any(rate > 0 for rate in rates):
            burn.rates = rates
        errors = [int(number) for number in _ERRORS.findall(progress["errors"])]
        # The counter restarts with each report, so that errors are summed up.
        burn.errors = [
            (burn.errors[at] if at < len(burn.errors) else 0) + max(count, 0) for at, count in enumerate(errors)
        ]
        hottest = [float(text) if text else None for text in _TEMPERATURE.findall(progress["temps"])]
        burn.temperatures = [
            max((value for value in (old, new) if value is not None), default=None)
            for old, new in zip([*burn.temperatures, *[None] * len(hottest)], hottest, strict=False)
        ]
        burn.line = line
    elif (verdict := _VERDICT.match(text)) is not None:
        burn.verdicts[int(verdict[1])] = (verdict[2], line)
    elif _DIED.search(text):
        burn.died = burn.died or line


def _results(burn: _Burn, block: Block) -> Iterator[Fact]:
    for gpu, (word, line) in burn.verdicts.items():
        errors = burn.errors[gpu] if gpu < len(burn.errors) else None
        yield DiagnosticResult(
            subject=Subject(host=block.host, gpu_index=gpu),
            sources=(block.source(line),),
            tool="gpu-burn",
            test="gpu-burn",
            outcome="pass" if word == "OK" else "fail",
            code=None if word == "OK" else "wrong-results",
            message=f"GPU {gpu}: {word}",
            value=float(errors) if errors is not None else None,
        )
    if burn.died is not None:
        yield DiagnosticResult(
            subject=block.subject(),
            sources=(block.source(burn.died),),
            tool="gpu-burn",
            test="gpu-burn",
            outcome="error",
            message=" ".join(burn.died.text.split())[:300],
        )


def _rates(burn: _Burn, block: Block) -> Iterator[Fact]:
    middle = median(burn.rates) if burn.rates else 0.0
    for gpu, rate in enumerate(burn.rates):
        yield ComputeRate(
            subject=Subject(host=block.host, gpu_index=gpu),
            sources=(block.source(burn.line),),
            tool="gpu-burn",
            flops_per_second=rate,
            to_median_ratio=rate / middle if middle > 0 and len(burn.rates) > 1 else None,
            errors=burn.errors[gpu] if gpu < len(burn.errors) else None,
        )


def _temperatures(burn: _Burn, block: Block) -> Iterator[Fact]:
    for gpu, celsius in enumerate(burn.temperatures):
        if celsius is not None:
            yield GpuTemperature(
                subject=Subject(host=block.host, gpu_index=gpu),
                sources=(block.source(burn.line),),
                gpu_celsius=celsius,
            )
