"""Whether a fix helped: the cause before, and in what was read after."""

from __future__ import annotations

from diagnose.knowledge.base import KnowledgeBase
from diagnose.ranking.findings import JOB
from diagnose.report.comparison.causes import became
from diagnose.report.comparison.model import CauseChange
from diagnose.report.model import Report, ReportCause, ReportEvidence


def verdict(cause_id: str, before: Report, after: Report, knowledge: KnowledgeBase) -> CauseChange:
    """What became of a cause of the first report."""
    cause = next(item for item in before.causes if item.id == cause_id)
    again = next((item for item in after.causes if item.id == cause_id), None)
    return became(cause, again, _observed_through_formats(cause, before, after, knowledge), knowledge)


def _observed_through_formats(cause: ReportCause, before: Report, after: Report, knowledge: KnowledgeBase) -> Report:
    """The later report with the kinds as observed that the same formats of inputs would have given again.

    Some facts exist only where something is wrong, such as error bits that are set: that the listing was read again
    and has none of them is the answer.
    """
    read = {item.kind for item in after.inputs if item.kind is not None}
    kinds = {
        kind
        for item in cause.evidence
        if item.direction == "for" and (formats := _formats(item, before)) and formats <= read
        for kind in _kinds(item, knowledge)
    }
    hosts = {*after.hosts, *after.observed, JOB}
    observed = {host: tuple(sorted({*after.observed.get(host, ()), *kinds})) for host in hosts}
    return after.model_copy(update={"observed": observed})


def _formats(item: ReportEvidence, report: Report) -> set[str]:
    """Formats of the inputs that a piece of evidence stands in."""
    places = {source.path for source in item.sources}
    return {entry.kind for entry in report.inputs if entry.path in places and entry.kind is not None}


def _kinds(item: ReportEvidence, knowledge: KnowledgeBase) -> frozenset[str]:
    """Kinds of facts that a piece of evidence is made of."""
    cause, _, name = item.rule.partition("/")
    known = knowledge.causes.get(cause)
    rules = () if known is None else [entry.rule for entry in known.evidence if entry.written.id == name]
    return frozenset().union(*(rule.kinds() for rule in rules))
