"""Pictures of latency in characters: over time with the driver beneath, distribution, conditional tails."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log

from diagnose.report.latency_picture import ConditionalTails, Distribution, OverTime, duration, figures

_HEIGHT, _LOW_HEIGHT = 10, 5
_MARGIN = 9
_NARROWEST = 40


@dataclass(frozen=True, slots=True)
class Marks:
    """What the pictures are drawn with."""

    slow: str
    typical: str
    bars: str
    """From empty to full."""
    side: str
    corner: str
    floor: str
    pointer: str


UNICODE = Marks("●", "·", " ▁▂▃▄▅▆▇█", "│", "└", "─", "^")
ASCII = Marks("o", ".", " .:#", "|", "+", "-", "^")


def marks_for(encoding: str | None) -> Marks:
    """Those that the encoding of a stream has."""
    try:
        "".join((UNICODE.slow, UNICODE.bars, UNICODE.corner)).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def columns_of(width: int) -> int:
    """Columns of a plot within a width of text."""
    return max(width, _NARROWEST) - _MARGIN - 1


def over_time_text(picture: OverTime, marks: Marks) -> list[str]:
    """Lines of the picture; its columns are the stretches of time."""
    seen = [value for value in (*picture.typical, *picture.slow) if value is not None]
    if not seen:
        return []
    low, high = _bounds(seen)
    field = [[" "] * len(picture.times_seconds) for _ in range(_HEIGHT)]
    for values, mark in ((picture.typical, marks.typical), (picture.slow, marks.slow)):
        for column, value in enumerate(values):
            if value is not None:
                field[_row(value, low, high, _HEIGHT)][column] = mark
    lines = [f"{picture.metric}   {marks.slow} p99   {marks.typical} p50"]
    lines += _framed(field, {0: duration(low), _HEIGHT - 1: duration(high)}, marks)
    if picture.driver is not None:
        lines += ["", picture.driver, *_bars(picture.driver_values, marks)]
    lines.append(" " * _MARGIN + marks.corner + marks.floor * len(picture.times_seconds))
    space = len(picture.times_seconds) - len(picture.begins) - len(picture.ends)
    lines.append(" " * (_MARGIN + 1) + (picture.begins + " " * space + picture.ends if space > 0 else picture.begins))
    return [line.rstrip() for line in lines]


def distribution_text(picture: Distribution, marks: Marks) -> list[str]:
    """Bars of counts on a logarithmic scale, so that a tail of few requests is seen; percentiles point from beneath."""
    heights = [log(1.0 + count) for count in picture.counts]
    lines = [f"{picture.metric}, requests by latency (both on logarithmic scales)", *_bars(heights, marks, _HEIGHT,
             labels={_HEIGHT - 1: f"{max(picture.counts)}", 0: "1"})]  # fmt: skip
    columns = len(picture.counts)
    lines.append(" " * _MARGIN + marks.corner + marks.floor * columns)
    low, high = picture.edges_seconds[0], picture.edges_seconds[-1]
    pointers, names = [" "] * columns, [" "] * columns
    for name, value in picture.marks:
        at = min(columns - 1, int(log(value / low) / log(high / low) * columns))
        pointers[at] = marks.pointer
        _put(names, at, name)
    for value in picture.modes_seconds:
        at = min(columns - 1, max(0, int(log(value / low) / log(high / low) * columns)))
        pointers[at] = "M" if pointers[at] == " " else pointers[at]
    indent = " " * (_MARGIN + 1)
    ends = duration(low) + duration(high).rjust(columns - len(duration(low)))
    lines += [indent + "".join(pointers), indent + "".join(names), indent + ends]
    if picture.modes_seconds:
        lines.append(indent + "M modes: " + ", ".join(duration(value) for value in picture.modes_seconds))
    return [line.rstrip() for line in lines]


def tails_text(picture: ConditionalTails) -> list[str]:
    """A table: each quantile in either range, and their ratio."""
    low, high = dict(picture.low), dict(picture.high)
    lines = [
        f"{picture.metric} by {picture.driver}",
        f"{'':>{_MARGIN}}  {'at ' + picture.low_means:>16}  {'at ' + picture.high_means:>16}  {'ratio':>6}",
    ]
    for level in sorted(set(low) & set(high) - {0.0}):
        ratio = high[level] / low[level]
        lines.append(
            f"{f'p{100 * level:g}':>{_MARGIN}}  {duration(low[level]):>16}  {duration(high[level]):>16}  {ratio:>6.2f}"
        )
    return lines


def _put(row: list[str], at: int, name: str) -> None:
    """A label centred at a place, if there is room."""
    start = min(max(at - len(name) // 2, 0), max(len(row) - len(name), 0))
    if all(sign == " " for sign in row[max(start - 1, 0) : start + len(name) + 1]):
        row[start : start + len(name)] = name


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high / low > 1.05 else (low * 0.95, high * 1.05)


def _row(value: float, low: float, high: float, height: int) -> int:
    return round(log(value / low) / log(high / low) * (height - 1))


def _framed(field: Sequence[Sequence[str]], labels: dict[int, str], marks: Marks) -> Iterable[str]:
    for row in reversed(range(len(field))):
        yield f"{labels.get(row, ''):>{_MARGIN}}{marks.side}{''.join(field[row])}"


def _bars(
    values: Sequence[float | None], marks: Marks, height: int = _LOW_HEIGHT, labels: dict[int, str] | None = None
) -> list[str]:
    """Bars from the smallest value to the largest; nothing where a value is unknown."""
    known = [value for value in values if value is not None]
    if not known:
        return []
    low, high = (0.0 if labels is not None else min(known)), max(known)
    steps = len(marks.bars) - 1
    field = []
    for row in range(height):
        cells = []
        for value in values:
            filled = 0.0 if value is None or high <= low else (value - low) / (high - low) * height - row
            cells.append(marks.bars[max(0, min(steps, round(filled * steps)))])
        field.append(cells)
    return list(_framed(field, labels if labels is not None else {0: figures(low), height - 1: figures(high)}, marks))
