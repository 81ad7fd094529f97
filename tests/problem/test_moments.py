"""Sums over blocks of features, against plain products of all rows."""

import numpy as np
import pytest
from scipy import sparse

from kitchensinks.problem.moments import Moments

RNG = np.random.default_rng(0)
FEATURES, TARGETS = RNG.normal(size=(50, 4)), RNG.normal(size=(50, 2))
WEIGHTS = RNG.integers(0, 3, size=50).astype(float)
SHIFT = np.array([0.5, 0.0, -1.0, 2.0])


def walk_over(features, cuts):
    def walk(work):
        for places in np.split(np.arange(features.shape[0]), cuts):
            yield places, work(places, features[places])

    return walk


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("cuts", [[], [20], [1, 2, 49]], ids=str)
@pytest.mark.parametrize("filled", [True, False], ids=["dense", "sparse"])
def test_blocks_add_up_to_the_products_of_all_rows(filled, cuts, weights):
    told = []
    moments = Moments.zeros(SHIFT, 2)
    features = FEATURES if filled else sparse.csr_array(FEATURES)
    moments.add_blocks(walk_over(features, cuts), TARGETS, weights, told=told.append)
    own = np.ones(50) if weights is None else weights
    centred = FEATURES - SHIFT
    gram = centred.T @ (own[:, None] * centred)
    np.testing.assert_allclose(np.tril(moments.gram), np.tril(gram), atol=1e-12)
    np.testing.assert_allclose(moments.cross, centred.T @ (own[:, None] * TARGETS), atol=1e-12)
    np.testing.assert_allclose(moments.first, own @ centred, atol=1e-12)
    np.testing.assert_allclose(moments.squares, own @ TARGETS**2)
    assert (moments.weight, moments.count) == (own.sum(), np.count_nonzero(own))
    np.testing.assert_array_equal(np.concatenate(told), np.arange(50))


def test_blocks_that_a_walk_keeps_are_not_overwritten():
    kept = FEATURES.copy()

    def walk(work):
        yield slice(0, 50), work(slice(0, 50), kept)

    Moments.zeros(SHIFT, 2).add_blocks(walk, TARGETS, None, copied=True)
    np.testing.assert_array_equal(kept, FEATURES)


def test_products_may_be_wider_than_the_features():
    narrow, wide = Moments.zeros(SHIFT, 2), Moments.zeros(SHIFT, 2)
    features = FEATURES.astype(np.float32)
    narrow.add_blocks(walk_over(features, []), TARGETS, None)
    wide.add_blocks(walk_over(features, []), TARGETS, None, np.dtype(np.float64))
    centred = features.astype(np.float64) - SHIFT
    exact = np.tril(centred.T @ centred)
    np.testing.assert_allclose(np.tril(wide.gram), exact, rtol=1e-13)
    assert np.abs(np.tril(narrow.gram) - exact).max() > 1e-8
