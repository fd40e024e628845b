"""Numbers as people read them."""

from __future__ import annotations


def percent(probability: float) -> str:
    """Rounded, but never to a certainty that no probability has."""
    return ">99%" if probability > 0.99 else "<1%" if probability < 0.01 else f"{probability:.0%}"
