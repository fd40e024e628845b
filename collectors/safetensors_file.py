"""safetensors files by their header: which tensors of which types, and whether they are quantised."""

from __future__ import annotations

import json
from collections import Counter
from math import prod
from pathlib import Path
from typing import Any, ClassVar

from collectors.base import FileCollector, OpenFile, Parsed
from diagnose.facts import Source
from diagnose.facts.lowbit import TensorFile

_MOST_HEADER_BYTES = 100 << 20
"""As much as the format's own library accepts."""
_LOW = ("I8", "U8", "F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F8_E8M0", "F4", "F6_E2M3", "F6_E3M2")
_PACKED = (".qweight", ".weight_packed")
_WEIGHT_SCALES = (".weight_scale", ".weight_scale_inv", ".scales", ".SCB", ".absmax", "_scales")
_INPUT_SCALES = (".input_scale", ".act_scale", ".input_global_scale")
_KV_SCALES = (".k_scale", ".v_scale", ".kv_scale", ".k_proj.output_scale", ".v_proj.output_scale")


class SafetensorsFile(FileCollector):
    """One fact for each file."""

    kind: ClassVar[str] = "safetensors"

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Eight bytes of a plausible length, then the header's JSON."""
        return head[8:10] in (b'{"', b"{}", b"{ ") and 2 <= int.from_bytes(head[:8], "little") <= _MOST_HEADER_BYTES

    @classmethod
    def parse(cls, file: OpenFile) -> Parsed:
        """The header alone is read."""
        stream = file.binary()
        length = int.from_bytes(stream.read(8), "little")
        text = stream.read(min(length, _MOST_HEADER_BYTES))
        try:
            header = json.loads(text)
        except (ValueError, RecursionError):
            return Parsed(problems=["the header is cut off or damaged"])
        if not isinstance(header, dict):
            return Parsed(problems=["the header is no JSON object"])
        entries = {name: entry for name, entry in header.items() if name != "__metadata__" and isinstance(entry, dict)}
        return Parsed(facts=[_fact(entries, file.name)], problems=_problems(entries, 8 + length, file.path))


def _problems(entries: dict[str, dict[str, Any]], begin: int, path: Path | None) -> list[str]:
    """Whether the file, where its size can be asked for, holds all that its header names."""
    offsets = [entry.get("data_offsets") for entry in entries.values()]
    ends = [pair[-1] for pair in offsets if isinstance(pair, list) and pair]
    last = max((end for end in ends if isinstance(end, int)), default=0)
    if path is None or path.stat().st_size >= begin + last:
        return []
    return ["the file ends before its tensors do: it was cut off, or copied only in part"]


def _fact(entries: dict[str, dict[str, Any]], name: str) -> TensorFile:
    types = Counter(str(entry.get("dtype")) for entry in entries.values())
    sizes = [_size(entry.get("shape")) for entry in entries.values()]
    known = [size for size in sizes if size is not None]
    low = [key for key, entry in entries.items() if entry.get("dtype") in _LOW or key.endswith(_PACKED)]
    scales = [key for key in entries if key.endswith((*_WEIGHT_SCALES, *_INPUT_SCALES, *_KV_SCALES))]
    return TensorFile(
        sources=(Source(path=name),),
        format="safetensors",
        tensors=len(entries),
        elements=sum(known) if len(known) == len(sizes) else None,
        types=tuple(kind for kind, _ in types.most_common(8)),
        low_bit_tensors=len(set(low) - set(scales)),
        weight_scales=sum(key.endswith(_WEIGHT_SCALES) for key in entries),
        input_scales=sum(key.endswith(_INPUT_SCALES) for key in entries),
        kv_scales=sum(key.endswith(_KV_SCALES) for key in entries),
    )


def _size(shape: Any) -> int | None:
    if isinstance(shape, list) and all(isinstance(length, int) and 0 <= length < 1 << 40 for length in shape):
        return prod(shape)
    return None
