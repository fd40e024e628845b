"""Symptoms that recordings bring with them."""

from __future__ import annotations

from collections.abc import Sequence

from diagnose.facts import Fact
from diagnose.facts.collection import ReportedSymptom
from diagnose.knowledge.base import KnowledgeBase


def reported_symptoms(facts: Sequence[Fact], knowledge: KnowledgeBase) -> list[str]:
    """Symptoms that whoever made a recording told of; those of other versions that are unknown here are left out."""
    told = [fact.symptom for fact in facts if isinstance(fact, ReportedSymptom)]
    return [symptom for symptom in dict.fromkeys(told) if symptom in knowledge.symptoms]
