"""Routines of BLAS and LAPACK without the interpreter's lock, against NumPy."""

import numpy as np
import pytest

from kitchensinks.numerics.products import (
    cholesky_lower,
    gram_lower,
    inverse_lower,
    solve_lower,
)
from kitchensinks.numerics.threads import threads

DTYPES = [np.float32, np.float64]


def positive(size, dtype):
    rows = np.random.default_rng(size).normal(size=(size + 3, size))
    return np.asfortranarray(rows.T @ rows + np.eye(size), dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0, 1, 2, 17])
def test_factor_and_inverse(dtype, size):
    matrix = positive(size, dtype)
    lower = np.tril_indices(size)
    factor, inverse = matrix.copy("F"), matrix.copy("F")
    assert cholesky_lower(factor)
    assert inverse_lower(inverse)
    expected = np.linalg.cholesky(matrix.astype(np.float64))
    np.testing.assert_allclose(factor[lower], expected[lower], rtol=1e-4)
    exact = np.linalg.inv(matrix.astype(np.float64))
    np.testing.assert_allclose(inverse[lower], exact[lower], rtol=1e-3, atol=1e-4)
    upper = np.triu_indices(size, 1)
    np.testing.assert_array_equal(factor[upper], matrix[upper])
    right = np.arange(3.0 * size, dtype=dtype).reshape(size, 3)
    np.testing.assert_allclose(solve_lower(factor, right), exact @ right, rtol=1e-3, atol=1e-2)
    with pytest.raises(ValueError, match=r"need \("):
        solve_lower(factor, right.astype(np.int64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_that_are_not_positive_definite(dtype):
    for change in (cholesky_lower, inverse_lower):
        assert not change(np.asfortranarray([[1.0, 2.0], [2.0, 1.0]], dtype=dtype))


def test_arrays_that_do_not_fit():
    rows = np.ones((3, 2))
    for out in (np.zeros((2, 2)), np.zeros((3, 3), order="F"), np.zeros((2, 2), "f", "F")):
        with pytest.raises(ValueError, match=r"need \(2, 2\), float64, 'F'"):
            gram_lower(rows, out)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1023, 1025, 2100])
def test_tiles_of_a_gram_have_the_same_bits_on_any_number_of_threads(dtype, size):
    rows = np.random.default_rng(size).normal(size=(40, size)).astype(dtype)
    lower, grams = np.tril_indices(size), []
    for count in (1, 2):
        out = np.zeros((size, size), dtype, order="F")
        with threads(count):
            gram_lower(rows, out)
        grams.append(out[lower])
    np.testing.assert_array_equal(*grams)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(grams[0], (rows.T @ rows)[lower], atol=tolerance)
