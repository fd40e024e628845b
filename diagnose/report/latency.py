"""The answer of `diagnose latency`: as JSON, schema `diagnose.latency/1`, and as text with pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TextIO

from pydantic import BaseModel, ConfigDict, Field

from diagnose.analysis.latency.alignment import NO_OVERLAP, NOT_ALIGNABLE
from diagnose.analysis.latency.as_facts import facts_of
from diagnose.analysis.latency.association import ASSOCIATED, EXPLAINED, Association
from diagnose.analysis.latency.load import CLOSED
from diagnose.analysis.latency.study import StreamStudy, Study
from diagnose.analysis.latency.wall_clock import named
from diagnose.facts.base import Fact
from diagnose.report.latency_picture import (
    clock_label,
    conditional_tails,
    distribution,
    driver_name,
    driver_value,
    duration,
    over_time,
    suspect,
)
from diagnose.report.latency_plot import columns_of, distribution_text, marks_for, over_time_text, tails_text
from diagnose.report.paper import Paper

SCHEMA: Literal["diagnose.latency/1"] = "diagnose.latency/1"


class LatencyFact(BaseModel):
    """A fact about latency."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    subject: str = Field(description="As reports print it")
    fields: dict[str, Any] = Field(description="Those of the kind that have a value: docs/facts.md")


