"""`.pt` and `.pth` files are pickles. They are read only by PyTorch's loader that refuses everything but tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from diagnose.lowbit.tensors import Array, Tensor, TensorError


def read_torch(path: Path) -> dict[str, Tensor]:
    """The tensors of a file, mapped where it allows. Raises TensorError, also where PyTorch is not installed."""
    try:
        import torch
    except ImportError:
        raise TensorError(
            f"{path}: .pt files are pickles and read only by PyTorch's loader for weights, which is not installed: "
            "install gpu-diagnose[capture], or save as safetensors"
        ) from None
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # the loader raises whatever a hostile file leads it to
        raise TensorError(f"{path}: PyTorch's loader for weights refuses it: {type(error).__name__}") from error
    found = {}
    for name, value in _named(loaded, ""):
        found[name or path.stem] = _tensor(name or path.stem, value, path)
    return found


def _named(node: Any, name: str) -> list[tuple[str, Any]]:
    import torch

    if isinstance(node, torch.Tensor):
        return [(name, node)]
    if isinstance(node, dict):
        pairs = [(str(key), value) for key, value in node.items()]
    elif isinstance(node, list | tuple):
        pairs = [(str(at), value) for at, value in enumerate(node)]
    else:
        return []
    return [item for key, value in pairs for item in _named(value, f"{name}.{key}" if name else key)]


def _tensor(name: str, value: Any, path: Path) -> Tensor:
    import torch

    from diagnose.lowbit.types import SAFETENSORS

    views = {
        torch.bfloat16: (torch.int16, "BF16"),
        torch.float8_e4m3fn: (torch.uint8, "F8_E4M3"),
        torch.float8_e5m2: (torch.uint8, "F8_E5M2"),
        torch.float8_e4m3fnuz: (torch.uint8, "F8_E4M3FNUZ"),
        torch.float8_e5m2fnuz: (torch.uint8, "F8_E5M2FNUZ"),
    }
    value = value.detach()

    def load() -> Array:
        if value.dtype in views:
            carrier, kind = views[value.dtype]
            return value.contiguous().view(carrier).numpy().view(SAFETENSORS[kind])  # type: ignore[no-any-return]
        return value.numpy()  # type: ignore[no-any-return]

    kind = SAFETENSORS[views[value.dtype][1]].name if value.dtype in views else str(value.dtype).removeprefix("torch.")
    return Tensor(name, tuple(value.shape), kind, load, str(path))
