"""ONNX models with QuantizeLinear and DequantizeLinear: formats, granularity, scales and zero points."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, ClassVar

from collectors.base import FileCollector, OpenFile, Parsed
from diagnose.facts import Source
from diagnose.facts.lowbit import QuantisationScales
from diagnose.facts.precision import QuantisationConfig

_MOST_BYTES = 2 << 30
"""What a protobuf may hold; weights beyond lie in files of their own."""
_FIELDS = frozenset(b"\x12\x1a\x22\x28\x32\x3a\x42")
"""Keys of the fields that may follow the first in a model, by the definition in onnx/onnx.proto."""
_FORMATS = {
    "INT8": "int8", "UINT8": "int8", "INT4": "int4", "UINT4": "int4", "FLOAT8E4M3FN": "fp8", "FLOAT8E4M3FNUZ": "fp8",
    "FLOAT8E5M2": "fp8-e5m2", "FLOAT8E5M2FNUZ": "fp8-e5m2", "FLOAT4E2M1": "mxfp4",
}  # fmt: skip
_BITS = {"int8": 8, "int4": 4, "fp8": 8, "fp8-e5m2": 8, "mxfp4": 4}


class OnnxModel(FileCollector):
    """One config for each model that is quantised, and its scales. Needs the extra `onnx`."""

    kind: ClassVar[str] = "onnx-model"

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """A protobuf that begins with a small version and a field of a model, and says or is called ONNX."""
        if len(head) < 16 or head[0] != 0x08 or not 1 <= head[1] <= 32 or head[2] not in _FIELDS:
            return False
        return name.lower().endswith(".onnx") or b"DequantizeLinear" in head or b"onnx" in head[:256]

    @classmethod
    def parse(cls, file: OpenFile) -> Parsed:
        """Facts of the graph's quantisation nodes; a model without any gives none."""
        try:
            import onnx
        except ImportError:
            return Parsed(problems=["ONNX models are read with the extra `onnx`: pip install 'gpu-diagnose[onnx]'"])
        data = file.binary().read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            return Parsed(problems=["the model is larger than a protobuf may be"])
        try:
            model = onnx.load_model_from_string(data)
        except Exception as error:  # what protobuf raises depends on its implementation
            return Parsed(problems=[f"the model is damaged: {type(error).__name__}"])
        return _Reading(file.name, model).parsed()


class _Reading:
    def __init__(self, path: str, model: Any) -> None:
        import onnx

        self._path = path
        self._model = model
        self._values = {tensor.name: tensor for tensor in model.graph.initializer}
        for node in model.graph.node:
            if node.op_type == "Constant" and node.output:
                tensor = next((item.t for item in node.attribute if item.name == "value"), None)
                if tensor is not None:
                    self._values[node.output[0]] = tensor
        self._onnx = onnx

    def parsed(self) -> Parsed:
        nodes = [node for node in self._model.graph.node if node.op_type in ("QuantizeLinear", "DequantizeLinear")]
        if not nodes:
            return Parsed()
        weights = [node for node in nodes if node.op_type == "DequantizeLinear" and node.input[0] in self._values]
        activations = [node for node in nodes if node.op_type == "QuantizeLinear"]
        facts = [
            fact
            for role, found in (("weight", weights), ("activation", activations))
            if (fact := self._scales(role, found)) is not None
        ]
        return Parsed([self._config(weights, activations), *facts])

    def _config(self, weights: list[Any], activations: list[Any]) -> QuantisationConfig:
        weight_format, activation_format = self._format(weights), self._format(activations)
        sizes = [math.prod(self._values[node.input[1]].dims) for node in weights if node.input[1] in self._values]
        zeros = [zero for node in (*weights, *activations) for zero in self._zero(node)]
        return QuantisationConfig(
            sources=(Source(path=self._path),),
            method="onnx-qdq",
            weight_format=weight_format,
            activation_format=activation_format,
            # Scales that are no constants are computed by the graph.
            activation_scheme=("static" if all(node.input[1] in self._values for node in activations) else "dynamic")
            if activations
            else "none",
            bits=_BITS.get(weight_format) if weight_format else None,
            granularity=("tensor" if max(sizes) <= 1 else "channel") if sizes else None,
            symmetric=all(zero == 0 for zero in zeros) if zeros else None,
            producer=self._model.producer_name[:60] or None,
            producer_version=self._model.producer_version[:40] or None,
        )

    def _format(self, nodes: list[Any]) -> str | None:
        """Format of most nodes: that of their zero point, or of the constant that they dequantise."""
        kinds: Counter[str] = Counter()
        for node in nodes:
            place = node.input[2] if len(node.input) > 2 and node.input[2] in self._values else node.input[0]
            if place in self._values:
                kinds[self._onnx.TensorProto.DataType.Name(self._values[place].data_type)] += 1
            else:
                # Without a zero point the output is UINT8, by the operator's definition.
                kinds["UINT8"] += 1
        return next((_FORMATS[kind] for kind, _ in kinds.most_common() if kind in _FORMATS), None)

    def _zero(self, node: Any) -> list[float]:
        if len(node.input) < 3 or node.input[2] not in self._values:
            return []
        return [float(value) for value in self._array(node.input[2])]

    def _array(self, name: str) -> Any:
        try:
            return self._onnx.numpy_helper.to_array(self._values[name]).astype("float64").ravel()[:65536]
        except (ValueError, TypeError, OSError):
            return []

    def _scales(self, role: str, nodes: list[Any]) -> QuantisationScales | None:
        import numpy as np

        arrays = [
            (node.input[1], np.asarray(self._array(node.input[1]), dtype=np.float64))
            for node in nodes if node.input[1] in self._values
        ]  # fmt: skip
        arrays = [(name, array) for name, array in arrays if array.size]
        if not arrays:
            return None
        everything = np.concatenate([array for _, array in arrays])
        finite = everything[np.isfinite(everything)]
        bad = [
            name for name, array in arrays if (array == 1.0).all() or (array == 0).any() or not np.isfinite(array).all()
        ]
        return QuantisationScales(
            sources=(Source(path=self._path),),
            role=role,
            tensors=len(arrays),
            value_count=len(everything),
            type="float32",
            all_one=sum(bool((array == 1.0).all()) for _, array in arrays),
            all_same=bool(len(arrays) > 1 and (everything == everything[0]).all()),
            zero_count=int((everything == 0).sum()),
            nonfinite_count=int(len(everything) - len(finite)),
            negative_count=int((finite < 0).sum()),
            denormal_count=0,
            minimum=float(finite.min()) if len(finite) else None,
            maximum=float(finite.max()) if len(finite) else None,
            example=bad[0][:200] if bad else None,
        )
