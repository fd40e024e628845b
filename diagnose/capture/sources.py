"""Where a capture's model and inputs come from: a function of the user's, or a folder of Hugging Face's layout."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diagnose.capture.errors import CaptureError
from diagnose.capture.torch_module import torch

_IDS = ("prompt_token_ids", "input_ids", "token_ids")


def model_from_function(place: str) -> Any:
    """What `module:function` returns, a model ready to be called; modules of the working folder are found too."""
    name, _, attribute = place.partition(":")
    if not name or not attribute:
        raise CaptureError(f"{place!r} is not of the form module:function")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        function = getattr(importlib.import_module(name), attribute)
    except (ImportError, AttributeError) as error:
        raise CaptureError(f"{place} cannot be imported: {error}") from error
    kind = torch().nn.Module
    try:
        model = function()
    except Exception as error:
        raise CaptureError(f"{place} failed: {type(error).__name__}: {error}") from error
    if not isinstance(model, kind):
        raise CaptureError(f"{place} returns {type(model).__name__}, not a torch.nn.Module")
    return model.eval()


def model_from_folder(path: str, dtype: str | None) -> Any:
    """A causal language model by transformers; code that comes with a model is never run."""
    try:
        from transformers import AutoModelForCausalLM  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise CaptureError("models by folder need transformers: pip install transformers") from error
    kind = getattr(torch(), dtype, None) if dtype else "auto"
    if kind is None:
        raise CaptureError(f"{dtype!r} is no data type of PyTorch, such as bfloat16")
    return AutoModelForCausalLM.from_pretrained(path, torch_dtype=kind, trust_remote_code=False).eval()


def prompts_of(path: Path) -> Iterator[dict[str, Any]]:
    """Inputs of a file of JSON lines, each with token ids under `prompt_token_ids` or `input_ids`."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise CaptureError(f"{path} cannot be read: {error}") from error
    count = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise CaptureError(f"{path}:{number} is no JSON") from error
        ids = next((record[name] for name in _IDS if isinstance(record, dict) and name in record), None)
        if not isinstance(ids, list) or not ids or not all(isinstance(item, int) for item in ids):
            raise CaptureError(f"{path}:{number} holds no list of token ids under {', '.join(_IDS)}")
        count += 1
        yield {"input_ids": torch().tensor([ids])}
    if not count:
        raise CaptureError(f"{path} holds no prompt")
