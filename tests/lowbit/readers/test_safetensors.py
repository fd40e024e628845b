from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from diagnose.lowbit.readers.open import open_tensors
from diagnose.lowbit.readers.safetensors import read_safetensors
from diagnose.lowbit.tensors import TensorError
from tests.lowbit.checkpoints import save


def test_what_the_formats_own_library_writes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    written: dict[str, Any] = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([1, 2], np.int64)}
    save_file(written, path, metadata={"format": "pt"})

    tensors, metadata = read_safetensors(path)

    assert metadata == {"format": "pt"}
    assert {name: tensor.load().tolist() for name, tensor in tensors.items()} == {
        name: array.tolist() for name, array in written.items()
    }


def test_types_that_numpy_lacks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    values = np.array([[1.5, -2.0]])
    save(path, {"b": values.astype(ml_dtypes.bfloat16), "f": values.astype(ml_dtypes.float8_e4m3fn)})

    tensors, _ = read_safetensors(path)

    assert tensors["b"].floats().tolist() == [[1.5, -2.0]]
    assert tensors["f"].type == "float8_e4m3fn"
    assert tensors["f"].floats().tolist() == [[1.5, -2.0]]


def test_shards_are_found_by_their_index(tmp_path: Path) -> None:
    save(tmp_path / "one.safetensors", {"a": np.ones(2, np.float32)})
    places = {"a": "one.safetensors", "b": "two.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))

    tensors = open_tensors(tmp_path)

    assert list(tensors) == ["a"]
    assert any("two.safetensors: the shard is missing" in problem for problem in tensors.problems)


def test_an_index_does_not_lead_out_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    save(tmp_path / "secret.safetensors", {"a": np.ones(2, np.float32)})
    index = tmp_path / "inner" / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../secret.safetensors"}}))

    with pytest.raises(TensorError, match="outside its folder"):
        open_tensors(tmp_path / "inner")


def test_a_file_that_was_cut_off_is_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save(path, {"a": np.ones(100, np.float32)})
    path.write_bytes(path.read_bytes()[:-1])

    with pytest.raises(TensorError, match="ends before 'a' does"):
        read_safetensors(path)


def test_damaged_files_end_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save(path, {"a.weight": np.ones((3, 4), np.float32), "b": np.ones(5, np.float16)})
    whole = path.read_bytes()
    chance = random.Random(1)
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
