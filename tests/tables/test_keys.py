"""Rows are chosen by their content, and the choice says nothing about their targets."""

import numpy as np
import pytest
from scipy import sparse

import kitchensinks as ks
from kitchensinks.tables.keys import SAMPLE_ROWS, RowSample, hold_out, row_keys, sample_size


@pytest.mark.parametrize("seed", range(8))
def test_a_sample_of_the_rows_not_held_out_has_their_share_of_each_class(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(5000, 3))
    notes = np.where(rng.random(5000) < 0.25, 1.0, -1.0)[:, None]
    held = hold_out(row_keys(rows, seed), None, 0.2)
    sample = RowSample.of(rows, np.where(held, 0.0, 1.0), 500, seed, notes)
    share = np.mean(sample.notes == 1.0)
    assert abs(share - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 500)


def test_samples_of_parts_merge_into_that_of_the_whole_and_copies_are_one_row():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, size=(600, 3)).astype(float)
    notes = rng.integers(0, 2, size=(600, 1)).astype(float)
    whole = RowSample.of(rows, None, 50, 1, notes)
    parts = [RowSample.of(rows[k::3], None, 50, 1, notes[k::3]) for k in range(3)]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    np.testing.assert_array_equal(merged.keys, whole.keys)
    np.testing.assert_array_equal(merged.rows, whole.rows)
    np.testing.assert_array_equal(merged.weights, whole.weights)
    assert len(np.unique(np.hstack([whole.rows, whole.notes]), axis=0)) == len(whole.rows) == 50
    assert whole.weights.max() > 1


def test_rows_that_cannot_come_in_may_be_left_out_beforehand():
    rows = np.random.default_rng(0).integers(0, 40, size=(600, 2)).astype(float)
    whole = RowSample.of(rows, None, 50, 1)
    first = RowSample.of(rows[:500], None, 50, 1)
    rest = RowSample.of(rows[500:], None, 50, 1, highest=first.highest)
    assert len(rest.keys) < 50
    both = first.merge(rest)
    for name in ("keys", "rows", "weights"):
        np.testing.assert_array_equal(getattr(both, name), getattr(whole, name))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 5), (40, 200)])
def test_sparse_rows_have_the_keys_of_dense_ones(shape, dtype):
    rows = np.random.default_rng(0).integers(-1, 2, size=shape).astype(dtype)
    rows[rows == 0] *= np.random.default_rng(1).choice([1, -1], size=(rows == 0).sum())
    np.testing.assert_array_equal(row_keys(sparse.csr_array(rows), 3), row_keys(rows, 3))


def test_entries_that_are_stored_twice_are_added_up():
    twice = sparse.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), (1, 2))
    assert row_keys(twice, 0) == row_keys(np.array([[0.0, 3.0]]), 0)
    assert twice.nnz == 2


def test_a_sample_leaves_out_rows_of_no_weight_and_depends_on_the_seed():
    rows = np.arange(60.0).reshape(20, 3)
    weights = np.tile([0.0, 2.0], 10)
    for limit in (4, 50):
        sample = RowSample.of(rows, weights, limit, 0)
        assert len(sample.rows) == len(sample.weights) == min(limit, 10)
        assert (sample.shares == 1).all()
        assert (sample.rows[:, 0] % 6 == 3).all()
    chosen = [set(RowSample.of(rows, None, 5, seed).rows[:, 0]) for seed in range(4)]
    assert len({frozenset(found) for found in chosen}) > 1


def test_a_sample_of_very_wide_sparse_rows_is_small():
    ones = np.ones(500)
    rows = sparse.csr_array((ones, (np.arange(500), np.arange(500))), shape=(500, 2**17))
    sample = RowSample.of(rows, None, sample_size(2**17), 0)
    assert isinstance(sample.rows, np.ndarray)
    assert sample.rows.shape == (128, 2**17)


@pytest.mark.parametrize("weighted", [False, True])
def test_every_estimator_resolves_a_basis_on_the_same_rows(weighted):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(SAMPLE_ROWS + 3000, 3))
    weights = rng.integers(0, 3, size=len(rows)).astype(float) if weighted else None
    features = ks.RandomFeatures(ks.Fourier(), 20, random_state=0)
    gamma = features.fit(rows, sample_weight=weights).basis_.gamma
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20, standardize=False, random_state=0)
    assert model.fit(rows, rows[:, 0], weights).basis_.gamma == gamma
    pca = ks.KitchenSinkPCA(ks.Fourier(), 2, n_features=20, standardize=False, random_state=0)
    assert pca.fit(rows, sample_weight=weights).basis_.gamma == gamma
    order = rng.permutation(len(rows))
    own = None if weights is None else weights[order]
    assert features.fit(rows[order], sample_weight=own).basis_.gamma == gamma
    other = ks.RandomFeatures(ks.Fourier(), 20, random_state=1)
    assert other.fit(rows, sample_weight=weights).basis_.gamma != gamma


def test_principal_components_on_dask_resolve_on_the_same_rows():
    arrays = pytest.importorskip("dask.array")
    rows = np.random.default_rng(0).normal(size=(SAMPLE_ROWS + 1000, 3))
    pca = ks.KitchenSinkPCA(ks.Fourier(), 2, n_features=20, random_state=0)
    here = pca.fit(rows).basis_.gamma
    there = pca.fit(arrays.from_array(rows, chunks=(700, 3))).basis_.gamma
    np.testing.assert_allclose(there, here, rtol=1e-12)


@pytest.mark.parametrize("fold", [0, 1])
def test_rows_of_no_weight_do_not_change_which_rows_of_few_values_are_held_out(fold):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, size=(600, 3)).astype(float)
    weights = np.where(rng.random(600) < 0.3, 0.0, 1.0)
    own = weights > 0
    held = hold_out(row_keys(rows, 0), weights, 0.2, fold)
    np.testing.assert_array_equal(held[own], hold_out(row_keys(rows[own], 0), None, 0.2, fold))
    assert held[own].any()


def test_nothing_is_held_out_of_no_rows():
    assert hold_out(np.empty(0, np.uint64), None, 0.2).shape == (0,)
