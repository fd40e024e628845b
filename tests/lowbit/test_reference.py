"""A reference that is quantised itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnose.facts.lowbit import WeightCheck
from diagnose.lowbit.compare import compare_inputs
from diagnose.lowbit.tensors import TensorError
from tests.lowbit import checkpoints as made

WEIGHTS = made.original(layers=2)


def test_a_quantised_reference_is_compared_by_its_values(tmp_path: Path) -> None:
    made.save(tmp_path / "int8.safetensors", made.compressed_int8(WEIGHTS))
    made.save(tmp_path / "gptq.safetensors", made.gptq(WEIGHTS))

    found = compare_inputs(tmp_path / "int8.safetensors", tmp_path / "gptq.safetensors")
    [check] = [fact for fact in found.features if isinstance(fact, WeightCheck) and fact.scheme == "gptq"]

    assert check.tensors == 14
    assert check.at_floor == 14
    assert not found.problems


def test_a_quantised_checkpoint_beside_itself_does_not_differ(tmp_path: Path) -> None:
    made.save(tmp_path / "int8.safetensors", made.compressed_int8(WEIGHTS))

    found = compare_inputs(tmp_path / "int8.safetensors", tmp_path / "int8.safetensors")

    assert all(fact.equal for fact in found.errors)


def test_an_exchanged_pair_is_refused(tmp_path: Path) -> None:
    made.save(tmp_path / "original.safetensors", WEIGHTS)
    made.save(tmp_path / "gptq.safetensors", made.gptq(WEIGHTS))

    with pytest.raises(TensorError, match="name the original first"):
        compare_inputs(tmp_path / "gptq.safetensors", tmp_path / "original.safetensors")
