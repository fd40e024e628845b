"""Whether a fix helped: the cause before, and in what was read after."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from diagnose.facts import Fact
from diagnose.facts.registry import fact_kinds
from diagnose.knowledge.base import KnowledgeBase
from diagnose.ranking.thresholds import ESTABLISHED, SUSPECTED
from diagnose.report.model import Report, ReportCause, ReportEvidence
from diagnose.report.numbers import percent
from diagnose.tui.model.events import Outcome


class Verdict(NamedTuple):
    """What a verification shows, and why, in one sentence."""

    outcome: Outcome
    why: str


def verdict(cause_id: str, before: Report, after: Report, facts: Iterable[Fact], knowledge: KnowledgeBase) -> Verdict:
    """Compare the evidence for a cause in two reports; `facts` are those that were read after the fix."""
    found = next((item for item in after.causes if item.id == cause_id), None)
    if found is not None and found.probability >= SUSPECTED:
        first = next((item.text for item in found.evidence if item.direction == "for"), found.title)
        again = "is found again" if found.probability >= ESTABLISHED else "is still suspected"
        return Verdict(Outcome.STILL_THERE, f"It {again} ({percent(found.probability)}): {first}")
    cause = next(item for item in before.causes if item.id == cause_id)
    unread = _unread(cause, before, after, {fact.kind for fact in facts}, knowledge)
    if unread:
        return Verdict(Outcome.NOT_SHOWN, f"What showed it was not read this time: {', '.join(unread)}")
    return Verdict(Outcome.GONE, "What spoke for it was looked for again and is not there any more")


def _unread(cause: ReportCause, before: Report, after: Report, kinds: set[str], knowledge: KnowledgeBase) -> list[str]:
    """What spoke for the cause and was not looked at again: formats of inputs, or kinds of facts where those are known.

    Evidence of one group is one observation seen through several sources, so that one of them is enough.
    """
    read = {item.kind for item in after.inputs if item.kind is not None}
    seen = kinds | {kind for kind, model in fact_kinds().items() if model.seen_through in kinds}
    looked: set[str] = set()
    lacking: dict[str, set[str]] = {}
    for item in cause.evidence:
        if item.direction == "against":
            continue
        formats = _formats(item, before)
        needed = _kinds(item, knowledge)
        if (formats and formats <= read) or (needed and needed <= seen):
            looked.add(item.group)
        else:
            lacking.setdefault(item.group, (formats - read) or (needed - seen))
    return sorted({name for group, names in lacking.items() if group not in looked for name in names})


def _formats(item: ReportEvidence, report: Report) -> set[str]:
    """Formats of the inputs that a piece of evidence stands in."""
    places = {source.path for source in item.sources}
    return {entry.kind for entry in report.inputs if entry.path in places and entry.kind is not None}


def _kinds(item: ReportEvidence, knowledge: KnowledgeBase) -> set[str]:
    """Kinds of facts that a piece of evidence is made of, as far as inputs give them."""
    cause, _, name = item.rule.partition("/")
    known = knowledge.causes.get(cause)
    rules = () if known is None else (entry.rule for entry in known.evidence if entry.written.id == name)
    return {kind for rule in rules for kind in rule.kinds() if kind in fact_kinds()}
