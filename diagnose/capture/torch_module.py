"""PyTorch, which is an extra: imported when it is used, and named where it is absent."""

from __future__ import annotations

from typing import Any

from diagnose.capture.errors import CaptureError


def torch() -> Any:
    """The module. Raises CaptureError with the name of the extra."""
    try:
        import torch as module
    except ImportError as error:
        raise CaptureError("capture needs PyTorch: pip install 'gpu-diagnose[capture]'") from error
    return module
