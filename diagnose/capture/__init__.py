"""Records what a PyTorch model computes inside, for a comparison of two precisions.

    from diagnose.capture import Recorder

    with Recorder(model, "runs/bf16", role="reference", layers=["*_proj", "lm_head"]) as recorder:
        model(input_ids)

    with Recorder(quantised, "runs/fp8", role="low-bit", same_inputs_as="runs/bf16") as recorder:
        for inputs in recorder.inputs():
            quantised(**inputs)

Each folder holds safetensors files and a manifest; `diagnose lowbit compare runs/bf16 runs/fp8` reads them.
"""

from __future__ import annotations

from diagnose.capture.errors import CaptureError
from diagnose.capture.limits import Limits
from diagnose.capture.recorder import Recorder

__all__ = ["CaptureError", "Limits", "Recorder"]
