"""The comparison for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from diagnose.printable import printable
from diagnose.report.comparison.model import CauseChange, CauseVerdict, Comparison, FactChange, MeasuredChange
from diagnose.report.numbers import percent

_WORDS = {
    CauseVerdict.GONE: "gone",
    CauseVerdict.STILL_THERE: "still there",
    CauseVerdict.NOT_SHOWN: "not shown",
    CauseVerdict.CAME: "came",
    CauseVerdict.NEW: "new",
}
_MOST_SETTINGS = 60


def write_text(comparison: Comparison, stream: TextIO) -> None:
    """Write it; texts of inputs are made harmless for terminals."""
    for line in _lines(comparison):
        stream.write(printable(line) + "\n")


def _lines(comparison: Comparison) -> Iterator[str]:
    yield f"Before: {comparison.before.name} ({_side(comparison.before.hosts, comparison.before.requests)})"
    yield f"After:  {comparison.after.name} ({_side(comparison.after.hosts, comparison.after.requests)})"
    yield from (f"  Note: {note}." for note in comparison.notes)
    yield from _section("Causes", [line for one in comparison.causes for line in _cause(one)], "none on either side")
    yield from _section(
        "Measured", [_measured(one) for one in comparison.measured], "nothing was measured on both sides"
    )
    yield from _section("Configuration", _facts(comparison.configuration, _MOST_SETTINGS), "no change is seen")
    if comparison.others:
        left_out = comparison.others_left_out
        more = [f"  ... and {left_out} more"] if left_out else []
        yield from _section("Other facts", [*_facts(comparison.others, len(comparison.others)), *more], "")
    yield ""
    yield _conclusion(comparison)


def _side(hosts: Sequence[str], requests: int | None) -> str:
    words = ", ".join(hosts[:4]) + (f" and {len(hosts) - 4} more" if len(hosts) > 4 else "") or "no host"
    return words if requests is None else f"{words}; {requests:,} requests"


def _section(title: str, lines: Sequence[str], nothing: str) -> Iterator[str]:
    yield ""
    yield title
    yield from lines or [f"  {nothing}"]


def _cause(one: CauseChange) -> Iterator[str]:
    chances = [percent(chance) for chance in (one.probability_before, one.probability_after) if chance is not None]
    moved = ", moved" if one.moved else ""
    yield f"  {_WORDS[one.verdict] + moved:<18} {one.title} ({one.id}, {' -> '.join(chances)})"
    yield f"  {'':<18} {one.why}."


def _measured(one: MeasuredChange) -> str:
    interval = "" if one.ratio_low is None else f" [{one.ratio_low - 1:+.1%} to {one.ratio_high - 1:+.1%}]"  # type: ignore[operator]
    values = f"{_value(one.before, one.unit)} -> {_value(one.after, one.unit)}"
    where = "" if one.subject == "requests" else f" at {one.subject}"
    verdict = one.verdict.replace("-", " ")
    return f"  {verdict:<18} {one.quantity}{where}: {values}, {one.ratio - 1:+.1%}{interval}; {one.why}"


def _value(value: float, unit: str) -> str:
    if unit == "seconds":
        return f"{value * 1e3:.4g} ms" if value < 1 else f"{value:.4g} s"
    if unit == "bytes/s":
        return f"{value / 1e9:.4g} GB/s"
    return f"{value:.4g}{'/s' if unit == '1/s' else ''}"


def _facts(changes: Sequence[FactChange], most: int) -> list[str]:
    lines = []
    for one in changes[:most]:
        what = " ".join(filter(None, (one.kind, one.name, one.field)))
        if one.before is None:
            change = f"now there ({one.after})"
        elif one.after is None:
            change = f"no longer there ({one.before})"
        else:
            change = f"{one.before} -> {one.after}"
        lines.append(f"  {one.subject}: {what}: {change}")
    if len(changes) > most:
        lines.append(f"  ... and {len(changes) - most} more")
    return lines


def _conclusion(comparison: Comparison) -> str:
    worse = [one.quantity for one in comparison.measured if one.verdict == "worse"]
    better = [one.quantity for one in comparison.measured if one.verdict == "better"]
    came = [one.id for one in comparison.causes if one.verdict in (CauseVerdict.CAME, CauseVerdict.NEW)]
    gone = [one.id for one in comparison.causes if one.verdict is CauseVerdict.GONE]
    parts = [
        f"{words}: {', '.join(found)}"
        for words, found in (("worse", worse), ("came", came), ("better", better), ("gone", gone))
        if found
    ]
    return ("; ".join(parts).capitalize() if parts else "Nothing is shown to be better or worse") + "."
