"""Runs the diagnosis on labelled cases and sums up hits, false alarms and calibration."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from collectors.inputs import Status
from collectors.resolve import resolve_readings
from collectors.scan import read_inputs
from diagnose.engine.session import SessionRunner
from diagnose.knowledge.schema import Severity
from diagnose.ranking.diagnosis import diagnose
from diagnose.ranking.model import ESTABLISHED

LABEL = "expect.json"
"""The label beside a case's inputs; it is never an input itself."""


@dataclass(frozen=True)
class CaseResult:
    """What the diagnosis made of one case."""

    name: str
    accepted: frozenset[str]
    healthy: bool
    ranked: tuple[tuple[str, float, Severity], ...]
    """Cause, probability and severity, most probable first."""
    unread: tuple[str, ...]
    """Inputs that were not recognised."""

    def hit(self, within: int) -> bool:
        """Whether a right cause is among the first ones; a healthy case has none to hit."""
        return any(cause in self.accepted for cause, _, _ in self.ranked[:within])

    @property
    def false_alarm(self) -> bool:
        """Whether a healthy case has a cause of severity warning or above at 0.5 or more that is not accepted."""
        return self.healthy and any(
            probability >= ESTABLISHED and severity.rank >= Severity.WARNING.rank and cause not in self.accepted
            for cause, probability, severity in self.ranked
        )


def run_case(runner: SessionRunner, folder: Path) -> CaseResult:
    """Diagnose one case folder."""
    label = json.loads((folder / LABEL).read_text(encoding="utf-8"))
    paths = sorted(str(path) for path in folder.iterdir() if path.name != LABEL)
    readings = resolve_readings(read_inputs(paths))
    diagnosis = diagnose(runner, readings.facts, series=readings.series)
    return CaseResult(
        name=folder.name,
        accepted=frozenset(label["accepted_causes"]),
        healthy=bool(label["may_be_empty"]),
        ranked=tuple((item.cause_id, item.probability, item.known.cause.severity) for item in diagnosis.causes),
        unread=tuple(
            Path(item.path).name for item in readings.inputs if item.status not in (Status.PARSED, Status.PARTIAL)
        ),
    )


def run_cases(runner: SessionRunner, corpus: Path) -> list[CaseResult]:
    """Diagnose every case of a corpus, in order of name."""
    return [run_case(runner, folder) for folder in sorted((corpus / "cases").iterdir()) if (folder / LABEL).is_file()]


def case_table(results: Sequence[CaseResult]) -> str:
    """One line a case, then the sums."""
    lines = [f"{'case':<40} {'verdict':<12} first three"]
    for item in results:
        first = ", ".join(f"{cause} {probability:.2f}" for cause, probability, _ in item.ranked[:3]) or "-"
        lines.append(f"{item.name:<40} {verdict(item):<12} {first}")
    faulty = [item for item in results if not item.healthy]
    healthy = [item for item in results if item.healthy]
    lines += [
        "",
        f"right cause first:         {sum(item.hit(1) for item in faulty)} of {len(faulty)}",
        f"right cause in first 3:    {sum(item.hit(3) for item in faulty)} of {len(faulty)}",
        f"false alarms when healthy: {sum(item.false_alarm for item in healthy)} of {len(healthy)}",
    ]
    return "\n".join(lines)


def verdict(item: CaseResult) -> str:
    """How a case went, in a word or two."""
    if item.healthy:
        return "FALSE ALARM" if item.false_alarm else "quiet"
    place = next((str(n) for n, (cause, _, _) in enumerate(item.ranked, 1) if cause in item.accepted), None)
    if place is not None:
        return "hit" if place == "1" else f"hit at {place}"
    return "MISS"


BINS = ((0.1, 0.3), (0.3, 0.5), (0.5, 0.8), (0.8, 0.95), (0.95, 1.0001))


def calibration_table(results: Iterable[CaseResult]) -> str:
    """Of the causes reported with a probability in a range, the share that was true.

    A case labels its main cause only, so a second true cause counts as false here: the shares are lower bounds.
    """
    reported = [(probability, cause in item.accepted) for item in results for cause, probability, _ in item.ranked]
    lines = [f"{'probability':<14} {'reported':>8} {'true':>6} {'share':>7} {'mean p':>7}"]
    for low, high in BINS:
        inside = [(probability, right) for probability, right in reported if low <= probability < high]
        if inside:
            right = sum(correct for _, correct in inside)
            mean = sum(probability for probability, _ in inside) / len(inside)
            share = right / len(inside)
            lines.append(f"{low:.2f} to {min(high, 1):.2f}   {len(inside):>8} {right:>6} {share:>7.2f} {mean:>7.2f}")
    return "\n".join(lines)
