"""Whether a fix helped: the cause before, and in what was read after."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from diagnose.facts import Fact
from diagnose.facts.registry import fact_kinds
from diagnose.knowledge.base import KnowledgeBase
from diagnose.ranking.model import ESTABLISHED, SUSPECTED
from diagnose.report.model import Report, ReportCause
from diagnose.report.numbers import percent
from diagnose.tui.model.events import Outcome


class Verdict(NamedTuple):
    """What a verification shows, and why, in one sentence."""

    outcome: Outcome
    why: str


def verdict(cause: ReportCause, after: Report, facts: Iterable[Fact], knowledge: KnowledgeBase) -> Verdict:
    """Compare the evidence for a cause with a report made of facts that were read after the fix."""
    found = next((item for item in after.causes if item.id == cause.id), None)
    if found is not None and found.probability >= SUSPECTED:
        first = next((item.text for item in found.evidence if item.direction == "for"), found.title)
        again = "is found again" if found.probability >= ESTABLISHED else "is still suspected"
        return Verdict(Outcome.STILL_THERE, f"It {again} ({percent(found.probability)}): {first}")
    unread = _unread(cause, facts, knowledge)
    if unread:
        return Verdict(Outcome.NOT_SHOWN, f"What showed it was not read this time: {', '.join(unread)}")
    return Verdict(Outcome.GONE, "What spoke for it was looked for again and is not there any more")


def _unread(cause: ReportCause, facts: Iterable[Fact], knowledge: KnowledgeBase) -> list[str]:
    """Kinds of facts that the evidence for the cause needs and that there are none of."""
    known = knowledge.causes.get(cause.id)
    if known is None:
        return []
    seen = {fact.kind for fact in facts}
    seen |= {kind for kind, model in fact_kinds().items() if model.seen_through in seen}
    counted = {item.rule for item in cause.evidence if item.direction == "for"}
    needed = {
        kind
        for item in known.evidence
        if f"{cause.id}/{item.written.id}" in counted
        for kind in item.rule.kinds() & fact_kinds().keys()
    }
    return sorted(needed - seen)
