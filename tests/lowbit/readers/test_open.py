from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import numpy as np
import pytest

from diagnose.lowbit.readers.open import open_tensors
from diagnose.lowbit.tensors import TensorError

VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_a_folder_of_arrays_is_named_by_its_files(tmp_path: Path) -> None:
    np.save(tmp_path / "layers.0.output.npy", VALUES)
    np.save(tmp_path / "layers.1.output.npy", VALUES + 1)

    tensors = open_tensors(tmp_path)

    assert sorted(tensors) == ["layers.0.output", "layers.1.output"]
    assert tensors["layers.1.output"].floats().tolist() == (VALUES + 1).tolist()


def test_arrays_of_one_archive_have_its_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "out.npz", first=VALUES, second=VALUES.astype(np.float16))

    tensors = open_tensors(tmp_path / "out.npz")

    assert {name: (tensor.type, tensor.shape) for name, tensor in tensors.items()} == {
        "first": ("float32", (2, 3)), "second": ("float16", (2, 3)),
    }  # fmt: skip
    assert tensors["second"].floats().tolist() == VALUES.tolist()


def test_python_objects_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], object), allow_pickle=True)
    np.savez(tmp_path / "b.npz", a=np.array([{"a": 1}], object))

    for name in ("a.npy", "b.npz"):
        with pytest.raises(TensorError):
            open_tensors(tmp_path / name)


def test_pickles_need_pytorchs_loader_for_weights(tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_bytes(b"\x80\x04cos\nsystem\n(S'true'\ntR.")

    with pytest.raises(TensorError, match=r"PyTorch's loader for weights"):
        open_tensors(tmp_path / "a.pt")


@pytest.mark.extras
def test_tensors_of_pytorch_files_are_read_without_running_code(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the extra `capture`: make extras")
    torch.save({"a": torch.ones(2, 2, dtype=torch.bfloat16), "b": [torch.zeros(3)]}, tmp_path / "a.pt")

    tensors = open_tensors(tmp_path / "a.pt")

    assert {name: (tensor.type, tensor.floats().tolist()) for name, tensor in tensors.items()} == {
        "a": ("bfloat16", [[1.0, 1.0], [1.0, 1.0]]), "b.0": ("float32", [0.0, 0.0, 0.0]),
    }  # fmt: skip


def test_outputs_that_polygraphy_saved_are_read(tmp_path: Path) -> None:
    file = io.BytesIO()
    np.save(file, VALUES)
    array = {"array": base64.b64encode(file.getvalue()).decode(), "polygraphy_class": "ndarray"}
    outputs = {"outputs": {"logits": {"values": array, "polygraphy_class": "LazyArray"}}, "runtime": 0.1}
    document = {"lst": [["trt-runner", [outputs]]], "polygraphy_class": "RunResults"}
    (tmp_path / "results.json").write_text(json.dumps(document))

    tensors = open_tensors(tmp_path / "results.json")

    assert {name: tensor.floats().tolist() for name, tensor in tensors.items()} == {"logits": VALUES.tolist()}


def test_outputs_as_onnx_tensors_are_read(tmp_path: Path) -> None:
    raw = VALUES.tobytes()
    message = b"\x08\x02\x08\x03" + b"\x10\x01" + b"\x42\x06logits" + b"\x4a" + bytes([len(raw)]) + raw
    (tmp_path / "output_0.pb").write_bytes(message)

    tensors = open_tensors(tmp_path / "output_0.pb")

    assert tensors["logits"].floats().tolist() == VALUES.tolist()


@pytest.mark.extras
@pytest.mark.parametrize("kind", ["float32", "float16", "int64", "double", "bfloat16"])
def test_onnxs_own_tensors_are_read_alike(kind: str, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="needs the extra `onnx`: make extras")
    import ml_dtypes

    values = VALUES.astype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind)
    for name, tensor in {
        "raw": onnx.numpy_helper.from_array(values, "raw"),
        "listed": onnx.helper.make_tensor(
            "listed", onnx.helper.np_dtype_to_tensor_dtype(values.dtype), values.shape, values.ravel().tolist()
        ),
    }.items():
        (tmp_path / f"{name}.pb").write_bytes(tensor.SerializeToString())

        assert open_tensors(tmp_path / f"{name}.pb")[name].floats().tolist() == VALUES.tolist()


def test_msprobes_dumps_are_in_the_order_of_their_list(tmp_path: Path) -> None:
    folder = tmp_path / "step0" / "rank0"
    (folder / "dump_tensor_data").mkdir(parents=True)
    names = ["Module.layers.0.fc.Linear.forward.0", "Module.head.Linear.forward.0"]
    (folder / "dump.json").write_text(json.dumps({"task": "tensor", "data": {key: {} for key in names}}))
    for name in names:
        np.save(folder / "dump_tensor_data" / f"{name}.output.0.npy", VALUES)

    tensors = open_tensors(folder)

    assert sorted(tensors) == sorted(f"{name}.output.0" for name in names)
    assert tensors.order == names


@pytest.mark.parametrize("content", [b"", b"GGUF", b"{}", b"[1, 2", b"PK\x03\x04", b"\x93NUMPY", b"text", b"\x00" * 64])
@pytest.mark.parametrize("name", ["a.pb", "a.json", "a.npz", "a.npy", "a.safetensors"])
def test_what_holds_no_tensors_ends_in_a_sentence(content: bytes, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(TensorError):
        open_tensors(tmp_path / name)
