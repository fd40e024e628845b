"""Writes tensors to numbered safetensors files, within bounds of memory and disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from diagnose.capture.errors import CaptureError
from diagnose.capture.limits import Limits

Progress = Callable[[int, int], None]
"""Gets the tensors and the bytes so far."""


class Store:
    """Holds tensors until they fill the memory allowed, then writes a file."""

    def __init__(self, folder: Path, limits: Limits, progress: Progress | None = None) -> None:
        self.folder = folder
        self.files: list[str] = []
        self.order: list[str] = []
        self._limits = limits
        self._progress = progress
        self._held: dict[str, Any] = {}
        self._held_bytes = 0
        self._total_bytes = 0

    def add(self, name: str, tensor: Any) -> bool:
        """Keep a tensor of the processor's memory; false where it would pass the limit of the disk."""
        size = tensor.numel() * tensor.element_size()
        if self._total_bytes + size > self._limits.disk_bytes:
            return False
        if self._held and self._held_bytes + size > self._limits.memory_bytes:
            self.flush()
        self._held[name] = tensor
        self._held_bytes += size
        self._total_bytes += size
        self.order.append(name)
        if self._progress is not None:
            self._progress(len(self.order), self._total_bytes)
        return True

    def flush(self) -> None:
        """Write what is held. Raises CaptureError where the disk refuses."""
        if not self._held:
            return
        from safetensors.torch import save_file

        name = f"tensors-{len(self.files):05d}.safetensors"
        try:
            save_file(self._held, self.folder / name)
        except OSError as error:
            raise CaptureError(f"{self.folder / name} cannot be written: {error}") from error
        self.files.append(name)
        self._held = {}
        self._held_bytes = 0
