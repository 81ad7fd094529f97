"""Products with few columns, against their NumPy twins."""

import numpy as np
import pytest

from kitchensinks.numerics.narrow import add_image, filled, times
from tests.numerics import twins


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 4, 5, 7, 10])
@pytest.mark.parametrize("n_rows", [0, 1, 3, 4, 9])
def test_products_are_those_of_numpy(n_rows, n_columns, dtype):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, 37)).astype(dtype)
    weights = filled(rng.normal(size=(n_columns, 37)), np.dtype(dtype))
    assert len(weights) % 5 == 0
    assert not weights[n_columns:].any()
    tolerance = 40 * np.finfo(dtype).eps
    found = times(rows, weights)
    np.testing.assert_allclose(found, twins.times(rows, weights), atol=5 * tolerance)
    out, plain = np.ones_like(weights), np.ones_like(weights)
    add_image(rows, found[:, :n_columns].astype(np.float64), out)
    twins.add_image(rows, found[:, :n_columns].astype(np.float64), plain)
    np.testing.assert_allclose(out, plain, rtol=tolerance, atol=50 * tolerance)
    np.testing.assert_array_equal(out[n_columns:], 1.0)
