"""Symptoms named on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from diagnose.knowledge.base import KnowledgeBase


def check_symptoms(symptoms: Sequence[str], knowledge: KnowledgeBase) -> None:
    """Raises UsageError for a symptom that does not exist."""
    for symptom in symptoms:
        if symptom not in knowledge.symptoms:
            raise click.UsageError(f"no symptom is called {symptom!r}; there are: {', '.join(knowledge.symptoms)}")
