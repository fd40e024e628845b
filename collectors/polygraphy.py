"""Output of `polygraphy run`: outputs that are not finite (`--validate`), and comparisons of two runners."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from collectors.base import Line, LineCollector, Parsed
from collectors.json_text import real
from collectors.precision_words import is_low, precision_of
from diagnose.facts import Fact, Subject
from diagnose.facts.precision import AccuracyComparison, NonFiniteOutput

_LINE = re.compile(r"^\s*\[[VXISWECU]\]\s(?P<body>.*)$")
_VALIDATING = re.compile(r"^\s*(?P<runner>\S+)\s*\| Validating output: (?P<tensor>.+?) \(check_inf=")
_DETECTED = re.compile(r"(?P<what>Inf|NaN) Detected")
_COMPARING = re.compile(r"Comparing Output: '(?P<output>[^']+)' \(dtype=(?P<dtype>\w+), shape=")
_TOLERANCE = re.compile(r"Tolerance: \[abs=(?P<abs>[\d.eE+-]+), rel=(?P<rel>[\d.eE+-]+)\]")
_METRICS = re.compile(
    r"(?P<sort>Absolute|Relative) Difference \| Stats: mean=(?P<mean>[^,]+),.*?median=(?P<median>[^,]+)"
)
_MAXIMUM = re.compile(r"(?P<sort>Absolute|Relative) Difference \| Stats:.*?max=(?P<max>[^ ,]+)")
_VERDICT = re.compile(r"(?P<verdict>PASSED|FAILED) \| (?:Output: '(?P<output>[^']+)'|Difference)")
_RUNNERS = re.compile(r"Accuracy Comparison \| (?P<left>\S+) vs\. (?P<right>\S+)")
_DEFAULT_TOLERANCE = 1e-5


@dataclass(slots=True)
class _Comparison:
    output: str
    line: int
    values: dict[str, float] = field(default_factory=dict)
    passed: bool | None = None


class Polygraphy(LineCollector):
    """Verdicts by output."""

    kind: ClassVar[str] = "polygraphy"
    literals: ClassVar[tuple[bytes, ...]] = (
        b"Validating output:", b"Inf Detected", b"NaN Detected", b"Comparing Output:", b"Tolerance: [abs=",
        b"Difference | Stats", b"PASSED | ", b"FAILED | ", b"Accuracy Comparison |", b"--fp16", b"--int8", b"--fp8",
        b"--bf16", b"Output Validation |",
    )  # fmt: skip

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._host: str | None = None
        self._facts: list[Fact] = []
        self._runner: str | None = None
        self._tensor: str | None = None
        self._bad: dict[tuple[str, str | None], set[str]] = {}
        self._bad_line: dict[tuple[str, str | None], int] = {}
        self._comparison: _Comparison | None = None
        self._comparisons: list[_Comparison] = []
        self._low: bool | None = None

    def feed(self, line: Line, host: str | None) -> bool:
        """A line with Polygraphy's level in front."""
        if "polygraphy run" in line.text:
            self._low = self._low or re.search(r"--(?:fp16|int8|fp8|bf16)\b", line.text) is not None
            return False
        match = _LINE.match(line.text)
        if match is None:
            return False
        self._host = self._host or host
        return self._validation(line, match.group("body")) or self._difference(line, match.group("body"))

    def _validation(self, line: Line, body: str) -> bool:
        if (match := _VALIDATING.match(body)) is not None:
            self._runner, self._tensor = match.group("runner"), match.group("tensor")
            return True
        if (match := _DETECTED.search(body)) is not None and self._tensor is not None:
            key = (self._tensor, self._runner)
            self._bad.setdefault(key, set()).add(match.group("what"))
            self._bad_line.setdefault(key, line.number)
            return True
        return "Output Validation |" in body

    def _difference(self, line: Line, body: str) -> bool:
        if (match := _RUNNERS.search(body)) is not None:
            names = f"{match.group('left')} {match.group('right')}"
            self._low = self._low or is_low(precision_of(names)) or "fp16" in names.lower()
            return True
        if (match := _COMPARING.search(body)) is not None:
            self._comparison = _Comparison(match.group("output"), line.number)
            self._comparisons.append(self._comparison)
            self._low = self._low or match.group("dtype") in ("float16", "bfloat16", "int8")
            return True
        current = self._comparison
        if current is None:
            return False
        taken = False
        if (match := _TOLERANCE.search(body)) is not None:
            self._take(current, "absolute_tolerance", match.group("abs"))
            self._take(current, "relative_tolerance", match.group("rel"))
            taken = True
        if (match := _METRICS.search(body)) is not None:
            absolute = match.group("sort") == "Absolute"
            self._take(current, "mean_absolute_error" if absolute else "", match.group("mean"))
            self._take(current, "" if absolute else "median_relative_error", match.group("median"))
            taken = True
        if (match := _MAXIMUM.search(body)) is not None:
            self._take(current, f"max_{match.group('sort').lower()}_error", match.group("max"))
            taken = True
        if (match := _VERDICT.search(body)) is not None:
            current.passed = match.group("verdict") == "PASSED"
            taken = True
        return taken

    @staticmethod
    def _take(comparison: _Comparison, name: str, text: str) -> None:
        value = real(text)
        if name and value is not None:
            comparison.values[name] = value

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """Tensors that are not finite in their order, and each comparison that has a verdict."""
        names: dict[str, set[str | None]] = {}
        for tensor, runner in self._bad:
            names.setdefault(tensor, set()).add(runner)
        for order, ((tensor, runner), what) in enumerate(self._bad.items()):
            self._facts.append(
                NonFiniteOutput(
                    subject=Subject(host=self._host),
                    sources=(self.source(self._bad_line[tensor, runner]),),
                    tensor=tensor[:200],
                    runner=runner,
                    infinite="Inf" in what,
                    not_a_number="NaN" in what,
                    in_reference=True if len(names[tensor]) > 1 else None,
                    order=order,
                )
            )
        self._facts += [self._verdict(item) for item in self._comparisons if item.passed is not None]
        return Parsed(self._facts)

    def _verdict(self, item: _Comparison) -> AccuracyComparison:
        tolerances = [item.values.get("absolute_tolerance"), item.values.get("relative_tolerance")]
        known = [value for value in tolerances if value is not None]
        return AccuracyComparison(
            subject=Subject(host=self._host),
            sources=(self.source(item.line),),
            tool="polygraphy",
            output=item.output[:200],
            passed=bool(item.passed),
            default_tolerance=all(value == _DEFAULT_TOLERANCE for value in known) if known else None,
            low_precision=self._low,
            **item.values,
        )
