from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from diagnose.lowbit.formats import FORMATS, Scheme, quantised
from diagnose.lowbit.metrics import compare

RNG = np.random.default_rng(3)
REFERENCE = RNG.standard_normal((64, 96)).astype(np.float32)
LOW = quantised(REFERENCE, Scheme(FORMATS["int4"], (1, 32)))


@pytest.mark.extras
def test_metrics_agree_with_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="needs the extra `capture`: make extras")
    utils = pytest.importorskip("torch.ao.ns.fx.utils", reason="this PyTorch has no numeric suite")
    found = compare(REFERENCE, LOW)
    one, other = torch.from_numpy(REFERENCE), torch.from_numpy(LOW)

    assert found.sqnr_db == pytest.approx(float(utils.compute_sqnr(one, other)), abs=1e-3)
    assert found.relative_l2_ratio == pytest.approx(float(utils.compute_normalized_l2_error(one, other)), rel=1e-4)
    assert found.cosine == pytest.approx(float(utils.compute_cosine_similarity(one, other)), abs=1e-5)


@pytest.mark.extras
def test_metrics_agree_with_onnx_runtime() -> None:
    debug = pytest.importorskip("onnxruntime.quantization.qdq_loss_debug", reason="needs ONNX Runtime: make extras")
    found = compare(REFERENCE, LOW)

    assert found.sqnr_db == pytest.approx(
        float(debug.compute_signal_to_quantization_noice_ratio(REFERENCE, LOW)), abs=1e-4
    )


def test_long_tensors_are_measured_in_pieces_as_in_one() -> None:
    one = np.tile(REFERENCE, (400, 1))
    other = np.tile(LOW, (400, 1))

    whole, part = compare(one, other), compare(REFERENCE, LOW)

    assert whole.sqnr_db == pytest.approx(part.sqnr_db, abs=1e-6)
    assert whole.max_relative_error_ratio == part.max_relative_error_ratio
    assert whole.elements == 400 * part.elements


def test_equal_tensors_have_no_error() -> None:
    found = compare(REFERENCE, REFERENCE.copy())

    assert found.equal
    assert found.sqnr_db is None
    assert found.relative_l2_ratio == 0.0


def test_values_that_are_no_numbers_are_counted_and_left_out() -> None:
    low = REFERENCE.copy()
    low[0, 0], low[1, 1], low[2, 2] = np.nan, np.inf, -np.inf

    found = compare(REFERENCE, low)

    assert (found.nan_count, found.inf_count, found.reference_nan_count) == (1, 2, 0)
    assert found.sqnr_db is None
    assert not found.equal


def test_a_tensor_of_nothing_but_nan_has_counts_alone() -> None:
    found = compare(REFERENCE, np.full_like(REFERENCE, np.nan))

    assert found.nan_count == REFERENCE.size
    assert found.cosine is None


def test_cut_off_values_are_found_by_their_common_limit() -> None:
    limit = 0.3 * float(np.abs(REFERENCE).max())
    clipped = compare(REFERENCE, np.clip(REFERENCE, -limit, limit))

    assert clipped.clipping_ratio == pytest.approx(float((np.abs(REFERENCE) > 1.1 * limit).mean()))
    assert clipped.gain_ratio is not None
    assert clipped.gain_ratio < 0.98
    assert compare(REFERENCE, LOW).clipping_ratio == 0.0


def test_one_channel_and_one_token_that_hold_the_error_are_told() -> None:
    by_channel, by_token = REFERENCE.copy(), REFERENCE.copy()
    by_channel[:, 5] += 1
    by_token[7] += 1

    assert compare(REFERENCE, by_channel).channel_concentration_ratio == pytest.approx(1.0)
    assert compare(REFERENCE, by_token).token_concentration_ratio == pytest.approx(1.0)


def test_error_that_grows_along_the_tokens_has_a_trend() -> None:
    growing = REFERENCE + RNG.standard_normal(REFERENCE.shape) * np.linspace(0.01, 1, 64)[:, None]

    found = compare(REFERENCE, growing.astype(np.float32))

    assert found.token_trend is not None
    assert found.token_trend > 0.9


def test_outlier_channels_are_set_apart_from_the_others() -> None:
    reference = REFERENCE.copy()
    reference[:, [3, 50]] *= 100
    found = compare(reference, quantised(reference, Scheme(FORMATS["int8"], (1, 0))))

    assert found.outlier_channels == 2
    assert found.normal_channels_sqnr_db is not None
    assert found.sqnr_db is not None
    assert found.normal_channels_sqnr_db < found.sqnr_db - 20


def test_a_factor_shows_in_gain_and_slope_and_correlates_with_the_signal() -> None:
    found = compare(REFERENCE, REFERENCE * np.float32(0.5))

    assert found.slope == pytest.approx(0.5)
    assert found.gain_ratio == pytest.approx(0.5)
    assert found.error_signal_correlation == pytest.approx(-1.0, abs=1e-6)
    assert found.cosine == pytest.approx(1.0)


def test_a_shift_shows_as_bias() -> None:
    found = compare(REFERENCE, REFERENCE + np.float32(0.345 * REFERENCE.std()))

    assert found.bias_sigma == pytest.approx(0.345, abs=0.01)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_rounding_to_a_type_is_at_most_half_a_unit_of_its_last_place(dtype: type) -> None:
    found = compare(REFERENCE, REFERENCE.astype(dtype))

    assert found.over_one_ulp_ratio == 0.0
    assert found.median_ulp is not None
    assert 0 < found.median_ulp <= 0.5


def test_shapes_must_be_equal() -> None:
    with pytest.raises(ValueError, match="shapes differ"):
        compare(REFERENCE, LOW[:3])


def test_no_measure_is_infinite() -> None:
    found = compare(np.zeros((4, 8), np.float32), np.ones((4, 8), np.float32))

    assert all(value is None or math.isfinite(value) for value in (found.sqnr_db, found.cosine, found.gain_ratio))
