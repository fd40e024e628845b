"""Scales in JSON: those of a KV cache by layer, and single scales with the spreads that they were computed from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

from collectors.base import Block, Parsed
from collectors.json_document import JsonDocument
from collectors.json_text import mapping, real, whole
from diagnose.facts.precision import KvScales, ScaleComputation


class KvScalesJson(JsonDocument):
    """The file of `--quantization-param-path`: scaling factors by rank and layer."""

    kind: ClassVar[str] = "kv-scales"
    literals: ClassVar[tuple[bytes, ...]] = (b'"scaling_factor"', b'"k_scale"')

    @classmethod
    def told_by(cls, text: str) -> bool:
        """The nesting that the file has."""
        return '"kv_cache"' in text and ('"scaling_factor"' in text or '"k_scale' in text)

    @classmethod
    def read(cls, block: Block, content: dict[str, Any]) -> Parsed:
        """All scales, whatever their nesting."""
        cache = mapping(content.get("kv_cache"))
        pairs = list(_numbers(cache, ""))
        values = [value for _, value in pairs]
        finite = [value for value in values if math.isfinite(value)]
        if not finite:
            return Parsed(problems=[f"line {block.lines[0].number}: the file holds no scale"] if cache else [])
        data_type = cache.get("dtype")
        return Parsed(
            [
                KvScales(
                    subject=block.subject(),
                    sources=(block.source(),),
                    layers=len({name for name, _ in pairs}),
                    scales=len(values),
                    ones=sum(value == 1.0 for value in values),
                    zeros=sum(value == 0.0 or not math.isfinite(value) for value in values),
                    smallest=min(finite),
                    largest=max(finite),
                    data_type=data_type[:40] if isinstance(data_type, str) else None,
                )
            ]
        )


def _numbers(value: object, name: str) -> Iterator[tuple[str, float]]:
    """Names and values of the leaves: layers repeat over ranks, so that the last key names the layer."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(inner, str(key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, float(value)


class ScaleComputationJson(JsonDocument):
    """A scale beside the standard deviations of data and format, as converters of ONNX models compute it for FP8."""

    kind: ClassVar[str] = "scale-computation"
    literals: ClassVar[tuple[bytes, ...]] = (b'"std_data"', b'"scale"')

    @classmethod
    def told_by(cls, text: str) -> bool:
        """The scale with the spread of its data."""
        return '"std_data"' in text and '"scale"' in text

    @classmethod
    def read(cls, block: Block, content: dict[str, Any]) -> Parsed:
        """The scale that the format's finite values give, beside the one used."""
        name = _float8(str(content.get("format") or content.get("dtype") or ""))
        scale, spread = real(content.get("scale")), real(content.get("std_data"))
        if name is None or scale is None or spread is None or scale <= 0 or spread <= 0:
            return Parsed()
        finite, format_spread = finite_values(name)
        reference = mapping(content.get("reference"))
        expected = spread / format_spread
        return Parsed(
            [
                ScaleComputation(
                    subject=block.subject(),
                    sources=(block.source(),),
                    format="fp8-e5m2" if "e5m2" in name else "fp8-e4m3",
                    scale=scale,
                    data_spread=spread,
                    reference_spread=real(reference.get("std")),
                    reference_values=whole(reference.get("n")),
                    finite_values=finite,
                    expected_scale=expected,
                    scale_ratio=scale / expected,
                )
            ]
        )


def _float8(name: str) -> str | None:
    """`FLOAT8E4M3FN` as ml_dtypes calls it."""
    plain = name.lower().replace("_", "").replace("-", "")
    return {
        "float8e4m3fn": "float8_e4m3fn", "float8e4m3": "float8_e4m3fn", "float8e4m3fnuz": "float8_e4m3fnuz",
        "float8e5m2": "float8_e5m2", "float8e5m2fnuz": "float8_e5m2fnuz",
    }.get(plain)  # fmt: skip


def finite_values(name: str) -> tuple[int, float]:
    """Number and standard deviation of the finite values among the 256 codes of an 8-bit float of ml_dtypes.

    ONNX Runtime's quantiser sets the scale to the data's standard deviation over this one; NaN codes are no values.
    """
    import ml_dtypes
    import numpy as np

    values = np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name)).astype(np.float64)
    finite = values[np.isfinite(values)]
    return len(finite), float(finite.std())
