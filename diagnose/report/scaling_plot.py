"""A scaling curve as a plot of characters and as SVG: measured, ideal, fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log

from diagnose.analysis.scaling import Scaling
from diagnose.report.svg import ACCENT, FAINT, INK, SECOND, Svg

_HEIGHT = 16
_LOGARITHMIC = 16.0
"""From this ratio of most to fewest GPUs on both axes are logarithmic."""
_STEPS = 120


@dataclass(frozen=True, slots=True)
class Glyphs:
    """What a plot is drawn with."""

    measured: str
    ideal: str
    fitted: str
    side: str
    corner: str
    floor: str


UNICODE = Glyphs("●", "·", "+", "│", "└", "─")
ASCII = Glyphs("o", ".", "+", "|", "+", "-")


def glyphs_for(encoding: str | None) -> Glyphs:
    """Those that the encoding of a stream has."""
    try:
        "".join((UNICODE.measured, UNICODE.side, UNICODE.corner)).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


class _Axes:
    """Speed-up by GPUs on a unit square."""

    def __init__(self, scaling: Scaling) -> None:
        self.scaling = scaling
        self.first, self.last = float(scaling.from_gpus), float(scaling.to_gpus)
        self.unit = scaling.typical(scaling.from_gpus)
        highest = max(max(values) for values in scaling.points.values())
        self.top = max(self.last / self.first, highest / self.unit)
        self.logarithmic = self.last / self.first >= _LOGARITHMIC
        lowest = min(min(values) for values in scaling.points.values())
        self.bottom = min(1.0, lowest / self.unit) if self.logarithmic else 0.0

    def across(self, gpus: float) -> float:
        """From 0 at the fewest GPUs to 1 at the most."""
        if self.logarithmic:
            return log(gpus / self.first) / log(self.last / self.first)
        return (gpus - self.first) / (self.last - self.first)

    def gpus_at(self, across: float) -> float:
        """The inverse."""
        if self.logarithmic:
            return float(self.first * (self.last / self.first) ** across)
        return self.first + across * (self.last - self.first)

    def up(self, throughput: float) -> float:
        """From 0 at the bottom to 1 at the top; outside for what the plot does not hold."""
        speedup = throughput / self.unit
        if not self.logarithmic:
            return speedup / self.top
        return log(speedup / self.bottom) / log(self.top / self.bottom) if speedup > 0.0 else -1.0

    def heights(self) -> Iterator[tuple[float, float]]:
        """Marks of the upright axis: position and speed-up."""
        for step in range(5):
            value = self.top * step / 4
            if self.logarithmic:
                value = self.bottom * (self.top / self.bottom) ** (step / 4)
            yield step / 4, value

    def measured(self) -> Iterator[tuple[float, float]]:
        """Each measurement."""
        for gpus, values in self.scaling.points.items():
            for value in values:
                yield self.across(gpus), self.up(value)

    def curve(self, throughput: Callable[[float], float], steps: int) -> Iterator[tuple[float, float]]:
        """A curve, where the plot holds it."""
        for step in range(steps + 1):
            across = step / steps
            up = self.up(throughput(self.gpus_at(across)))
            if 0.0 <= up <= 1.0:
                yield across, up


def scaling_plot(scaling: Scaling, width: int, glyphs: Glyphs) -> list[str]:
    """Lines of the plot, none wider than `width` (but never narrower than 40)."""
    axes = _Axes(scaling)
    labels = {round(up * (_HEIGHT - 1)): f"{value:.3g}" for up, value in axes.heights()}
    margin = max(len(label) for label in labels.values()) + 1
    columns = max(width, 40) - margin - 2
    field = [[" "] * columns for _ in range(_HEIGHT)]
    for points, glyph in (
        (axes.curve(scaling.ideal, columns * 2), glyphs.ideal),
        (axes.curve(scaling.explanation.best.throughput, columns * 2), glyphs.fitted),
        (axes.measured(), glyphs.measured),
    ):
        for across, up in points:
            field[round(up * (_HEIGHT - 1))][round(across * (columns - 1))] = glyph
    rows = [
        f"{labels.get(row, ''):>{margin}}{glyphs.side}{''.join(field[row]).rstrip()}"
        for row in reversed(range(_HEIGHT))
    ]
    below = _labels_below(axes, columns)
    return [
        "speed-up",
        *(row.rstrip() for row in rows),
        " " * margin + glyphs.corner + glyphs.floor * columns,
        (" " * (margin + 1) + below).rstrip(),
        " " * (margin + 1) + f"GPUs     {glyphs.measured} measured   {glyphs.ideal} ideal   {glyphs.fitted} fitted",
    ]


def _labels_below(axes: _Axes, columns: int) -> str:
    """Numbers of GPUs beneath their points, as far as there is room."""
    row = [" "] * columns
    for gpus in axes.scaling.points:
        label = str(gpus)
        start = min(max(round(axes.across(gpus) * (columns - 1)) - len(label) // 2, 0), columns - len(label))
        if all(sign == " " for sign in row[max(start - 1, 0) : start + len(label) + 1]):
            row[start : start + len(label)] = label
    return "".join(row).rstrip()


def scaling_svg(scaling: Scaling, title: str) -> str:
    """The same as SVG, 720 by 440."""
    axes = _Axes(scaling)
    left, top, width, height = 70.0, 50.0, 620.0, 310.0

    def place(across: float, up: float) -> tuple[float, float]:
        return left + across * width, top + (1 - up) * height

    picture = Svg(720, 440, title)
    picture.text(left, 28, title, size=15)
    for up, value in axes.heights():
        _, y = place(0, up)
        picture.line(left, y, left + width, y)
        picture.text(left - 8, y + 4, f"{value:.3g}", anchor="end")
    previous = -100.0
    for gpus in scaling.points:
        x, y = place(axes.across(gpus), 0)
        picture.line(x, y, x, y + 5, INK)
        if x - previous > 24:
            picture.text(x, y + 20, str(gpus), anchor="middle")
            previous = x
    picture.line(left, top + height, left + width, top + height, INK)
    picture.text(left + width, top + height + 38, "GPUs", anchor="end")
    picture.text(left - 8, top - 12, "speed-up", anchor="end")
    picture.curve((place(*point) for point in axes.curve(scaling.ideal, _STEPS)), FAINT, dashed=True)
    picture.curve((place(*point) for point in axes.curve(scaling.explanation.best.throughput, _STEPS)), ACCENT)
    for point in axes.measured():
        picture.dot(*place(*point), SECOND)
    for at, (words, colour) in enumerate((("measured", SECOND), ("ideal", FAINT), ("fitted", ACCENT))):
        x = left + at * 110
        picture.line(x, top + height + 62, x + 22, top + height + 62, colour, 3)
        picture.text(x + 28, top + height + 66, words)
    return str(picture)
