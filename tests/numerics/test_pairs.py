"""Sums over pairs and maps of columns: compiled kernels against their plain twins."""

import numpy as np
import pytest

from kitchensinks.numerics.pairs import (
    clear_lower,
    mirror,
    pair_distances,
    weighted_distances,
)
from kitchensinks.numerics.warps import LINEAR, MIX, QUANTILE, SQUASH, warp_rows
from tests.numerics import twins

SHAPES = [(1, 1), (1, 5), (3, 2), (4, 4), (2, 7), (0, 5), (5, 130)]


@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize(("n_inputs", "n_rows"), SHAPES)
def test_pairs_agree_with_their_plain_twins(n_inputs, n_rows, share):
    rng = np.random.default_rng(n_rows)
    first = int(share * n_rows)
    columns = rng.normal(size=(n_inputs, n_rows)).astype(np.float32)
    fast, plain = np.full((2, first, n_rows), np.nan, dtype=np.float32)
    pair_distances(columns, fast)
    twins.pair_distances(columns, plain)
    np.testing.assert_allclose(np.triu(fast), np.triu(plain), rtol=1e-5, atol=1e-5)
    weights = rng.normal(size=(first, n_rows)).astype(np.float32)
    fast, plain = np.full((2, n_inputs), np.nan)
    weighted_distances(columns, weights, fast)
    twins.weighted_distances(columns, weights, plain)
    np.testing.assert_allclose(fast, plain, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (3, 7), (0, 2)])
def test_what_is_cleared_is_below_the_diagonal(shape):
    matrix = np.random.default_rng(0).normal(size=shape)
    above = np.triu(matrix)
    clear_lower(matrix)
    np.testing.assert_array_equal(matrix, above)


@pytest.mark.parametrize("size", [1, 2, 33, 70])
def test_a_mirrored_matrix_is_symmetric(size):
    matrix = np.random.default_rng(0).normal(size=(size, size))
    above = np.triu(matrix)
    mirror(matrix)
    np.testing.assert_array_equal(matrix, above + np.triu(above, 1).T)


@pytest.mark.parametrize("kind", [LINEAR, SQUASH, QUANTILE, MIX])
def test_maps_agree_with_their_plain_twins(kind):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    rows[:, 1] = np.round(rows[:, 1])  # Ties among the knots.
    knots = np.ascontiguousarray(np.quantile(rows, np.linspace(0, 1, 17), axis=0).T)
    far = np.concatenate([rows, 5 * rows, [[99.0] * 3, [-99.0] * 3]])
    mean, scale, factor = rows.mean(axis=0), rows.std(axis=0), np.array([1.0, 0.5, 2.0])
    kinds = np.full(3, kind, dtype=np.int8)
    fast, plain = np.empty_like(far), np.empty_like(far)
    warp_rows(far, mean, scale, kinds, knots, factor, fast)
    twins.warp_rows(far, mean, scale, kinds, knots, factor, plain)
    np.testing.assert_allclose(fast, plain, rtol=1e-12)
    for count in (0, 1):
        few = np.empty((count, 3))
        warp_rows(far[:count], mean, scale, kinds, knots, factor, few)
        np.testing.assert_array_equal(few, fast[:count])
    many = np.tile(far, (2**17 // far.size + 2, 1))
    narrow, wide = np.empty(many.shape, np.float32), np.empty(many.shape)
    warp_rows(many, mean, scale, kinds, knots, factor, narrow)
    warp_rows(many, mean, scale, kinds, knots, factor, wide)
    np.testing.assert_array_equal(narrow, wide.astype(np.float32))
    order = np.argsort(far[:, 0])
    assert (np.diff(fast[order, 0]) >= 0).all(), "a map of a column must not change its order"
    if kind != LINEAR:
        assert np.abs(fast[:, 0]).max() <= 3.0
