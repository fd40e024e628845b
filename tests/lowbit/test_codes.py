from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.lowbit.test_weights import FORMATS, SMALL, opened


@pytest.mark.parametrize("name", FORMATS)
def test_whole_rows_are_the_same_as_single_elements(name: str, tmp_path: Path) -> None:
    checkpoint = opened(tmp_path, FORMATS[name](SMALL))
    for encoded in checkpoint.encoded.values():
        outputs = np.array([0, 7, 130, encoded.shape[0] - 1])
        single = encoded.read(outputs[:, None], np.arange(encoded.shape[1])[None, :])

        assert np.allclose(encoded.rows(outputs), single, rtol=1e-6, atol=0)
