from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np

from collectors.inputs import Status
from collectors.safetensors_file import SafetensorsFile
from collectors.scan import read_inputs
from diagnose.facts.lowbit import TensorFile
from tests.lowbit import checkpoints as made


def test_the_header_tells_types_and_scales(tmp_path: Path) -> None:
    low = made.fp8(made.original(layers=1))
    low["model.layers.0.self_attn.q_proj.input_scale"] = np.ones(1, np.float32)
    low["model.layers.0.self_attn.attn.k_scale"] = np.ones(1, np.float32)
    made.save(tmp_path / "model.safetensors", low)

    readings = read_inputs([str(tmp_path / "model.safetensors")])
    [fact] = [fact for fact in readings.facts if isinstance(fact, TensorFile)]

    assert [item.status for item in readings.inputs] == [Status.PARSED]
    assert (fact.low_bit_tensors, fact.weight_scales, fact.input_scales, fact.kv_scales) == (7, 7, 1, 1)
    assert set(fact.types) == {"BF16", "F8_E4M3", "F32"}


def test_a_header_that_is_cut_off_is_a_problem_and_no_error(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    made.save(path, made.original(layers=1))
    path.write_bytes(path.read_bytes()[:200])

    readings = read_inputs([str(path)])

    assert [item.status for item in readings.inputs] == [Status.PARTIAL]


def test_any_bytes_are_read_without_an_error(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    made.save(path, {"a": np.ones(3, np.float32), "b.weight_scale": np.ones(1, np.float32)})
    whole = path.read_bytes()
    chance = random.Random(4)
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 5)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.randrange(len(data) + 1)])

        read_inputs([str(path)])


def test_other_files_are_not_taken_for_tensors() -> None:
    assert not SafetensorsFile.recognises(b'{"a": 1, "b": {"c": 2}}', "a.json")
    assert not SafetensorsFile.recognises(b"", "a.safetensors")


def test_a_file_that_ends_before_its_tensors_is_told(tmp_path: Path) -> None:
    text = json.dumps({"a.weight": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(7))

    [read] = read_inputs([str(path)]).inputs

    assert read.status == Status.PARTIAL
    assert "cut off" in str(read.detail)
