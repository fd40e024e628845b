"""The collectors that read files, in the order in which they are asked."""

from __future__ import annotations

from collectors.base import BlockCollector, LineCollector

BLOCK_COLLECTORS: tuple[type[BlockCollector], ...] = ()

LINE_COLLECTORS: tuple[type[LineCollector], ...] = ()
