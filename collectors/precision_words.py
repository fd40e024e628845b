"""What names tell of a run: the number format in them, what it is the format of, and whether it is the reference."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

_FORMATS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(rf"(?<![a-z0-9])(?:{words})(?![a-z0-9])"))
    for name, words in (
        ("nvfp4", r"nvfp4|nv[_-]fp4"),
        ("mxfp4", r"mxfp4|mx[_-]fp4"),
        ("mxfp6", r"mxfp6"),
        ("mxfp8", r"mxfp8|mx[_-]fp8"),
        ("fp8-e5m2", r"(?:fp8[_-]?|float8[_-]?)?e5m2(?:fn)?(?:uz)?"),
        ("fp8", r"fp8|float8|(?:fp8[_-]?|float8[_-]?)?e4m3(?:fn)?(?:uz)?"),
        ("fp4", r"fp4|e2m1"),
        ("int8", r"int8|w8a8|w8a16|q8_0|8[_-]?bit"),
        ("int6", r"q6_k|6[_-]?bit"),
        ("int5", r"q5_[01]|q5_k(?:_[a-z]+)?|5[_-]?bit"),
        ("int4", r"int4|w4a16|w4a8|w4a4|4[_-]?bit|gptq|awq|nf4|q4_[01]|q4_k(?:_[a-z]+)?|iq4_[a-z]+"),
        ("int3", r"int3|w3a16|3[_-]?bit|q3_k(?:_[a-z]+)?|iq3_[a-z]+"),
        ("int2", r"int2|w2a16|2[_-]?bit|q2_k(?:_[a-z]+)?|iq2_[a-z]+"),
        ("int1", r"iq1_[a-z]+"),
        ("bf16", r"bf16|bfloat16"),
        ("fp16", r"fp16|float16|f16"),
        ("fp32", r"fp32|float32|f32|tf32"),
    )
)  # fmt: skip
"""In order: the first that is found wins, so that `model-FP8-vs-bf16` is about FP8."""

BITS = {
    "nvfp4": 4.5, "mxfp4": 4.25, "mxfp6": 6.25, "mxfp8": 8.25, "fp8-e5m2": 8.0, "fp8": 8.0, "fp4": 4.0, "int8": 8.0,
    "int6": 6.0, "int5": 5.0, "int4": 4.0, "int3": 3.0, "int2": 2.0, "int1": 1.5, "bf16": 16.0, "fp16": 16.0,
    "fp32": 32.0,
}  # fmt: skip
"""Bits of a value with its share of scales."""
HIGH = frozenset(("bf16", "fp16", "fp32"))
_KV = re.compile(r"(?<![a-z])kv(?![a-z])|kvcache|k_cache|key_value")
_REFERENCE = frozenset((
    "reference", "ref", "baseline", "original", "orig", "unquantized", "unquantised", "golden", "good", "correct",
    "expected", "before",
))  # fmt: skip
_LOW = frozenset((
    "suspect", "lowbit", "quantized", "quantised", "quant", "after", "bad", "wrong", "broken", "candidate", "actual",
))  # fmt: skip
_PATH_WORDS = re.compile(r"[^a-z0-9]+")


class Role(NamedTuple):
    """Which run an input is of, and how that was told; both None where nothing tells."""

    role: str | None
    told_by: str | None


def precision_of(text: str) -> str | None:
    """The number format that a name tells: `Llama-3-8B-GPTQ` is `int4`; None where it tells none."""
    lower = text.lower()
    return next((name for name, pattern in _FORMATS if pattern.search(lower)), None)


def about_kv_cache(text: str) -> bool:
    """Whether a name says that it is about the KV cache."""
    return _KV.search(text.lower()) is not None


def is_low(precision: str | None) -> bool:
    """Whether a format has fewer than 16 bits."""
    return precision is not None and precision not in HIGH


def role_of(path: str, *content: str) -> Role:
    """Role of an input. What its content says comes first, then the file's own name, then a folder named for a run."""
    for text in content:
        precision = precision_of(text)
        if precision is not None:
            return Role("low-bit" if is_low(precision) else "reference", f"the content says {precision}")
    for place, name in _names(path):
        words = [word for word in _PATH_WORDS.split(name.lower()) if word]
        for role, known in (("reference", _REFERENCE), ("low-bit", _LOW)):
            word = next((word for word in words if word in known), None)
            if word is not None:
                return Role(role, f"`{word}` stands in the name of the {place}")
        precision = precision_of(name)
        if precision is not None:
            return Role("low-bit" if is_low(precision) else "reference", f"{precision} in the name of the {place}")
    return Role(None, None)


def _names(path: str) -> Iterator[tuple[str, str]]:
    parts = PurePosixPath(path.replace("\\", "/").replace("!", "/")).parts
    if parts:
        yield "file", parts[-1]
    # A folder is a run's only if its name is about nothing else.
    if len(parts) > 1 and len([word for word in _PATH_WORDS.split(parts[-2].lower()) if word]) <= 2:
        yield "folder", parts[-2]
