"""Error by depth as a plot of characters and as SVG: measured, what the format predicts, and noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10

from diagnose.lowbit.comparison import DepthPoint
from diagnose.report.scaling_plot import Glyphs
from diagnose.report.svg import ACCENT, FAINT, INK, SECOND, Svg

_HEIGHT = 14
_LEAST = 1e-8
"""Errors below are drawn there: the axis is logarithmic."""
_WIDEST_DECADES = 9


class _Axes:
    """Logarithm of the relative error over the place in the model, on a unit square."""

    def __init__(self, points: Sequence[DepthPoint]) -> None:
        self.points = points
        self.first = points[0].position
        self.span = max(points[-1].position - self.first, 1)
        values = [value for point in points for value in _values(point) if value is not None and value > 0.0]
        most, least = max(values, default=1.0), min(values, default=0.1)
        self.top = ceil(log10(min(most, 1e6)) + 0.02)
        self.bottom = max(floor(log10(max(least, _LEAST))), self.top - _WIDEST_DECADES)
        self.bottom = min(self.bottom, self.top - 1)

    def across(self, point: DepthPoint) -> float:
        """From 0 at the input to 1 at the output."""
        return (point.position - self.first) / self.span

    def up(self, value: float | None) -> float | None:
        """From 0 at the bottom to 1 at the top; None for what is not there."""
        if value is None or value <= 0.0:
            return None
        return min(max((log10(value) - self.bottom) / (self.top - self.bottom), 0.0), 1.0)

    def heights(self) -> Iterator[tuple[float, str]]:
        """Marks of the upright axis, one a decade."""
        for decade in range(self.bottom, self.top + 1):
            yield (decade - self.bottom) / (self.top - self.bottom), f"{10.0**decade:g}"

    def labels(self) -> Iterator[tuple[float, str]]:
        """Names of places, where they change."""
        previous = None
        for point in self.points:
            if point.label != previous:
                previous = point.label
                yield self.across(point), point.label


def _values(point: DepthPoint) -> tuple[float | None, ...]:
    return point.relative_l2_ratio, point.expected_ratio, point.noise_ratio


def depth_plot(points: Sequence[DepthPoint], width: int, glyphs: Glyphs) -> list[str]:
    """Lines of the plot, none wider than `width` (but never narrower than 40)."""
    axes = _Axes(points)
    labels = {round(up * (_HEIGHT - 1)): text for up, text in axes.heights()}
    margin = max(len(text) for text in labels.values()) + 1
    columns = max(width, 40) - margin - 2
    field = [[" "] * columns for _ in range(_HEIGHT)]
    drawn: dict[str, None] = {}
    for at, glyph in ((1, glyphs.ideal), (2, glyphs.fitted), (0, glyphs.measured)):
        for point in points:
            up = axes.up(_values(point)[at])
            if up is not None:
                field[round(up * (_HEIGHT - 1))][round(axes.across(point) * (columns - 1))] = glyph
                drawn[glyph] = None
    rows = [
        f"{labels.get(row, ''):>{margin}}{glyphs.side}{''.join(field[row]).rstrip()}"
        for row in reversed(range(_HEIGHT))
    ]
    legend = {glyphs.measured: "measured", glyphs.ideal: "expected of the format", glyphs.fitted: "noise"}
    words = "   ".join(f"{glyph} {word}" for glyph, word in legend.items() if glyph in drawn)
    return [
        "relative L2 error",
        *(row.rstrip() for row in rows),
        " " * margin + glyphs.corner + glyphs.floor * columns,
        (" " * (margin + 1) + _below(axes, columns)).rstrip(),
        " " * (margin + 1) + f"layer    {words}",
    ]


def _below(axes: _Axes, columns: int) -> str:
    """Labels beneath their places, as far as there is room."""
    row = [" "] * columns
    for across, label in axes.labels():
        text = label[:12]
        start = min(max(round(across * (columns - 1)) - len(text) // 2, 0), max(columns - len(text), 0))
        if all(sign == " " for sign in row[max(start - 1, 0) : start + len(text) + 1]):
            row[start : start + len(text)] = text
    return "".join(row).rstrip()


def depth_svg(points: Sequence[DepthPoint], title: str) -> str:
    """The same as SVG, 720 by 440."""
    axes = _Axes(points)
    left, top, width, height = 70.0, 50.0, 620.0, 310.0

    def place(across: float, up: float) -> tuple[float, float]:
        return left + across * width, top + (1 - up) * height

    picture = Svg(720, 440, title)
    picture.text(left, 28, title, size=15)
    for up, text in axes.heights():
        _, y = place(0, up)
        picture.line(left, y, left + width, y)
        picture.text(left - 8, y + 4, text, anchor="end")
    previous = -100.0
    for across, label in axes.labels():
        x, y = place(across, 0)
        if x - previous > 8 * len(label[:12]) + 10:
            picture.line(x, y, x, y + 5, INK)
            picture.text(x, y + 20, label[:12], anchor="middle")
            previous = x
    picture.line(left, top + height, left + width, top + height, INK)
    picture.text(left + width, top + height + 38, "layer", anchor="end")
    picture.text(left - 8, top - 12, "relative L2 error", anchor="start")
    legend = []
    for at, (words, colour) in enumerate((("measured", SECOND), ("expected of the format", ACCENT), ("noise", FAINT))):
        heights = ((point, axes.up(_values(point)[at])) for point in points)
        line = [place(axes.across(point), share) for point, share in heights if share is not None]
        if not line:
            continue
        legend.append((words, colour))
        picture.curve(line, colour, dashed=at > 0)
        if at == 0:
            for x, y in line:
                picture.dot(x, y, colour)
    for at, (words, colour) in enumerate(legend):
        x = left + at * 180
        picture.line(x, top + height + 62, x + 22, top + height + 62, colour, 3)
        picture.text(x + 28, top + height + 66, words)
    return str(picture)
