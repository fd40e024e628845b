"""What a capture may fail with."""

from __future__ import annotations


class CaptureError(Exception):
    """A capture cannot begin or go on; the text says why and what would help."""
