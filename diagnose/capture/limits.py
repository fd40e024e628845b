"""How much a capture may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one capture. It ends cleanly at the first that is reached; the model runs on without it."""

    memory_bytes: int = 512 << 20
    """Tensors held before they are written."""
    disk_bytes: int = 4 << 30
    """Files written in all."""
    passes: int = 64
    """Calls of the model that are recorded."""
