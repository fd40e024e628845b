"""What each answer to a check would mean for the causes it tells apart."""

from __future__ import annotations

import re
from math import log
from typing import NamedTuple

from diagnose.facts.collection import OperatorAnswer
from diagnose.knowledge.base import KnowledgeBase, KnownCause, KnownEvidence
from diagnose.knowledge.schema import Check
from diagnose.ranking.rank import logistic, logit, priors
from diagnose.report.model import Report, ReportCheck

_HOLE = re.compile(r"\{[^{}]*\}")
_SHOWN = 4


class Meaning(NamedTuple):
    """A possible outcome of a check and what it would make of a cause."""

    cause: str
    title: str
    text: str
    """What would be seen, with `...` for values that only the answer has."""
    otherwise: str | None
    """What it means where it is not seen; None where that says nothing."""
    before: float
    after: float
    """Probability of the cause where it is seen."""


def meanings(check: ReportCheck, report: Report, knowledge: KnowledgeBase) -> list[Meaning]:
    """The outcomes that would move a cause most, the first for each cause first."""
    provided = _provided(check.id, knowledge)
    scaled = priors(knowledge, [item.id for item in report.symptoms if item.asserted])
    ranked = {cause.id: cause for cause in report.causes}
    found: list[Meaning] = []
    for name in check.separates:
        known = knowledge.causes.get(name)
        if known is None:
            continue
        probability = ranked[name].probability if name in ranked else scaled[name]
        unseen = None if name not in ranked else {item.rule for item in ranked[name].missing}
        items = [item for item in known.evidence if _would_show(known, item, provided, unseen)]
        items.sort(key=lambda item: -abs(log(item.written.weight)))
        found += [_meaning(known, item, probability) for item in items[:_SHOWN]]
    return found


def is_question(check: str, knowledge: KnowledgeBase) -> bool:
    """Whether it is answered by yes or no, and not by what a command prints or a file holds."""
    return OperatorAnswer.kind in _provided(check, knowledge)


def check_by_id(name: str, knowledge: KnowledgeBase) -> ReportCheck | None:
    """A check as reports tell of it, without what it tells apart; None where the rules know none of that id."""
    found = _check(name, knowledge)
    if found is None:
        return None
    return ReportCheck(
        id=found.id,
        text=found.text,
        command=found.command,
        separates=(),
        expected_gain_bits=0.0,
        cost_seconds=found.cost_seconds,
        risk=found.risk.value,
        privilege=found.privilege.value,
    )


def _check(name: str, knowledge: KnowledgeBase) -> Check | None:
    own = (item for cause in knowledge.causes.values() for item in cause.checks if item.id == name)
    return knowledge.checks.get(name) or next(own, None)


def _provided(name: str, knowledge: KnowledgeBase) -> frozenset[str]:
    found = _check(name, knowledge)
    return frozenset() if found is None else frozenset(found.provides)


def _would_show(known: KnownCause, item: KnownEvidence, provided: frozenset[str], unseen: set[str] | None) -> bool:
    """Whether the check gives a fact that the evidence lacks."""
    if unseen is not None and f"{known.cause.id}/{item.written.id}" not in unseen:
        return False
    return bool(item.rule.kinds() & provided)


def _meaning(known: KnownCause, item: KnownEvidence, probability: float) -> Meaning:
    before = min(max(probability, 1e-6), 1 - 1e-6)
    after = logistic(logit(before) + log(item.written.weight))
    text = _HOLE.sub("...", item.written.says)
    return Meaning(known.cause.id, known.cause.title, text, item.written.otherwise, before, after)
