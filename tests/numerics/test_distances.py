"""Pairwise distances, near and far."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kitchensinks.numerics.distances import cityblock, euclidean, squared_euclidean


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_squared_distances_wherever_the_rows_are(offset, size):
    rng = np.random.default_rng(0)
    rows = offset + size * rng.normal(size=(30, 7))
    others = offset + size * rng.normal(size=(11, 7))
    expected = cdist(rows, others, "sqeuclidean")
    np.testing.assert_allclose(squared_euclidean(rows, others), expected, rtol=1e-12, atol=1e-11)
    assert (squared_euclidean(rows, rows).diagonal() == 0).all()


def test_one_very_long_row():
    rows = np.vstack([np.eye(3), 1e100 * np.ones(3)])
    distances = squared_euclidean(rows, rows)
    assert (distances.diagonal() == 0).all()
    np.testing.assert_allclose(distances[:3, :3], 2 - 2 * np.eye(3))


def test_overflow_gives_infinity_and_never_nan():
    rows = np.array([[1e200, 0.0], [-1e200, 0.0], [1.0, 0.0]])
    distances = squared_euclidean(rows, rows)
    assert (distances.diagonal() == 0).all()
    assert np.isinf(distances[~np.eye(3, dtype=bool)]).all()


@pytest.mark.parametrize("function", [squared_euclidean, euclidean, cityblock])
@pytest.mark.parametrize(("n_rows", "n_others"), [(0, 3), (3, 0), (1, 1)])
def test_shapes(function, n_rows, n_others):
    assert function(np.ones((n_rows, 2)), np.ones((n_others, 2))).shape == (n_rows, n_others)


def test_the_other_distances():
    rows, others = np.array([[0.0, 0.0]]), np.array([[3.0, -4.0]])
    assert euclidean(rows, others)[0, 0] == 5
    assert cityblock(rows, others)[0, 0] == 7
