"""Cholesky factors: exact where they exist, with the least jitter where rounding forbids them."""

import numpy as np
import pytest

from kitchensinks.problem.constraints import L2Ball, SupBall
from kitchensinks.solvers import cholesky
from kitchensinks.solvers.cholesky import lower_factor
from kitchensinks.solvers.quadratic import minimise_quadratic


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_ridge_is_added_to_the_diagonal_and_the_matrix_stays(dtype):
    gram = np.array([[4.0, 1.0], [1.0, 3.0]], dtype=dtype)
    shifted = gram + dtype(0.5) * np.eye(2, dtype=dtype)
    np.testing.assert_array_equal(lower_factor(gram, 0.5), lower_factor(shifted))
    np.testing.assert_array_equal(gram, [[4.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize("size", [1, 7])
def test_zeros_have_a_factor_and_what_is_not_finite_has_none(size):
    assert np.isfinite(lower_factor(np.zeros((size, size)))).all()
    with pytest.raises(np.linalg.LinAlgError):
        lower_factor(np.full((size, size), -np.inf))


@pytest.mark.parametrize("ball", [SupBall(2000.0), L2Ball(2e4), None])
def test_steps_with_a_hessian_that_rounding_has_made_indefinite(ball, monkeypatch):
    """Each interior point had tried eight jitters, for a minute where a fit now takes seconds."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 120)) / 10.0
    noise = 1e-8 * rng.normal(size=(120, 120))
    hessian = rows.T @ rows + noise + noise.T
    assert np.linalg.eigvalsh(hessian)[0] < 0.0
    point = rng.uniform(-1500.0, 1500.0, 120)
    tried = [0]

    def counted(matrix):
        tried[0] += 1
        return plain(matrix)

    plain = cholesky.cholesky_lower
    monkeypatch.setattr(cholesky, "cholesky_lower", counted)
    eps = float(np.finfo(np.float32).eps)
    # A minimiser stays one, however much goes onto the diagonal.
    still = minimise_quadratic(hessian, point, np.zeros(120), 0.0, ball, 1e-6, eps)
    np.testing.assert_allclose(still, point, atol=1e-2)
    pull = rows.T @ rng.normal(size=40)
    moved = minimise_quadratic(hessian, point, pull, 0.0, ball, 1e-6, eps)
    assert np.isfinite(moved).all()
    assert pull @ (moved - point) < 0.0
    assert tried[0] < 100
