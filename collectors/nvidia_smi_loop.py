"""Files that hold nothing but `nvidia-smi dmon`, or the rows of one `nvidia-smi --query-gpu=... -l`, of any length.

They are read in pieces, and what is said of them as a whole comes from lines in equal distances.
"""

from __future__ import annotations

from typing import ClassVar

from collectors.base import Block, BlockCollector, FileCollector, OpenFile, Parsed
from collectors.nvidia_smi_dmon import DMON_COLUMNS, NvidiaSmiDmon, dmon_titles
from collectors.nvidia_smi_layouts import dmon_layout, query_layout, subject_namer, without_units
from collectors.nvidia_smi_query import NvidiaSmiQuery, header, split_row
from collectors.telemetry_table import Layout, Sample, TelemetryTable
from diagnose.facts import Source


class _LoopFile(FileCollector):
    """What the two have in common."""

    block: ClassVar[type[BlockCollector]]

    @classmethod
    def layout(cls, first: str) -> Layout | None:
        """The layout that the first line tells."""
        raise NotImplementedError

    @classmethod
    def fits(cls, line: str, layout: Layout) -> bool:
        """Whether a line is a row."""
        raise NotImplementedError

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Titles first, and nothing but rows below as far as can be seen."""
        if len(head) < 4096:
            return False
        lines = head.decode("utf-8", "replace").splitlines()[:-1]
        layout = cls.layout(lines[0]) if lines else None
        return layout is not None and all(cls.fits(line, layout) for line in lines[1:] if line.strip())

    @classmethod
    def parse(cls, file: OpenFile) -> Parsed:
        """Facts of the block collector over a sample, and series of every row."""
        sample = Sample()
        table: TelemetryTable | None = None
        layout: Layout | None = None
        for piece in file.chunks():
            sample.take(piece)
            if table is None:
                layout = cls.layout(sample.lines[0].text) if sample.lines else None
                if layout is None:
                    return Parsed(problems=["line 1: no titles of columns"])
                table = TelemetryTable(layout)
                piece = piece[piece.find(b"\n") + 1 :]
            table.take(without_units(piece))
        if table is None or layout is None:
            return Parsed(problems=["line 1: the file is empty"])
        parsed = cls.block.parse(Block(path=file.name, lines=sample.lines))
        parsed.series = list(table.series(subject_namer(layout.keys, None), Source(path=file.name, line=1)))
        return parsed


class NvidiaSmiDmonFile(_LoopFile):
    """A file that holds nothing but `nvidia-smi dmon`."""

    kind: ClassVar[str] = NvidiaSmiDmon.kind
    block: ClassVar[type[BlockCollector]] = NvidiaSmiDmon

    @classmethod
    def layout(cls, first: str) -> Layout | None:
        """Titles."""
        titles = dmon_titles(first)
        return dmon_layout(titles, DMON_COLUMNS, None) if titles else None

    @classmethod
    def fits(cls, line: str, layout: Layout) -> bool:
        """A comment or as many cells as titles."""
        return line.lstrip().startswith("#") or len(line.split()) == len(layout.columns)


class NvidiaSmiQueryFile(_LoopFile):
    """A file that holds nothing but the rows of one query with times."""

    kind: ClassVar[str] = NvidiaSmiQuery.kind
    block: ClassVar[type[BlockCollector]] = NvidiaSmiQuery

    @classmethod
    def layout(cls, first: str) -> Layout | None:
        """The header."""
        names = header(first)
        return query_layout(names, split_row(first)) if names is not None else None

    @classmethod
    def fits(cls, line: str, layout: Layout) -> bool:
        """As many cells as titles, the first a time."""
        return line.count(",") == len(layout.columns) - 1
