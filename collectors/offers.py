"""Offers text that nothing opened to the collectors, which say how much it resembles their format."""

from __future__ import annotations

from functools import partial
from itertools import islice

from collectors.base import Block, BlockCollector, LineCollector, Parsed
from collectors.dispatch import Dispatch
from collectors.feeding import Feeders
from collectors.inputs import InputReport, Status
from collectors.parts import Parts
from collectors.regions import Region

SAMPLE_LINES = 400
"""Lines without blank ones that `resembles` gets."""
LEAST_SCORE = 0.5
_REPORTS_LIMIT = 10
"""A file with more unrecognised regions gets one report for all of them."""


def offer(region: Region, dispatch: Dispatch, feeders: Feeders, parts: Parts) -> bool:
    """Whether a collector recognised the region and read it."""
    sample = list(islice((line.text for line in region.kept() if line.text.strip()), SAMPLE_LINES))
    if not sample:
        return False
    collectors: tuple[type[BlockCollector] | type[LineCollector], ...] = (
        *dispatch.block_collectors,
        *dispatch.line_collectors,
    )
    scored = []
    for order, collector in enumerate(collectors):
        score = parts.guard(collector.kind, region.first_line, partial(collector.resembles, sample), 0.0)
        if score >= LEAST_SCORE:
            scored.append((-score, order, collector))
    for _, order, collector in sorted(scored, key=lambda row: row[:2]):
        if issubclass(collector, LineCollector):
            feeders.claim(order - len(dispatch.block_collectors), region.kept(), region.first_line, region.heading.host)
            return True
        if _parse(collector, region, parts):
            return True
    return False


def _parse(collector: type[BlockCollector], region: Region, parts: Parts) -> bool:
    """A fragment that gives no fact at all was not of the format."""
    heading = region.heading
    block = Block(parts.path, list(region.kept()), heading.command, heading.host, truncated=region.left_out > 0)
    parsed = parts.guard(collector.kind, region.first_line, partial(collector.parse, block), Parsed())
    if not parsed.facts and not parsed.problems:
        return False
    if block.truncated:
        parsed.problems.append(f"{region.left_out:,} lines after line {block.lines[-1].number} were not read")
    parts.add(collector.kind, parsed, region.first_line)
    return True


def unrecognised(path: str, regions: list[Region], whole_file: bool) -> list[InputReport]:
    """One report for each region, or a single one where there are many."""
    if len(regions) > _REPORTS_LIMIT:
        lines = sum(region.lines for region in regions)
        detail = f"{len(regions)} parts with {lines:,} lines together are in no known format"
        return [_report(path, regions[0], lines, detail)]
    whole_file = whole_file and len(regions) == 1
    return [_report(path, region, region.lines, _sentence(region, whole_file)) for region in regions]


def _sentence(region: Region, whole_file: bool) -> str:
    command = region.heading.command
    if whole_file and command is None:
        return "No known format was found in the file"
    what = f"The output of `{command}`" if command else "The text"
    if region.last_line <= region.first_line:
        return f"{what} in line {region.first_line} is in no known format"
    return f"{what} in lines {region.first_line} to {region.last_line} is in no known format"


def _report(path: str, region: Region, lines: int, detail: str) -> InputReport:
    return InputReport(
        path=path, kind="text", status=Status.UNRECOGNISED, detail=detail, first_line=region.first_line, lines=lines
    )
