"""The matrix that `nvidia-smi topo` prints, whatever its cells say: header, rows of cells, NIC legend."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.base import Block, Line

GPU_LABEL = re.compile(r"^GPU(\d{1,4})$")
_DEVICE_LABEL = re.compile(r"^(?:GPU|NIC|NET|mlx|hfi|bnxt|irdma|efa|rdma|roce|ib|qedr|hns|cxi|en)\w*\d\w*$")
_LEGEND = re.compile(r"^\s*(NIC\d+)\s*:\s*(\S+)\s*$")


@dataclass(frozen=True, slots=True)
class Row:
    """One device's row."""

    label: str
    cells: tuple[str, ...]
    """One for each device column; fewer where the row is cut."""
    trailing: tuple[str, ...]
    """What stands right of the device columns: CPU affinity, NUMA affinity, ..."""
    line: Line


@dataclass(slots=True)
class Matrix:
    """A matrix as printed."""

    columns: list[str]
    headings: str
    """The header line, for the question which columns stand right of the devices."""
    rows: list[Row] = field(default_factory=list)
    legend: dict[str, str] = field(default_factory=dict)
    """NIC column to device name."""

    def pairs(self) -> Iterator[tuple[str, str, str, Line]]:
        """Row label, column label, cell and line of every cell off the diagonal."""
        for row in self.rows:
            for column, cell in zip(self.columns, row.cells, strict=False):
                if column != row.label:
                    yield row.label, column, cell, row.line

    def gpu_indices(self) -> list[int]:
        """GPUs that head a column or a row, in rising order."""
        labels = [*self.columns, *(row.label for row in self.rows)]
        return sorted({index for label in labels if (index := gpu_index(label)) is not None})


def gpu_index(label: str) -> int | None:
    """`GPU3` is 3; None for any other device."""
    match = GPU_LABEL.match(label)
    return int(match.group(1)) if match else None


def device_columns(text: str) -> list[str]:
    """Device labels of a header line; empty where the line is none."""
    tokens = text.split()
    if not tokens or not GPU_LABEL.match(tokens[0]):
        return []
    columns: list[str] = []
    for token in tokens:
        if not _DEVICE_LABEL.match(token):
            break
        columns.append(token)
    rest = tokens[len(columns) :]
    return columns if not rest or rest[0] in ("CPU", "NUMA", "GPU") else []


def read_matrix(block: Block) -> Matrix | None:
    """The first matrix of a block; None where no header is found."""
    matrix: Matrix | None = None
    for line in block.lines:
        if matrix is None:
            if columns := device_columns(line.text):
                matrix = Matrix(columns, line.text)
            continue
        if legend := _LEGEND.match(line.text):
            matrix.legend[legend.group(1)] = legend.group(2)
        elif row := _row(line, len(matrix.columns)):
            matrix.rows.append(row)
    return matrix


def _row(line: Line, width: int) -> Row | None:
    tokens = line.text.split()
    if len(tokens) < 2 or not _DEVICE_LABEL.match(tokens[0]):
        return None
    parts = tokens
    if "\t" in line.text:
        # Empty cells between tabs keep their place: newer drivers print two tabs ahead of the last column.
        parts = [part.strip() for part in line.text.strip(" ").lstrip("\t").split("\t")]
    return Row(parts[0], tuple(parts[1 : 1 + width]), tuple(parts[1 + width :]), line)
