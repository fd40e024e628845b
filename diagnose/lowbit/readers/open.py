"""A file or folder to the set of its tensors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diagnose.lowbit.readers.gguf import read_gguf
from diagnose.lowbit.readers.numpy_files import read_npy, read_npz
from diagnose.lowbit.readers.onnx_tensor import read_onnx_tensor
from diagnose.lowbit.readers.polygraphy import read_polygraphy
from diagnose.lowbit.readers.safetensors import MOST_HEADER_BYTES, read_safetensors
from diagnose.lowbit.readers.torch_files import read_torch
from diagnose.lowbit.tensors import Tensor, TensorError, TensorSet

_MOST_SETTINGS_BYTES = 16 << 20
_PICKLES = (".pt", ".pth", ".bin")
_SUFFIXES = (".safetensors", ".gguf", ".npz", ".npy", ".pb", *_PICKLES)
INDEX = "model.safetensors.index.json"
CAPTURE = "manifest.json"
MANIFESTS = (CAPTURE, "dump.json")
"""A capture's own manifest; msprobe's."""


def open_tensors(path: Path) -> TensorSet:
    """Tensors of a file, a checkpoint's folder, a folder of arrays, or an msprobe dump. Raises TensorError.

    Only headers are read; values stay in the files until they are asked for.
    """
    found = _opened(path)
    if not found:
        raise TensorError("; ".join([f"{path}: holds no tensors that can be read", *found.problems[:3]]))
    return found


def _opened(path: Path) -> TensorSet:
    if path.is_dir():
        return _folder(path)
    if path.name.endswith(".index.json"):
        return _checkpoint(path.parent, path)
    if not path.is_file():
        raise TensorError(f"{path}: no such file or folder")
    tensors, settings, problems = _file(path)
    return TensorSet(str(path), tensors, {**settings, **_settings(path.parent)}, _order(path.parent), problems)


def _file(path: Path) -> tuple[dict[str, Tensor], Mapping[str, Any], list[str]]:
    with path.open("rb") as file:
        head = file.read(16)
    if head[:4] == b"GGUF":
        return read_gguf(path)
    if head[:6] == b"\x93NUMPY":
        tensor = read_npy(path, path.stem)
        return {tensor.name: tensor}, {}, []
    if path.suffix in _PICKLES:
        return read_torch(path), {}, []
    if head[:4] == b"PK\x03\x04":
        return read_npz(path), {}, []
    plausible = head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= MOST_HEADER_BYTES
    if plausible or path.suffix == ".safetensors":
        tensors, metadata = read_safetensors(path)
        return tensors, metadata, []
    if head.lstrip()[:1] in (b"{", b"["):
        return read_polygraphy(path), {}, []
    if path.suffix == ".pb":
        tensor = read_onnx_tensor(path)
        return {tensor.name: tensor}, {}, []
    raise TensorError(f"{path}: no format of tensors that is known here")


def _folder(path: Path) -> TensorSet:
    indices = sorted(path.glob("*.index.json"))
    if indices:
        return _checkpoint(path, next((index for index in indices if index.name == INDEX), indices[0]))
    files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    if not files:
        raise TensorError(f"{path}: holds no tensors ({', '.join(_SUFFIXES)})")
    # Beside safetensors a pickle is the same weights once more, or the state of a trainer.
    if any(file.suffix == ".safetensors" for file in files):
        files = [file for file in files if file.suffix not in _PICKLES]
    # A folder of one tensor a file is named by its files; where several have one name, by their folders too.
    tensors: dict[str, Tensor] = {}
    settings: dict[str, Any] = {}
    problems: list[str] = []
    for file in files:
        found, own, problem = _file(file)
        settings |= own
        problems += problem
        single = len(found) == 1 and file.suffix in (".npy", ".pb", ".pt")
        for name, tensor in found.items():
            key = file.stem if single else name
            key = f"{file.parent.relative_to(path)}/{key}" if key in tensors else key
            tensors[key] = Tensor(key, tensor.shape, tensor.type, tensor.load, tensor.path)
    return TensorSet(str(path), tensors, {**settings, **_settings(path)}, _order(path), problems)


def _checkpoint(folder: Path, index: Path) -> TensorSet:
    document = _json(index)
    places = document.get("weight_map") if isinstance(document, dict) else None
    if not isinstance(places, dict) or not all(isinstance(name, str) for name in places.values()):
        raise TensorError(f"{index}: no index of a sharded checkpoint")
    tensors: dict[str, Tensor] = {}
    problems = []
    for name in dict.fromkeys(places.values()):
        shard = folder / name
        # An index comes from elsewhere: it may not lead out of its folder.
        if Path(name).name != name:
            raise TensorError(f"{index}: names a shard outside its folder")
        if not shard.is_file():
            problems.append(f"{shard}: the shard is missing")
            continue
        tensors |= read_safetensors(shard)[0]
    if not tensors:
        raise TensorError(f"{index}: none of its shards is there")
    problems += [f"{index}: {name} stands in the index and in no shard" for name in places if name not in tensors][:3]
    return TensorSet(str(folder), tensors, _settings(folder), _order(folder), problems)


def _settings(folder: Path) -> dict[str, Any]:
    """The model's settings, with those of its quantisation from wherever they stand."""
    settings = _optional(folder / "config.json")
    if (folder / CAPTURE).is_file():
        settings["capture"] = _optional(folder / CAPTURE)
    for name in ("quantize_config.json", "quant_config.json", "hf_quant_config.json"):
        if "quantization_config" not in settings and (found := _optional(folder / name)):
            settings["quantization_config"] = found.get("quantization", found)
    return settings


def _order(folder: Path) -> list[str] | None:
    """Names in the order of computation by a capture's manifest or msprobe's `dump.json`."""
    for name in MANIFESTS:
        document = _optional(folder / name)
        order = document.get("order")
        if isinstance(order, list):
            return [str(item) for item in order]
        data = document.get("data")
        if isinstance(data, dict):
            return [str(key) for key in data]
    return None


def _optional(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    document = _json(path)
    return document if isinstance(document, dict) else {}


def _json(path: Path) -> Any:
    if path.stat().st_size > _MOST_SETTINGS_BYTES * 8:
        raise TensorError(f"{path}: too large for settings")
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise TensorError(f"{path}: no JSON: {error}") from error
