from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collectors.onnx_model import OnnxModel
from collectors.scan import read_inputs
from diagnose.facts.lowbit import QuantisationScales
from diagnose.facts.precision import QuantisationConfig

HEAD = b"\x08\x08\x12\x07pytorch\x1a\x052.3.0:\x80\x01 and so on"


def test_models_are_told_by_their_first_fields() -> None:
    assert OnnxModel.recognises(HEAD, "model.onnx")
    assert not OnnxModel.recognises(HEAD, "some.bin")
    assert not OnnxModel.recognises(b"\x08\x08" + b"z" * 40, "model.onnx")
    assert not OnnxModel.recognises(b"", "model.onnx")


def test_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    path = tmp_path / "model.onnx"
    path.write_bytes(HEAD)
    (report,) = read_inputs([str(path)]).inputs
    assert "gpu-diagnose[onnx]" in (report.detail or "")


def quantised(path: Path, zero: int = 0, scales: tuple[float, ...] = (0.02, 0.03)) -> Path:
    """A product with INT8 weights by channel and a static INT8 input."""
    onnx = pytest.importorskip("onnx", reason="needs the extra `onnx`: make extras")
    helper, numpy_helper = onnx.helper, onnx.numpy_helper

    def constant(name: str, value: Any) -> Any:
        return numpy_helper.from_array(np.asarray(value), name)

    weight = np.arange(8, dtype=np.int8).reshape(4, 2)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "sx", "zx"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["wd"], axis=1),
        helper.make_node("MatMul", ["xd", "wd"], ["y"]),
    ]
    values = [
        constant("sx", np.float32(1.0)),
        constant("zx", np.int8(zero)),
        constant("w", weight),
        constant("sw", np.array(scales, np.float32)),
        constant("zw", np.zeros(2, np.int8)),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 2])],
        values,
    )
    onnx.save(helper.make_model(graph, producer_name="onnx.quantize", producer_version="1.0"), path)
    return path


@pytest.mark.extras
def test_formats_granularity_and_scales_of_a_graph(tmp_path: Path) -> None:
    facts = read_inputs([str(quantised(tmp_path / "m.onnx"))]).facts
    (config,) = (fact for fact in facts if isinstance(fact, QuantisationConfig))
    assert (config.weight_format, config.activation_format, config.granularity) == ("int8", "int8", "channel")
    assert (config.activation_scheme, config.symmetric, config.producer) == ("static", True, "onnx.quantize")
    scales = {fact.role: fact for fact in facts if isinstance(fact, QuantisationScales)}
    assert scales["activation"].all_one == 1
    assert (scales["weight"].all_one, scales["weight"].value_count) == (0, 2)


@pytest.mark.extras
def test_zero_point_and_bad_scales_are_seen(tmp_path: Path) -> None:
    facts = read_inputs([str(quantised(tmp_path / "m.onnx", zero=3, scales=(0.0, float("nan"))))]).facts
    (config,) = (fact for fact in facts if isinstance(fact, QuantisationConfig))
    assert config.symmetric is False
    weight = next(fact for fact in facts if isinstance(fact, QuantisationScales) and fact.role == "weight")
    assert (weight.zero_count, weight.nonfinite_count, weight.example) == (1, 1, "sw")


@pytest.mark.extras
def test_damage_is_survived(tmp_path: Path) -> None:
    data = quantised(tmp_path / "m.onnx").read_bytes()
    for position in range(16, len(data), 16):
        (tmp_path / "cut.onnx").write_bytes(data[:position])
        read_inputs([str(tmp_path / "cut.onnx")])
