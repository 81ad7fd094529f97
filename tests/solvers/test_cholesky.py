"""Cholesky factors: exact where they exist, with the least jitter where rounding forbids them."""

import numpy as np
import pytest

from kitchensinks.solvers.cholesky import lower_factor


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_positive_definite_matrix_is_factored_as_it_is(dtype):
    rows = np.random.default_rng(0).normal(size=(50, 20)).astype(dtype)
    gram = rows.T @ rows
    before = gram.copy()
    assert (lower_factor(gram) == np.linalg.cholesky(gram)).mean() > 0.5
    np.testing.assert_allclose(lower_factor(gram) @ lower_factor(gram).T, gram, rtol=1e-4)
    assert (gram == before).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("below", [0.0, 1e-12, 1e-7, 1e-3])
def test_the_jitter_is_at_most_ten_times_what_is_needed(below, dtype):
    vectors, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 30)))
    values = np.where(np.arange(30) < 3, 1.0, -below)
    matrix = ((vectors * values) @ vectors.T).astype(dtype)
    matrix = (matrix + matrix.T) / dtype(2.0)
    factor = lower_factor(matrix).astype(np.float64)
    jitter = np.mean(np.diag(factor @ factor.T - matrix))
    assert np.isfinite(factor).all()
    assert 0.0 < jitter <= 10.0 * max(below, 30.0 * np.finfo(dtype).eps)


@pytest.mark.parametrize("size", [1, 7])
def test_zeros_have_a_factor_and_what_is_not_finite_has_none(size):
    assert np.isfinite(lower_factor(np.zeros((size, size)))).all()
    with pytest.raises(np.linalg.LinAlgError):
        lower_factor(np.full((size, size), -np.inf))
