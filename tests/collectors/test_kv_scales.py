from __future__ import annotations

import json

import pytest

from collectors.kv_scales import KvScalesJson, ScaleComputationJson, finite_values
from diagnose.facts.precision import KvScales, ScaleComputation
from tests.collectors.helpers import block, damaged

SCALES = {
    "model_type": "llama",
    "kv_cache": {
        "dtype": "float8_e4m3fn",
        "scaling_factor": {"0": {"0": 0.02, "1": 1.0, "2": 0.0}, "1": {"0": 0.03, "1": 1.0, "2": 0.01}},
    },
}


def test_scales_of_ranks_and_layers() -> None:
    (fact,) = KvScalesJson.parse(block(json.dumps(SCALES, indent=4))).facts
    assert isinstance(fact, KvScales)
    assert (fact.layers, fact.scales, fact.ones, fact.zeros) == (3, 6, 2, 1)
    assert (fact.smallest, fact.largest, fact.data_type) == (0.0, 1.0, "float8_e4m3fn")


def test_file_without_scales_is_named() -> None:
    assert KvScalesJson.parse(block('{"kv_cache": {"scaling_factor": {}}}')).problems


def magnitudes(mantissa_bits: int, bias: int, largest: float) -> list[float]:
    """Values by the definition of such formats, up to the largest finite one."""
    steps = 1 << mantissa_bits
    subnormal = [part / steps * 2.0 ** (1 - bias) for part in range(steps)]
    normal = [(1 + part / steps) * 2.0 ** (power - bias) for power in range(1, 32) for part in range(steps)]
    return [value for value in subnormal + normal if value <= largest]


@pytest.mark.parametrize(
    ("name", "mantissa_bits", "bias", "largest", "zeros"),
    [("float8_e4m3fn", 3, 7, 448.0, 2), ("float8_e5m2", 2, 15, 57344.0, 2), ("float8_e4m3fnuz", 3, 8, 240.0, 1)],
)
def test_finite_values_leave_out_nan_and_infinity(
    name: str, mantissa_bits: int, bias: int, largest: float, zeros: int
) -> None:
    positive = magnitudes(mantissa_bits, bias, largest)
    count = 2 * (len(positive) - 1) + zeros
    spread = (2 * sum(value * value for value in positive) / count) ** 0.5
    found_count, found_spread = finite_values(name)
    assert found_count == count
    assert found_spread == pytest.approx(spread, rel=1e-6)


def test_scale_is_set_beside_what_its_format_gives() -> None:
    content = {"format": "FLOAT8E4M3FN", "std_data": 2.0, "scale": 0.04, "reference": {"n": 256, "std": 50.0}}
    (fact,) = ScaleComputationJson.parse(block(json.dumps(content))).facts
    assert isinstance(fact, ScaleComputation)
    assert fact.expected_scale == pytest.approx(2 / 100.058, rel=1e-4)
    assert fact.scale_ratio == pytest.approx(2.0012, rel=1e-3)
    assert (fact.reference_values, fact.finite_values) == (256, 254)


@pytest.mark.parametrize("change", [{"format": "INT8"}, {"scale": 0}, {"std_data": "x"}])
def test_what_cannot_be_computed_gives_nothing(change: dict[str, object]) -> None:
    content = {"format": "FLOAT8E4M3FN", "std_data": 2.0, "scale": 0.04, **change}
    assert ScaleComputationJson.parse(block(json.dumps(content))).facts == []


def test_damage_is_survived() -> None:
    for text in damaged(json.dumps(SCALES)):
        KvScalesJson.parse(block(text))
        ScaleComputationJson.parse(block(text))
