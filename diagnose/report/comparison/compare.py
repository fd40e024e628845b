"""Puts two results side by side: a pure function of what was read and diagnosed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diagnose import __version__
from diagnose.facts import Fact
from diagnose.facts.series import Measurement, Requests
from diagnose.knowledge.base import KnowledgeBase
from diagnose.report.comparison.causes import compare_causes, host_names
from diagnose.report.comparison.facts import MOST_OTHERS, compare_facts
from diagnose.report.comparison.measured import RESULTS, compare_latencies, compare_results, failures, load_differences
from diagnose.report.comparison.model import Comparison, FactChange, MeasuredChange, SideSummary
from diagnose.report.model import Report


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two results."""

    name: str
    report: Report
    facts: Sequence[Fact] | None = None
    """None where only a report was given."""
    series: Sequence[Measurement] = ()
    incomplete: bool = False

    @property
    def requests(self) -> int | None:
        """Requests of which latencies are known."""
        counts = [len(item) for item in self.series if isinstance(item, Requests)]
        return sum(counts) if counts else None

    def summary(self) -> SideSummary:
        """For the comparison."""
        return SideSummary(
            name=self.name,
            hosts=self.report.hosts,
            facts=None if self.facts is None else len(self.facts),
            requests=self.requests,
            incomplete=self.incomplete,
        )


def compare(before: Side, after: Side, knowledge: KnowledgeBase) -> Comparison:
    """What changed from one to the other."""
    names = host_names(before.report.hosts, after.report.hosts)
    configuration: list[FactChange] = []
    others: list[FactChange] = []
    measured: list[MeasuredChange] = []
    if before.facts is not None and after.facts is not None:
        configuration, others = compare_facts(before.facts, after.facts, names, frozenset(RESULTS))
        measured = [
            *compare_latencies(before.series, after.series),
            *compare_results(before.facts, after.facts, names),
        ]
    return Comparison(
        tool_version=__version__,
        before=before.summary(),
        after=after.summary(),
        causes=compare_causes(before.report, after.report, knowledge),
        measured=tuple(measured),
        configuration=tuple(configuration),
        others=tuple(others[:MOST_OTHERS]),
        others_left_out=max(0, len(others) - MOST_OTHERS),
        notes=tuple(_notes(before, after, names)),
    )


def _notes(before: Side, after: Side, names: Mapping[str, str]) -> list[str]:
    notes = [
        f"{side.name} is a report: of it only causes can be compared" for side in (before, after) if side.facts is None
    ]
    notes += [
        f"{side.name} does not say what was observed: causes that are absent from it cannot be called gone"
        for side in (before, after)
        if not side.report.observed
    ]
    notes += [f"{old} is taken to be {new}: each side is of one host" for old, new in names.items()]
    both = set(before.report.hosts) & set(after.report.hosts)
    if not both and not names and before.report.hosts and after.report.hosts:
        notes.append("The two are of different hosts: what changed may only be the machine")
    if (before.requests is None) != (after.requests is None):
        without = before if before.requests is None else after
        notes.append(f"{without.name} holds no requests: latency cannot be compared")
    for side in (before, after):
        failed, known = failures(side.series)
        if failed:
            notes.append(f"{side.name}: {failed:,} of {known:,} requests failed; latencies are those of the others")
    differences = load_differences(before.series, after.series)
    if differences:
        notes.append(f"The load differs, and latency with it: {'; '.join(sorted(differences))}")
    return notes
