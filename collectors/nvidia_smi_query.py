"""`nvidia-smi --query-gpu=... --format=csv` and its sisters for processes, retired pages and remapped rows.

    index, name, utilization.gpu [%], power.draw [W]
    0, NVIDIA L40S, 9 %, 110.23 W

With `noheader` the columns come from the command, where it is known, and else from the values. Of several rows of
one GPU (`-l`) gauges give their median.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.nvidia_smi_columns import (
    BUS_ID,
    COLUMNS,
    COMMON,
    COUNT,
    HEALTH,
    HOST,
    INDEX,
    KNOWN,
    PROCESS_COLUMNS,
    PROCESS_ID,
    UUID,
    column_name,
    take_reasons_mask,
)
from collectors.nvidia_smi_facts import driver_fact, fabric_degraded, inventory_facts, nothing_found
from collectors.nvidia_smi_guess import guess_columns
from collectors.nvidia_smi_layouts import block_series, query_layout
from collectors.nvidia_smi_reading import Reading
from collectors.nvidia_smi_values import absence, integer, uuid, version
from diagnose.facts import Fact, Missing, Subject, normalise_bus_id
from diagnose.facts.gpu import GpuFabric, GpuProcess, GpuRecovery, GpuRetiredPages, GpuUnreachable
from diagnose.facts.host import Driver

_TITLE = re.compile(r"^[a-z]\w*(?:\.\w+)*(?: \[[A-Za-z%/]+\])?$", re.ASCII)
_ROW_BEGINNING = re.compile(r"^(?:[0-9]|GPU-|NVIDIA )")
_MOST_COLUMNS = 1000
_COMMAND = re.compile(r"--query-(?:gpu|compute-apps|remapped-rows|retired-pages)[= ]\s*[\"']?([\w.,]+)")
_CAUSES = {"single bit ecc": "single_bit", "double bit ecc": "double_bit"}


class NvidiaSmiQuery(BlockCollector):
    """Comma-separated values."""

    kind: ClassVar[str] = "nvidia-smi-query"
    literals: ClassVar[tuple[bytes, ...]] = (
        # Names of columns stand before or after a comma; as bare words they fill logs and traces.
        *(b"\nname", b"name,", b", name", b",name", b"\nuuid", b"uuid,", b"gpu_uuid", b", uuid", b"bus_id"),
        b"utilization.",
        b"memory.",
        b"temperature.",
        b"power.",
        *(b"clocks.", b"clocks_", b"pstate"),
        b"ecc.",
        b"remapped_rows.",
        b"retired_pages.",
        b"pcie.link",
        b"driver_version",
    )
    command: ClassVar[re.Pattern[str] | None] = re.compile(
        r"\bnvidia-smi\b.*--query-(?:gpu|compute-apps|remapped-rows|retired-pages)"
    )

    @classmethod
    def opens(cls, text: str) -> bool:
        """A header: names of columns, most of them known."""
        return header(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Rows of one length whose columns can be told by their values."""
        rows = [split_row(line) for line in lines]
        width = max((len(row) for row in rows), default=0)
        fitting = [row for row in rows if len(row) == width]
        if width < 2 or len(fitting) * 2 < len(rows) or guess_columns(fitting) is None:
            return 0.0
        return 0.5 + len(fitting) / len(rows) * 0.3

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of every GPU, process and page that the rows name."""
        parsed = Parsed()
        names, lines = _columns_of(block)
        if names is None:
            parsed.problems += nothing_found(block, "what the columns mean is not certain")
            return parsed
        rows: list[tuple[Line, dict[str, str]]] = []
        for line in lines:
            cells = split_row(line.text)
            if len(cells) == len(names):
                rows.append((line, _by_name(names, cells)))
            elif len(cells) > 1 and _ROW_BEGINNING.match(cells[0]):
                parsed.problems.append(f"line {line.number}: {len(cells)} values for {len(names)} columns")
        if PROCESS_ID in names:
            parsed.facts += _process_facts(rows, block)
        elif "retired_pages.cause" in names:
            parsed.facts += _page_facts(rows, block)
        elif len(rows) > 1 and not {INDEX, UUID, BUS_ID}.intersection(names):
            # The rows may be many GPUs once or one GPU many times.
            parsed.problems.append(f"line {rows[0][0].number}: the rows do not say which GPUs they are of")
        else:
            parsed.facts += _gpu_facts(rows, block)
            layout = query_layout(names, _titles_of(block) or names)
            if layout is not None:
                parsed.series += block_series(block, layout, [line for line, _ in rows])
        return parsed


def header(text: str) -> list[str] | None:
    """Names of the columns where a line is a header: known ones, and one at least that only nvidia-smi has."""
    titles = split_row(text)
    if not all(map(_TITLE.match, titles)) or (len(titles) < 2 and "[" not in text):
        return None
    names = [column_name(title) for title in titles]
    known = [name for name in names if name in KNOWN]
    enough = len(known) * 2 > len(names) or len(known) >= 8
    return names if enough and not COMMON.issuperset(known) else None


def split_row(text: str) -> list[str]:
    """Cells of a row; nvidia-smi quotes nothing, and has some 200 columns."""
    return [cell.strip() for cell in text.split(",", maxsplit=_MOST_COLUMNS)]


def _by_name(names: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    """Cells by column; the first of two columns of one name counts."""
    row: dict[str, str] = {}
    for name, cell in zip(names, cells, strict=True):
        row.setdefault(name, cell)
    return row


def _columns_of(block: Block) -> tuple[list[str] | None, Sequence[Line]]:
    """Names of the columns, and the lines after the header, or all where there is none."""
    for position, line in enumerate(block.lines):
        if names := header(line.text):
            return names, block.lines[position + 1 :]
    if asked := _COMMAND.search(block.command or ""):
        return [column_name(name) for name in asked[1].split(",")], block.lines
    rows = [split_row(line.text) for line in block.lines if line.text.strip()]
    width = max(map(len, rows), default=0)
    fitting = [row for row in rows if len(row) == width]
    return (guess_columns(fitting) if width > 1 else None), block.lines


def _titles_of(block: Block) -> list[str]:
    """Titles with units, where there is a header."""
    return next((split_row(line.text) for line in block.lines if header(line.text)), [])


def _subject(row: dict[str, str], base: Subject) -> Subject:
    return _named(base, row.get(INDEX, ""), row.get(UUID, ""), row.get(BUS_ID, ""), row.get(HOST, ""))


@lru_cache(maxsize=1024)
def _named(base: Subject, index: str, uuid_text: str, bus_id: str, host: str) -> Subject:
    """A loop writes the same few names many thousand times."""
    return base.model_copy(
        update={
            "gpu_index": int(index) if index.isascii() and index.isdigit() and len(index) < 5 else None,
            "gpu_uuid": uuid(uuid_text),
            "gpu_bus_id": normalise_bus_id(bus_id),
            "host": base.host if not host or absence(host) else host,
        }
    )


def _gpu_facts(rows: Sequence[tuple[Line, dict[str, str]]], block: Block) -> Iterator[Fact]:
    gpus: dict[Subject, Reading] = {}
    lines: dict[Subject, int] = {}
    drivers: dict[str, int] = {}
    attached: int | None = None
    base = block.subject()
    for line, row in rows:
        subject = _subject(row, base)
        reading = gpus.setdefault(subject, Reading())
        lines.setdefault(subject, line.number)
        _take_row(reading, row, line.number)
        if number := version(row.get("driver_version", "")) or version(row.get("kmd_version", "")):
            drivers.setdefault(number, line.number)
        attached = integer(row.get(COUNT, "")) or attached
    for number, first in drivers.items():
        yield driver_fact(block, first, number, None)
    indices = [subject.gpu_index for subject in gpus if subject.gpu_index is not None]
    # One row alone may be one GPU of many that somebody asked for.
    if gpus and (attached is not None or len(gpus) > 1):
        yield from inventory_facts(block, None, len(gpus), attached, max(indices, default=None))
    for subject, reading in gpus.items():
        yield from reading.facts(subject, block)
        if Missing.LOST in reading.reasons():
            source = block.source(lines[subject])
            yield GpuUnreachable(subject=subject, sources=(source,), message="GPU is lost", reason="lost")


def _take_row(reading: Reading, row: dict[str, str], line: int) -> None:
    for name, cell in row.items():
        column = COLUMNS.get(name)
        if column is not None and column.kind is not Driver and not _is_second_name(name, row):
            reading.take(column.kind, column.name, cell, column.convert, line)
        elif name.endswith("_reasons.active") and not any("_reasons.hw" in other for other in row):
            take_reasons_mask(reading, cell, line)
        if "requires reset" in cell.lower():
            reading.put(GpuRecovery, "reset_required", True, line)
    health = {name.removeprefix(HEALTH).replace("_", " "): row[name] for name in row if name.startswith(HEALTH)}
    reading.put(GpuFabric, "health_degraded", fabric_degraded(health), line)


def _is_second_name(name: str, row: dict[str, str]) -> bool:
    """Whether another column says the same thing better."""
    better = {"power.limit": "enforced.power.limit", "power.draw": "power.draw.average"}.get(name)
    return better in row and not absence(row[better])


def _process_facts(rows: Sequence[tuple[Line, dict[str, str]]], block: Block) -> Iterator[Fact]:
    seen: set[Subject] = set()
    for line, row in rows:
        process_id = integer(row.get(PROCESS_ID, ""))
        subject = _subject(row, block.subject()).model_copy(update={"process_id": process_id})
        if process_id is None or subject in seen:
            continue
        seen.add(subject)
        reading = Reading()
        reading.put(GpuProcess, "type", "C", line.number)
        for name, column in PROCESS_COLUMNS.items():
            if name in row:
                reading.take(column.kind, column.name, row[name], column.convert, line.number)
        yield from reading.facts(subject, block)


def _page_facts(rows: Sequence[tuple[Line, dict[str, str]]], block: Block) -> Iterator[Fact]:
    """Pages are listed one a row; a row without address only says that a cause cannot be asked for."""
    counts: dict[Subject, dict[str, int]] = {}
    lines: dict[Subject, int] = {}
    for line, row in rows:
        cause = _CAUSES.get(row["retired_pages.cause"].lower())
        if cause is None or absence(row.get("retired_pages.address", "")):
            continue
        gpu = _subject(row, block.subject())
        pages = counts.setdefault(gpu, dict.fromkeys(_CAUSES.values(), 0))
        pages[cause] += 1
        lines.setdefault(gpu, line.number)
    for gpu, pages in counts.items():
        yield GpuRetiredPages(subject=gpu, sources=(block.source(lines[gpu]),), **pages)
