"""Random bins: tables that merge, bins that were never seen."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import kitchensinks as ks
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.scaling import identity

ROWS = np.random.default_rng(0).normal(size=(40, 3))
DRAW = ks.Binning(gamma=0.5).draw(0, 3, 20)


def test_one_of_each_grid_and_row():
    features = DRAW.tabulate([ROWS]).features(ROWS)
    assert isinstance(features, sparse.csr_array)
    assert features.has_canonical_format
    assert (features.data == 1).all()
    assert (features.sum(axis=1) == 20).all()
    assert (features.sum(axis=0) > 0).all()


def test_the_features_of_a_grid_are_its_cells():
    """Rows share a column exactly where they share a cell ⌊(x − u)/δ⌋."""
    features = DRAW.tabulate([ROWS]).features(ROWS).toarray()
    offsets = DRAW.tabulate([ROWS]).offsets
    for g in range(20):
        cells = np.floor((ROWS - DRAW.theta["shift"][g]) * DRAW.theta["rate"][g])
        together = (cells[:, None] == cells).all(axis=2)
        part = features[:, offsets[g] : offsets[g + 1]]
        np.testing.assert_array_equal(part @ part.T, together)


def test_a_bin_never_seen_gives_zeros():
    draw = DRAW.tabulate([ROWS])
    far = draw.features(ROWS[:2] + np.array([[0.0], [1e9]]))
    assert far.shape == (2, draw.n_columns)
    assert far[[0]].sum() == 20
    assert far[[1]].nnz == 0
    some = draw.features(ROWS + 0.3)
    assert 0 < some.nnz < 20 * len(ROWS)
    np.testing.assert_array_equal(np.unique(some.data), [1])


def assert_same_table(one, other):
    np.testing.assert_equal(one.basis.pack(one), other.basis.pack(other))


@settings(max_examples=25)
@given(order=st.permutations(range(40)), cuts=st.lists(st.integers(0, 40), max_size=5))
def test_blocks_merge_in_any_order(order, cuts):
    whole = DRAW.tabulate([ROWS])
    edges = [0, *sorted(cuts), 40]
    blocks = [ROWS[order[low:high]] for low, high in pairwise(edges)]
    assert_same_table(DRAW.tabulate(blocks), whole)
    merged = DRAW.tabulate([])
    for block in blocks:
        merged = DRAW.tabulate([block]).merge(merged)
    assert_same_table(merged, whole)
    assert_same_table(merged.tabulate(blocks), whole)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tables_of_sparse_rows(kind, dtype):
    rows = np.where(ROWS > 0, ROWS, 0).astype(dtype)
    draw = ks.Binning(gamma=0.5).draw(0, 3, 20, dtype)
    dense = draw.tabulate([rows])
    thin = draw.tabulate([kind(rows)])
    assert_same_table(dense, thin)
    assert (dense.features(rows) != thin.features(kind(rows))).nnz == 0
    assert dense.features(rows).dtype == dtype


def test_a_union_merges_its_tables():
    basis = ks.Union([ks.Fourier(gamma=0.5), ks.Binning(gamma=0.5), ks.Binning(gamma=2.0)])
    draw = basis.draw(0, 3, 12)
    whole = draw.tabulate([ROWS])
    merged = draw.tabulate([ROWS[25:]]).merge(draw.tabulate(iter([ROWS[:10], ROWS[10:25]])))
    assert (whole.features(ROWS) != merged.features(ROWS)).nnz == 0
    assert whole.n_columns == merged.n_columns


def test_features_before_any_table():
    with pytest.raises(ValueError, match=r"no columns yet.*tabulate"):
        DRAW.features(ROWS)


def test_names_of_bins_are_stable():
    """Hashes that a saved table is made of: row (½, −1¼, 2) in the first grids of seed 0."""
    draw = ks.Binning(gamma=0.3).draw(0, 3, 3)
    names = draw.basis.bin_names(draw.theta, np.array([[0.5, -1.25, 2.0]]))
    assert names.ravel().tolist() == [
        11579167729397391977,
        15752338914117437243,
        15035619238856579357,
    ]
    columns = draw.tabulate([np.array([[0.5, -1.25, 2.0]])])
    assert columns.basis.names(columns.theta, 3)[0] == f"grid0_{11579167729397391977:016x}"


def test_bins_found_while_they_are_tabulated_are_those_found_afterwards():
    found, columns = DRAW.tabulate_with_bins(ROWS)
    known = DRAW.tabulate([ROWS])
    assert_same_table(found, known)
    np.testing.assert_array_equal(columns, known.bins(ROWS))


def test_rows_without_weight_have_no_bins_of_their_own():
    """One hashing of the rows finds what two passes find."""
    rows, weights = np.random.default_rng(0).normal(size=(60, 3)), np.ones(60)
    weights[::4] = 0.0
    frozen = Frozen(identity(3), ks.Binning(gamma=1.0), 0, 3, 7, np.dtype(np.float64))
    found, bins = frozen.with_bins(rows, weights)
    known = frozen.with_learned(rows, weights)
    assert_same_table(found.draw, known.draw)
    np.testing.assert_array_equal(bins, known.draw.bins(rows))
    assert (bins < 0).any()