class LatencyReport(BaseModel):
    """The whole answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["diagnose.latency/1"] = Field(default=SCHEMA, alias="schema")
    facts: tuple[LatencyFact, ...]


def latency_report(found: Sequence[StreamStudy]) -> LatencyReport:
    """Every fact of the streams."""
    return LatencyReport(facts=tuple(_fact(fact) for stream in found for fact in facts_of(stream)))


def _fact(fact: Fact) -> LatencyFact:
    return LatencyFact(kind=fact.kind, subject=fact.subject.path(), fields=fact.values())


def write_latency(found: StreamStudy, shown: Sequence[Study], stream: TextIO) -> None:
    """Text: numbers of each latency that is shown, and its pictures."""
    paper, marks = Paper(stream), marks_for(getattr(stream, "encoding", None))
    failed = f", {found.stream.failed} failed" if found.stream.failed else ""
    paper.paragraph(f"{found.stream.name}{failed}", style="bold")
    for sentence in _load(found):
        paper.paragraph(sentence)
    for study in shown:
        paper.line()
        for sentence in (*_quantiles(study), *_shape(study), *_time(study), *_parts(found, study)):
            paper.paragraph(sentence)
        for item in study.associations:
            if item.verdict in (ASSOCIATED, EXPLAINED):
                paper.paragraph(association_sentence(item))
        drawn = suspect(study)
        columns = columns_of(paper.width)
        for lines in (
            over_time_text(picture, marks) if (picture := over_time(study, columns, drawn)) is not None else [],
            distribution_text(shape, marks) if (shape := distribution(study, columns)) is not None else [],
            tails_text(tails) if drawn is not None and (tails := conditional_tails(study, drawn)) is not None else [],
        ):
            if lines:
                paper.line()
            for line in lines:
                paper.line(line)
    for alignment in found.alignments:
        if alignment.verdict in (NOT_ALIGNABLE, NO_OVERLAP):
            paper.line()
            paper.paragraph(f"{alignment.origin}: {len(alignment.series)} series are left out: {alignment.reason}.")


def _load(found: StreamStudy) -> Iterator[str]:
    told = found.arrivals
    if told is None:
        return
    loop = {
        "closed": "requests begin when others end (closed loop)",
        "open": "requests begin regardless of others (open loop)",
    }.get(told.loop, "whether requests wait for others is not shown")
    yield (
        f"{told.rate:.3g} requests a second, {told.concurrency_mean:.3g} under way on average, "
        f"{told.concurrency_max} at most; {loop}."
    )
    if told.omission and told.omitted_ratio is not None:
        yield (
            f"In stalls {told.omitted_ratio:.0%} of the requests that an even rate would send are missing: the tail is "
            "understated (coordinated omission)."
        )
    elif told.loop == CLOSED:
        yield "A closed loop sends less while the server is slow: its tail says little of one that is open."


def _quantiles(study: Study) -> Iterator[str]:
    told = study.quantiles
    if study.stream.quantile is not None:
        yield f"{study.metric}: {told.count} samples of p{100 * study.stream.quantile:g}, as the server tells it."
        return
    parts = []
    for level, quantile in told.by_level.items():
        interval = ""
        if quantile.low > 0.0:
            upper = f"to {duration(quantile.high)}" if quantile.closed else "or more"
            interval = f" ({duration(quantile.low)} {upper})"
        parts.append(f"p{100 * level:g} {duration(quantile.value)}{interval}")
    quantiles = ", ".join(parts) or "Too few for any quantile"
    yield f"{study.metric}: {told.count} values, worth {told.effective:.0f} independent ones. {quantiles}."
    if (ratio := told.tail_ratio()) is not None:
        interval = f" (95% interval {ratio.low:.2f} to {ratio.high:.2f})" if ratio.closed else ""
        yield f"p99 is {ratio.value:.2f} times the median{interval}."
    if told.resolvable < 0.99:
        yield "The sample is too small, or its requests too much alike, for an interval of p99."
    if study.resolution:
        yield f"Values are recorded in steps of {duration(study.resolution)}."


def _shape(study: Study) -> Iterator[str]:
    if study.modes is not None and study.modes.found:
        shares = " and ".join(f"{duration(mode.centre)} ({mode.share:.0%})" for mode in study.modes.modes)
        yield f"{len(study.modes.modes)} modes: {shares}."
    found = study.bursts
    if found is not None and found.found:
        together = f", {len(found.groups)} bursts of several" if found.groups else ", at random times"
        middle = sorted(found.excess.tolist())[len(found.excess) // 2]
        yield (
            f"{len(found.outliers)} stalls beyond {duration(found.limit)}, {duration(middle)} longer than the median "
            f"request{together}."
        )


def _time(study: Study) -> Iterator[str]:
    for level, trends in study.trends.items():
        name, change, drift = f"p{100 * level:g}", trends.change, trends.drift
        if change.stands and study.target is not None:
            grid = study.target.grid
            at = grid.start_seconds + change.at * grid.count * grid.width_seconds / trends.count
            when = clock_label(study.stream.clock, at, grid.start_seconds)
            yield (
                f"{name} changes at {when} from {duration(change.before)} to {duration(change.after)}, "
                f"{change.after / change.before:.2f} times ({change.low:.2f} to {change.high:.2f})."
            )
        if drift.stands:
            yield f"{name} drifts: at the end it is {drift.ratio:.2f} times the beginning."
    for period in study.search.periods if study.search is not None else ():
        clock = named(period.seconds, period.error_seconds)
        of_clock = f", a period of the clock ({clock[1]})" if clock is not None else ""
        yield (
            f"Slow every {period.seconds:.4g} s (± {period.error_seconds:.2g} s){of_clock}; false-alarm probability "
            f"{max(period.p_value, 1e-99):.1g}."
        )


def _parts(found: StreamStudy, study: Study) -> Iterator[str]:
    told = found.parts.get(study.metric)
    if told is None:
        return
    shares = ", ".join(f"{name} {share.value:.0%}" for name, share in told.shares.items())
    rest = f", {told.unattributed:.0%} in no measured part" if told.unattributed > 0.01 else ""
    yield f"The slowest requests take {duration(told.excess)} more than the median: {shares}{rest}."


_FELT = 1.1
"""A p99 that changes by less is no reason of anybody's complaint."""


def association_sentence(found: Association) -> str:
    """What is found of a driver, in a sentence."""
    name, words = driver_name(found.candidate), ""
    if found.tails is not None and found.driver_low is not None and found.driver_high is not None:
        metric = found.candidate.metric
        words = (
            f": p99 is {duration(found.tails.p99_high)} at {driver_value(metric, found.driver_high)} and "
            f"{duration(found.tails.p99_low)} at {driver_value(metric, found.driver_low)}"
        )
    if found.ratio is not None:
        words += f", {found.ratio.value:.2f} times ({found.ratio.low:.2f} to {found.ratio.high:.2f})"
    if found.ratio is not None and max(found.ratio.high, 1 / found.ratio.low) < _FELT:
        return f"Goes along with {name}, and too little to be felt{words}."
    if found.explained_by is not None:
        return f"Goes along with {name}{words}, which {driver_name(found.explained_by)} explains."
    reason = f"; it {found.reason}" if found.reason else ""
    return f"Goes along with {name}{words}{reason}."
