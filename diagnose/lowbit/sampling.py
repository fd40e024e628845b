"""Which part of a large matrix is looked at."""

from __future__ import annotations

import numpy as np

from diagnose.lowbit.codes import Indices

_SAMPLE_ELEMENTS = 1 << 18
_MOST_ROWS, FEWEST_ROWS = 64, 16


def sample_rows(high: int, wide: int, most: int = _SAMPLE_ELEMENTS) -> Indices:
    """Rows to look at: spread evenly, none at a regular distance that blocks or heads share."""
    count = min(high, max(FEWEST_ROWS, min(_MOST_ROWS, most // max(wide, 1))))
    edges = np.linspace(0, high, count + 1).astype(np.intp)
    widths = np.maximum(edges[1:] - edges[:-1], 1)
    rows: Indices = edges[:-1] + (np.arange(count, dtype=np.intp) * 2654435761 % 4294967296) % widths
    return rows
