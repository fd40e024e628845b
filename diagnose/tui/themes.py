"""Two themes of our own: dark and light. Severity is told by symbol and word too, never by colour alone."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="diagnose-dark",
    primary="#5fa8d3",
    secondary="#8d99ae",
    accent="#f2cc60",
    warning="#f0a04b",
    error="#f2777a",
    success="#7bc67e",
    foreground="#e6e6e6",
    background="#14171c",
    surface="#1b1f26",
    panel="#252b35",
    dark=True,
)
LIGHT = Theme(
    name="diagnose-light",
    primary="#1f6feb",
    secondary="#57606a",
    accent="#7a4d00",
    warning="#9a5b00",
    error="#b3261e",
    success="#1a7f37",
    foreground="#1f2328",
    background="#ffffff",
    surface="#f6f8fa",
    panel="#e7ecf2",
    dark=False,
)
