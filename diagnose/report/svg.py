"""Pictures as SVG: as much of it as lines, boxes and labels take."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

FONT = "ui-sans-serif, system-ui, Helvetica, Arial, sans-serif"
INK, FAINT, PAPER = "#1f2328", "#d0d7de", "#ffffff"
ACCENT, SECOND = "#0969da", "#bc4c00"


class Svg:
    """A picture of a size in user units, drawn from back to front."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" role="img" font-family={quoteattr(FONT)}>',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width:g}" height="{height:g}" fill="{PAPER}"/>',
        ]

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = FAINT, width: float = 1) -> None:
        """A straight line."""
        self._parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width:g}"/>'
        )

    def curve(self, points: Iterable[tuple[float, float]], colour: str, dashed: bool = False) -> None:
        """A line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        self._parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dashes}/>')

    def dot(self, x: float, y: float, colour: str) -> None:
        """A filled circle."""
        self._parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6" fill="{colour}"/>')

    def box(self, x: float, y: float, width: float, height: float, fill: str, colour: str = FAINT) -> None:
        """A rectangle with round corners."""
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4" fill="{fill}" '
            f'stroke="{colour}"/>'
        )

    def text(self, x: float, y: float, words: str, anchor: str = "start", size: float = 12, colour: str = INK) -> None:
        """A label; `anchor` is start, middle or end."""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}" fill="{colour}">'
            f"{escape(words)}</text>"
        )

    def __str__(self) -> str:
        return "\n".join([*self._parts, "</svg>", ""])
