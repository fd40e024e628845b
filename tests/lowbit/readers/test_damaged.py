"""Damaged and hostile files end in a sentence that names the file."""

from __future__ import annotations

import base64
import io
import json
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from diagnose.lowbit.compare import compare_inputs
from diagnose.lowbit.readers.open import open_tensors
from diagnose.lowbit.tensors import TensorError
from tests.lowbit.checkpoints import save

SOUND = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


@pytest.mark.parametrize(
    "entry",
    [
        {**SOUND, "dtype": ["F32"]},
        {**SOUND, "shape": [float("inf")]},
        {**SOUND, "shape": [1.5]},
        {**SOUND, "shape": "1"},
        {**SOUND, "shape": [1] * 70},
        {**SOUND, "shape": [1 << 62, 1 << 62, 0], "data_offsets": [0, 0]},
        {**SOUND, "data_offsets": [float("inf"), 4]},
        {**SOUND, "data_offsets": [0]},
        [1, 2],
    ],
)
def test_a_header_that_lies_is_refused(entry: Any, tmp_path: Path) -> None:
    text = json.dumps({"a.weight": entry}).encode()
    (tmp_path / "a.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(4))

    with pytest.raises(TensorError, match=r"a\.safetensors: the header's entry for 'a\.weight'"):
        open_tensors(tmp_path / "a.safetensors")


def test_tensors_that_overlap_are_refused(tmp_path: Path) -> None:
    text = json.dumps({"a.weight": SOUND, "b.weight": SOUND}).encode()
    (tmp_path / "a.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(4))

    with pytest.raises(TensorError, match="over another tensor"):
        open_tensors(tmp_path / "a.safetensors")


def test_an_empty_file_of_that_name_is_damaged_and_not_unknown(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"")

    with pytest.raises(TensorError, match="missing or damaged"):
        open_tensors(tmp_path / "a.safetensors")


def archive(path: Path, shape: str, data: bytes = bytes(64)) -> bytes:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + data)
    return path.read_bytes()


@pytest.mark.parametrize("shape", ["(1099511627776, 4)", "(-4, 4)", "(17,)", "(4, 4"])
def test_an_array_that_holds_less_than_it_says_is_refused(shape: str, tmp_path: Path) -> None:
    archive(tmp_path / "a.npz", shape)

    with pytest.raises(TensorError, match=r"a\.npz"):
        open_tensors(tmp_path / "a.npz")


@pytest.mark.parametrize(("within_local", "within_central", "value"), [(6, 8, 1), (8, 10, 99)])
def test_encrypted_and_unknown_archives_are_refused(
    within_local: int, within_central: int, value: int, tmp_path: Path
) -> None:
    data = bytearray(archive(tmp_path / "a.npz", "(4, 4)"))
    data[within_local] = data[data.find(b"PK\1\2") + within_central] = value
    (tmp_path / "a.npz").write_bytes(data)

    with pytest.raises(TensorError, match="no archive of arrays that can be read"):
        open_tensors(tmp_path / "a.npz")


def test_pickles_within_saved_outputs_are_refused_without_advice_to_load_them(tmp_path: Path) -> None:
    file = io.BytesIO()
    np.save(file, np.array([{}], dtype=object), allow_pickle=True)
    text = base64.b64encode(file.getvalue()).decode()
    (tmp_path / "outputs.json").write_text(json.dumps({"lst": {"y": {"array": text}}}))

    with pytest.raises(TensorError, match="not loaded") as error:
        open_tensors(tmp_path / "outputs.json")
    assert "allow_pickle" not in str(error.value)


def test_pickles_beside_safetensors_are_left_alone(tmp_path: Path) -> None:
    save(tmp_path / "model.safetensors", {"a.weight": np.ones((2, 2), np.float32)})
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x02garbage")

    assert list(open_tensors(tmp_path)) == ["a.weight"]


def test_eight_bit_floats_in_the_field_of_integers_stand_by_their_bits(tmp_path: Path) -> None:
    bits = np.array([1.5, -2.0]).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    numbers = b"".join(
        bytes([value & 127 | 128, value >> 7]) if value > 127 else bytes([value]) for value in bits.tolist()
    )
    (tmp_path / "y.pb").write_bytes(b"\x08\x02\x10\x11\x2a" + bytes([len(numbers)]) + numbers)

    assert open_tensors(tmp_path / "y.pb")["y"].floats().tolist() == [1.5, -2.0]


def test_values_at_the_end_of_the_range_and_empty_tensors_end_the_comparison_of_no_others(tmp_path: Path) -> None:
    values = {
        "layers.0.large.output": np.full((4, 8), 3e38, np.float32),
        "layers.0.tiny.output": np.full((4, 8), 1e-45, np.float32),
        "layers.0.none.output": np.zeros((4, 0), np.float32),
        "layers.0.nan.output": np.full((4, 8), np.nan, np.float32),
    }
    save(tmp_path / "reference.safetensors", values)
    save(tmp_path / "low.safetensors", {name: array * -1 + np.float32(0.25) for name, array in values.items()})

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compare_inputs(tmp_path / "reference.safetensors", tmp_path / "low.safetensors")

    measures = [value for fact in found.errors for value in vars(fact).values() if isinstance(value, float)]
    assert len(found.errors) == 3
    assert np.isfinite(measures).all()
