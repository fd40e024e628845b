"""Small, frozen, typed observations: what collectors produce and rules consume."""

from diagnose.facts.base import UNNAMED_HOST, Fact, Missing, Source, Subject, normalise_bus_id
from diagnose.facts.registry import fact_kinds

__all__ = ["UNNAMED_HOST", "Fact", "Missing", "Source", "Subject", "fact_kinds", "normalise_bus_id"]
