from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from diagnose.lowbit.formats import FORMATS, NVFP4, Scheme, combined_db, expected_sqnr_db, mx, quantised, sqnr_db

NORMAL = np.random.default_rng(0).standard_normal((256, 4096)).astype(np.float32)
SCHEMES = {
    "int8 by tensor": (Scheme(FORMATS["int8"]), 38.3),
    "int8 by row": (Scheme(FORMATS["int8"], (1, 0)), 41.2),
    "int4 by group": (Scheme(FORMATS["int4"], (1, 128)), 18.6),
    "int4 by row": (Scheme(FORMATS["int4"], (1, 0)), 16.1),
    "E4M3": (Scheme(FORMATS["fp8-e4m3"]), 31.5),
    "E5M2": (Scheme(FORMATS["fp8-e5m2"]), 25.6),
    "MXFP8": (mx("fp8-e4m3"), 30.7),
    "MXFP6 E2M3": (mx("fp6-e2m3"), 30.9),
    "MXFP6 E3M2": (mx("fp6-e3m2"), 25.4),
    "MXFP4": (mx("fp4-e2m1"), 18.8),
    "NVFP4": (NVFP4, 20.4),
    "BF16": (Scheme(FORMATS["bf16"], scale="none"), 55.6),
    "FP16": (Scheme(FORMATS["fp16"], scale="none"), 73.7),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_normal_values_lose_what_is_known_of_the_format(name: str) -> None:
    scheme, known = SCHEMES[name]

    assert expected_sqnr_db(NORMAL, scheme) == pytest.approx(known, abs=0.7)


@given(arrays(np.float32, (4, 64), elements=st.floats(-1e4, 1e4, width=32)), st.sampled_from(list(SCHEMES)))
def test_what_lies_on_the_format_stays_there(values: np.ndarray, name: str) -> None:
    scheme = SCHEMES[name][0]
    once = quantised(values, scheme)

    assert once.shape == values.shape
    assert np.isfinite(once).all()
    if scheme.scale in ("float32", "none"):
        assert np.allclose(quantised(once, scheme), once, rtol=1e-5, atol=1e-30)


def test_shapes_that_blocks_do_not_divide_are_quantised_too() -> None:
    values = NORMAL[:130, :200]

    assert quantised(values, Scheme(FORMATS["fp8-e4m3"], (128, 128))).shape == (130, 200)


def test_asymmetric_integers_serve_one_sided_values_better() -> None:
    values = np.maximum(NORMAL, 0)
    symmetric = expected_sqnr_db(values, Scheme(FORMATS["int4"], (1, 128)))
    asymmetric = expected_sqnr_db(values, Scheme(FORMATS["int4"], (1, 128), symmetric=False))

    assert symmetric is not None
    assert asymmetric is not None
    assert asymmetric > symmetric + 3


def test_independent_errors_add_by_their_powers() -> None:
    assert combined_db(31.5, 31.5) == pytest.approx(28.5, abs=0.02)
    assert combined_db(18.6, None) == pytest.approx(18.6)
    assert combined_db(None) is None


def test_no_error_has_no_sqnr_and_no_signal_an_infinite_one() -> None:
    assert sqnr_db(NORMAL[:1], NORMAL[:1]) is None
    assert sqnr_db(np.zeros((1, 4), np.float32), np.ones((1, 4), np.float32)) == -np.inf
