"""What the columns of `nvidia-smi --query-...` mean where no header says so, from their values and with care."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.nvidia_smi_columns import BUS_ID, INDEX, UUID
from collectors.nvidia_smi_values import performance_state, size, uuid
from diagnose.facts import normalise_bus_id

_INDEX_CELL = re.compile(r"^[0-9]{1,3}$")
_VERSION_CELL = re.compile(r"^[3-9][0-9]{2}\.[0-9]{2,3}(?:\.[0-9]{2})?$")
_PRODUCT_CELL = re.compile(r"^(?:NVIDIA|GeForce|Tesla|Quadro|GRID|TITAN)\b")
_MASS = re.compile(r"^[0-9]+ MiB$")


def guess_columns(rows: Sequence[Sequence[str]]) -> list[str] | None:
    """Names of columns that have no header, from their values; "" for a column whose meaning is not certain.

    None where the values do not show that this is of nvidia-smi: a GPU's index, UUID or bus id must be there, and
    beside it something that is no plain number.
    """
    columns = [list(cells) for cells in zip(*rows, strict=True)]
    names = [_certain(cells) for cells in columns]
    if columns and all(_INDEX_CELL.match(cell) for cell in columns[0]) and len(set(columns[0])) == len(rows):
        names[0] = INDEX
    _name_percentages(names, columns)
    _name_powers(names, columns)
    _name_memories(names, columns)
    named = {name for name in names if name}
    return names if named.intersection((INDEX, UUID, BUS_ID)) and len(named) > 1 else None


def _certain(cells: Sequence[str]) -> str:
    """What a column is by the form of its values alone."""
    forms = (
        ("pstate", lambda cell: performance_state(cell) is not None),
        (UUID, lambda cell: cell.startswith("GPU-") and uuid(cell) is not None),
        (BUS_ID, lambda cell: cell.count(":") == 2 and normalise_bus_id(cell) is not None),
        ("driver_version", lambda cell: _VERSION_CELL.match(cell) is not None),
        ("name", lambda cell: _PRODUCT_CELL.match(cell) is not None),
    )
    return next((name for name, fits in forms if all(map(fits, cells))), "")


def _with_unit(columns: Sequence[Sequence[str]], unit: str) -> list[int]:
    """Columns of numbers with this unit."""
    form = re.compile(rf"^(?:[0-9.]+ {re.escape(unit)}|\[?N/A\]?)$")
    return [
        position
        for position, cells in enumerate(columns)
        if all(map(form.match, cells)) and any(cell.endswith(unit) for cell in cells)
    ]


def _name_percentages(names: list[str], columns: Sequence[Sequence[str]]) -> None:
    """One is the use of the GPU; two are that and the use of memory, the usual order. More may be anything."""
    found = _with_unit(columns, "%")
    if len(found) <= 2:
        for position, name in zip(found, ("utilization.gpu", "utilization.memory"), strict=False):
            names[position] = name


def _name_powers(names: list[str], columns: Sequence[Sequence[str]]) -> None:
    found = _with_unit(columns, "W")
    if len(found) == 1:
        names[found[0]] = "power.draw"
    elif len(found) == 2 and len(set(columns[found[1]])) == 1:
        names[found[0]], names[found[1]] = "power.draw", "power.limit"


def _name_memories(names: list[str], columns: Sequence[Sequence[str]]) -> None:
    """One beside values that change is what is used; one beside names only is the total; of two the larger is that."""
    found = [position for position in _with_unit(columns, "MiB") if all(map(_MASS.match, columns[position]))]
    if len(found) == 1:
        changing = {"pstate", "utilization.gpu", "power.draw"}.intersection(names)
        names[found[0]] = "memory.used" if changing else "memory.total"
    elif len(found) == 2:
        first, second = ([size(cell) or 0 for cell in columns[position]] for position in found)
        if all(one <= other for one, other in zip(first, second, strict=True)):
            names[found[0]], names[found[1]] = "memory.used", "memory.total"
        elif all(one >= other for one, other in zip(first, second, strict=True)):
            # What follows the total may be what is used or what is free.
            names[found[0]] = "memory.total"
