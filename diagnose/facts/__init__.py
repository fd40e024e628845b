"""Small, frozen, typed observations: what collectors produce and rules consume."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diagnose.facts.base import UNNAMED_HOST, Fact, Missing, Source, Subject, normalise_bus_id

if TYPE_CHECKING:
    from diagnose.facts.registry import fact_kinds

__all__ = ["UNNAMED_HOST", "Fact", "Missing", "Source", "Subject", "fact_kinds", "normalise_bus_id"]


def __getattr__(name: str) -> Any:
    """The list of all kinds is loaded by whoever asks for it: it takes longer than the first screen may."""
    if name == "fact_kinds":
        from diagnose.facts.registry import fact_kinds

        return fact_kinds
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
