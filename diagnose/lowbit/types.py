"""Stored number types: their names in the formats that are read, and numpy's types for them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

SAFETENSORS: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {
        "F64": np.dtype(np.float64),
        "F32": np.dtype(np.float32),
        "F16": np.dtype(np.float16),
        "BF16": np.dtype(ml_dtypes.bfloat16),
        "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
        "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
        "F8_E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
        "F8_E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
        "F8_E8M0": np.dtype(ml_dtypes.float8_e8m0fnu),
        "I64": np.dtype(np.int64),
        "I32": np.dtype(np.int32),
        "I16": np.dtype(np.int16),
        "I8": np.dtype(np.int8),
        "U64": np.dtype(np.uint64),
        "U32": np.dtype(np.uint32),
        "U16": np.dtype(np.uint16),
        "U8": np.dtype(np.uint8),
        "BOOL": np.dtype(np.bool_),
    }
)
"""Types as the header of a safetensors file names them. Those of less than a byte are read as their bytes."""

SUB_BYTE: Mapping[str, int] = MappingProxyType({"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6})
"""Types of safetensors smaller than a byte, with their bits."""

ONNX: Mapping[int, np.dtype[Any]] = MappingProxyType(
    {
        1: np.dtype(np.float32),
        2: np.dtype(np.uint8),
        3: np.dtype(np.int8),
        4: np.dtype(np.uint16),
        5: np.dtype(np.int16),
        6: np.dtype(np.int32),
        7: np.dtype(np.int64),
        9: np.dtype(np.bool_),
        10: np.dtype(np.float16),
        11: np.dtype(np.float64),
        12: np.dtype(np.uint32),
        13: np.dtype(np.uint64),
        16: np.dtype(ml_dtypes.bfloat16),
        17: np.dtype(ml_dtypes.float8_e4m3fn),
        18: np.dtype(ml_dtypes.float8_e4m3fnuz),
        19: np.dtype(ml_dtypes.float8_e5m2),
        20: np.dtype(ml_dtypes.float8_e5m2fnuz),
    }
)
"""`TensorProto.DataType` of ONNX."""


def is_number(kind: str) -> bool:
    """Whether a stored type holds single numbers."""
    return kind.startswith(("float", "bfloat", "int", "uint"))
