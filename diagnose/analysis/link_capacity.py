"""What a link can carry, by its kind: data/link-capacity.yaml, which names the sources."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_FILE = Path(__file__).parent / "data" / "link-capacity.yaml"


@dataclass(frozen=True, slots=True)
class Capacity:
    """One direction of a link or of several in parallel."""

    name: str
    """In words, e.g. `PCIe 4.0 x16`."""
    bytes_per_second: float
    """Of the payload in theory."""
    achievable_ratio: float | None = None
    """Share of it that large copies reach on healthy machines, where it is known."""


@cache
def _rows(kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))[kind]["rows"]
    return found


def pcie(generation: int | None, lanes: int | None) -> Capacity | None:
    """A PCIe link; None where either is not known."""
    row = next((row for row in _rows("pcie") if row["generation"] == generation), None)
    if row is None or not lanes:
        return None
    return Capacity(f"PCIe {generation}.0 x{lanes}", row["lane_bytes_per_second"] * lanes, row.get("achievable_ratio"))


def pcie_generation(gigatransfers_per_second: float | None) -> int | None:
    """Generation by its transfer rate."""
    rows = _rows("pcie")
    return next(
        (row["generation"] for row in rows if row["gigatransfers_per_second"] == gigatransfers_per_second), None
    )


def nvlink(product_name: str | None, links: int | None) -> Capacity | None:
    """Bonded NVLinks of a product; None where either is not known."""
    row = _matching("nvlink", "product", product_name)
    if row is None or not links:
        return None
    return Capacity(f"{links} NVLinks", row["link_bytes_per_second"] * links, row.get("achievable_ratio"))


def between_sockets(processor_name: str | None) -> Capacity | None:
    """The link between two sockets; None for processors that the table lacks."""
    row = _matching("socket", "processor", processor_name)
    return Capacity("the link between the sockets", row["bytes_per_second"]) if row is not None else None


def _matching(kind: str, key: str, name: str | None) -> dict[str, Any] | None:
    return next((row for row in _rows(kind) if re.search(row[key], name)), None) if name else None
