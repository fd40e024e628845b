from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diagnose.lowbit.checkpoint import open_checkpoint
from diagnose.lowbit.readers.gguf_blocks import BLOCK_TYPES, decode_rows
from diagnose.lowbit.readers.open import open_tensors
from diagnose.lowbit.tensors import TensorError
from diagnose.lowbit.weights import Examiner, Original


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def written(path: Path, tensors: dict[str, tuple[int, tuple[int, ...], bytes]], metadata: dict[str, Any]) -> Path:
    """A GGUF file of version 3; shapes outermost axis first."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        kind = 8 if isinstance(value, str) else 9 if isinstance(value, list) else 4
        head += text(key) + struct.pack("<I", kind)
        if isinstance(value, str):
            head += text(value)
        elif isinstance(value, list):
            head += struct.pack("<IQ", 8, len(value)) + b"".join(map(text, value))
        else:
            head += struct.pack("<I", value)
    data = b""
    for name, (kind, shape, values) in tensors.items():
        head += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape))
        head += struct.pack("<IQ", kind, len(data))
        data += values + bytes(-len(values) % 32)
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return path


def q4_0(values: np.ndarray) -> bytes:
    """Blocks of 32: the signed largest value to -8, the first half of each block in the low nibbles."""
    blocks = values.astype(np.float32).reshape(-1, 32)
    most = np.take_along_axis(blocks, np.abs(blocks).argmax(1)[:, None], 1)
    scale = (most / -8).astype(np.float16)
    codes = np.clip(np.rint(blocks / scale.astype(np.float32)) + 8, 0, 15).astype(np.uint8)
    return np.concatenate([scale.view(np.uint8), codes[:, :16] | codes[:, 16:] << 4], axis=1).tobytes()


@pytest.mark.extras
@pytest.mark.parametrize("kind", BLOCK_TYPES.values(), ids=lambda kind: kind.name)
def test_blocks_decode_as_by_the_package_of_llama_cpp(kind: Any) -> None:
    gguf = pytest.importorskip("gguf", reason="needs the package gguf, the oracle")
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 256, (5, 2 * kind.bytes), np.uint8)
    expected = gguf.quants.dequantize(rows, gguf.GGMLQuantizationType[kind.name.upper()])

    with np.errstate(all="ignore"):
        assert np.array_equal(decode_rows(kind.name, rows), expected, equal_nan=True)


def test_tensors_and_metadata_are_read_and_vocabularies_passed_over(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    path = written(
        tmp_path / "model.gguf",
        {"blk.0.ffn_up.weight": (2, (4, 64), q4_0(values)), "output_norm.weight": (0, (64,), values[0].tobytes())},
        {"general.architecture": "llama", "tokenizer.ggml.tokens": ["a"] * 100, "llama.attention.head_count": 2},
    )

    tensors = open_tensors(path)

    assert tensors.settings["llama.attention.head_count"] == 2
    assert tensors["output_norm.weight"].floats().tolist() == values[0].tolist()
    assert tensors["blk.0.ffn_up.weight"].shape == (4, 64)


def test_the_order_of_outputs_that_converters_write_is_no_fault(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((128, 64)).astype(np.float32)
    halves_interleaved = values.reshape(2, 2, 32, 64).swapaxes(1, 2).reshape(128, 64)
    path = written(
        tmp_path / "model.gguf",
        {"blk.0.attn_q.weight": (2, (128, 64), q4_0(halves_interleaved))},
        {"general.architecture": "llama", "llama.attention.head_count": 2},
    )
    np.savez(tmp_path / "original.npz", q=values)
    encoded = open_checkpoint(open_tensors(path)).encoded["blk.0.attn_q.weight"]

    result = Examiner().examine(encoded, Original([open_tensors(tmp_path / "original.npz")["q"]], (128, 64)))

    assert result.at_floor
    assert result.format == "int4"


def test_damaged_files_end_in_a_sentence(tmp_path: Path) -> None:
    values = np.ones((2, 32), np.float32)
    path = written(tmp_path / "a.gguf", {"a.weight": (2, (2, 32), q4_0(values))}, {"general.architecture": "llama"})
    whole = path.read_bytes()
    chance = random.Random(2)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.randrange(len(data) + 1)])
        try:
            tensors = open_tensors(path)
        except TensorError:
            continue
        for tensor in tensors.values():
            tensor.load()
