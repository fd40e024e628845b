"""Pictures of latency as one SVG: over time with the driver beneath, distribution, conditional tails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor, log, log10

from diagnose.report.latency_picture import ConditionalTails, Distribution, OverTime, duration, figures
from diagnose.report.svg import ACCENT, FAINT, INK, SECOND, Svg

_WIDTH = 860.0
_LEFT, _RIGHT, _TOP = 90.0, 24.0, 56.0
_PANEL, _LOW_PANEL, _GAP = 200.0, 110.0, 74.0
_DEEPEST = 0.001
"""Share of requests at the bottom of the conditional tails."""


class _Panel:
    """A rectangle with a logarithmic or linear upright axis."""

    def __init__(self, picture: Svg, top: float, height: float, low: float, high: float, logarithmic: bool) -> None:
        self.picture, self.top, self.height = picture, top, height
        self.low, self.high, self.logarithmic = low, high, logarithmic

    def across(self, share: float) -> float:
        """From 0 at the left to 1 at the right."""
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def up(self, value: float) -> float:
        """Where a value stands."""
        if self.logarithmic:
            share = log(max(value, self.low) / self.low) / log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.top + (1.0 - min(max(share, 0.0), 1.0)) * self.height

    def frame(self, label: Callable[[float], str]) -> None:
        """Lines across with their values."""
        for value in _ticks(self.low, self.high) if self.logarithmic else (self.low, self.high):
            y = self.up(value)
            self.picture.line(_LEFT, y, _WIDTH - _RIGHT, y)
            self.picture.text(_LEFT - 8, y + 4, label(value), anchor="end", size=11)


def latency_svg(
    title: str, over_time: OverTime | None, distribution: Distribution | None, tails: ConditionalTails | None
) -> str:
    """Those pictures that there are, one beneath the other."""
    height = _TOP
    places = []
    for picture, size in (
        (over_time, _PANEL + (_LOW_PANEL + 44.0 if over_time is not None and over_time.driver else 0.0)),
        (distribution, _PANEL),
        (tails, _PANEL),
    ):
        places.append(height)
        height += size + _GAP if picture is not None else 0.0
    drawing = Svg(_WIDTH, height, title)
    drawing.text(_LEFT, 26, title, size=15)
    if over_time is not None:
        _draw_over_time(drawing, places[0], over_time)
    if distribution is not None:
        _draw_distribution(drawing, places[1], distribution)
    if tails is not None:
        _draw_tails(drawing, places[2], tails)
    return str(drawing)


def _draw_over_time(drawing: Svg, top: float, picture: OverTime) -> None:
    seen = [value for value in (*picture.typical, *picture.slow) if value is not None]
    if not seen:
        return
    panel = _Panel(drawing, top, _PANEL, *_rounded(min(seen), max(seen)), True)
    panel.frame(duration)
    _legend(drawing, top - 10, ((f"{picture.metric} p99", SECOND), ("p50", ACCENT)))
    count = len(picture.times_seconds)
    for values, colour in ((picture.typical, ACCENT), (picture.slow, SECOND)):
        for run in _runs(values):
            drawing.curve(((panel.across((at + 0.5) / count), panel.up(value)) for at, value in run), colour)
    bottom = top + _PANEL
    known = [value for value in picture.driver_values if value is not None]
    if picture.driver is not None and known:
        low, high = min(known), max(known)
        beneath = _Panel(drawing, bottom + 44, _LOW_PANEL, low, high if high > low else low + 1.0, False)
        drawing.text(_LEFT, bottom + 34, picture.driver)
        beneath.frame(figures)
        for run in _runs(picture.driver_values):
            drawing.curve(((beneath.across((at + 0.5) / count), beneath.up(value)) for at, value in run), INK)
        bottom += 44 + _LOW_PANEL
    drawing.line(_LEFT, bottom, _WIDTH - _RIGHT, bottom, INK)
    drawing.text(_LEFT, bottom + 18, picture.begins)
    drawing.text(_WIDTH - _RIGHT, bottom + 18, picture.ends, anchor="end")


def _draw_distribution(drawing: Svg, top: float, picture: Distribution) -> None:
    panel = _Panel(drawing, top, _PANEL, 0.7, max(max(picture.counts), 2), True)
    panel.frame(lambda value: f"{value:.0f}")
    drawing.text(_LEFT, top - 10, f"{picture.metric}: requests by latency, both on logarithmic scales")
    low, high = picture.edges_seconds[0], picture.edges_seconds[-1]

    def across(seconds: float) -> float:
        return panel.across(log(seconds / low) / log(high / low))

    for count, first, last in zip(picture.counts, picture.edges_seconds, picture.edges_seconds[1:], strict=False):
        if count:
            x, y = across(first), panel.up(count)
            drawing.box(x, y, max(across(last) - x - 0.6, 0.6), top + _PANEL - y, ACCENT, ACCENT)
    bottom = top + _PANEL
    drawing.line(_LEFT, bottom, _WIDTH - _RIGHT, bottom, INK)
    for value in _ticks(low, high):
        drawing.line(across(value), bottom, across(value), bottom + 5, INK)
        drawing.text(across(value), bottom + 18, duration(value), anchor="middle", size=11)
    for at, (name, value) in enumerate(picture.marks):
        drawing.line(across(value), top, across(value), bottom, SECOND, 1.2)
        drawing.text(across(value) + 3, top + 12 + 13 * (at % 4), f"{name} {duration(value)}", size=11, colour=SECOND)
    for value in picture.modes_seconds:
        drawing.dot(across(value), top + 4, INK)
        drawing.text(across(value), bottom + 34, f"mode {duration(value)}", anchor="middle", size=11)


def _draw_tails(drawing: Svg, top: float, picture: ConditionalTails) -> None:
    points = [*picture.low, *picture.high]
    if not points:
        return
    panel = _Panel(drawing, top, _PANEL, _DEEPEST, 1.0, True)
    panel.frame(lambda value: f"{value:.3g}")
    low, high = min(seconds for _, seconds in points), max(seconds for _, seconds in points)
    low, high = (low, high) if high / low > 1.05 else (low * 0.95, high * 1.05)
    drawing.text(_LEFT, top - 28, f"Share of requests that take longer, by {picture.driver}")
    _legend(drawing, top - 10, ((f"at {picture.high_means}", SECOND), (f"at {picture.low_means}", ACCENT)))
    for curve, colour in ((picture.low, ACCENT), (picture.high, SECOND)):
        drawing.curve(
            ((panel.across(log(seconds / low) / log(high / low)), panel.up(1.0 - level)) for level, seconds in curve),
            colour,
        )
    bottom = top + _PANEL
    drawing.line(_LEFT, bottom, _WIDTH - _RIGHT, bottom, INK)
    for value in _ticks(low, high):
        x = panel.across(log(value / low) / log(high / low))
        drawing.line(x, bottom, x, bottom + 5, FAINT)
        drawing.text(x, bottom + 18, duration(value), anchor="middle", size=11)


def _legend(drawing: Svg, y: float, entries: Sequence[tuple[str, str]]) -> None:
    x = _LEFT
    for words, colour in entries:
        drawing.line(x, y - 4, x + 20, y - 4, colour, 3)
        drawing.text(x + 26, y, words)
        x += 50 + 7.2 * len(words)


def _runs(values: Sequence[float | None]) -> Iterator[list[tuple[int, float]]]:
    """Stretches without gaps."""
    run: list[tuple[int, float]] = []
    for at, value in enumerate(values):
        if value is not None:
            run.append((at, value))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _rounded(low: float, high: float) -> tuple[float, float]:
    return (low, high) if high / low > 1.05 else (low * 0.95, high * 1.05)


def _ticks(low: float, high: float) -> list[float]:
    """Powers of ten between, with 2 and 5 where those are few."""
    steps = (1, 2, 5) if high / low < 300 else (1,)
    found = [
        step * 10.0**power
        for power in range(floor(log10(low)), ceil(log10(high)) + 1)
        for step in steps
        if low <= step * 10.0**power <= high
    ]
    return found if len(found) > 1 else [low, high]
