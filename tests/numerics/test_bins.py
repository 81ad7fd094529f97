"""Hashing and finding bins: compiled kernels against their plain twins."""

import numpy as np
import pytest

from kitchensinks.numerics.bins import CELL_LIMIT, hash_tiles, leaf_names, tiled
from kitchensinks.numerics.combinations import sum_into_bins, sum_of_bins
from kitchensinks.numerics.names import (
    add_scores,
    find_columns,
    number_names,
)
from kitchensinks.numerics.threads import threads
from tests.catalogue import TREES
from tests.numerics import twins

SHAPES = [(0, 3, 2), (1, 1, 1), (7, 3, 0), (5, 1, 4), (33, 7, 5)]


def bin_hashes(rows, *grids_and_names):
    hash_tiles(*tiled(rows), *grids_and_names)


def grids(n_inputs, n_grids):
    rng = np.random.default_rng(n_inputs + n_grids)
    pitch = rng.gamma(2.0, size=(n_grids, n_inputs))
    odd = rng.integers(0, 2**63, size=(n_grids, n_inputs), dtype=np.uint64) | np.uint64(1)
    return pitch * rng.random((n_grids, n_inputs)), 1.0 / pitch, odd


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_rows", "n_inputs", "n_grids"), SHAPES)
def test_compiled_hashes_are_the_plain_ones(n_rows, n_inputs, n_grids, dtype):
    rows = (10 * np.random.default_rng(0).normal(size=(n_rows, n_inputs))).astype(dtype)
    compiled, plain = np.zeros((2, n_grids, n_rows), dtype=np.uint64)
    bin_hashes(rows, *grids(n_inputs, n_grids), compiled)
    twins.bin_hashes(rows, *grids(n_inputs, n_grids), plain)
    np.testing.assert_array_equal(compiled, plain)


def test_hashes_of_columns_with_one_two_and_many_values():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2500, 6))
    rows[:, 0], rows[:, 1] = 3.0, np.where(rng.random(2500) < 0.02, 9.0, -5.0)
    rows[:, 2], rows[:, 3] = np.where(rng.random(2500) < 0.9, 9.0, -5.0), rng.integers(-9, 9, 2500)
    compiled, plain = np.zeros((2, 4, 2500), dtype=np.uint64)
    bin_hashes(rows, *grids(6, 4), compiled)
    twins.bin_hashes(rows, *grids(6, 4), plain)
    np.testing.assert_array_equal(compiled, plain)


@pytest.mark.parametrize("wide", [0.2, 1.0, 4.0])
def test_hashes_of_columns_in_few_cells(wide):
    """One to many borders lie between the cells of a column; float32 values as well."""
    rows = (wide * np.random.default_rng(0).normal(size=(1300, 5))).astype(np.float32)
    compiled, plain = np.zeros((2, 9, 1300), dtype=np.uint64)
    bin_hashes(rows, *grids(5, 9), compiled)
    twins.bin_hashes(rows, *grids(5, 9), plain)
    np.testing.assert_array_equal(compiled, plain)


def test_cells_too_far_for_an_integer_are_clipped():
    rows = np.array([[1e300, -1e300], [np.finfo(float).max, -CELL_LIMIT], [0.0, 1e19]])
    compiled, plain = np.zeros((2, 3, 3), dtype=np.uint64)
    bin_hashes(rows, *grids(2, 3), compiled)
    with np.errstate(over="ignore"):
        twins.bin_hashes(rows, *grids(2, 3), plain)
    np.testing.assert_array_equal(compiled, plain)


def test_borders_between_cells_too_far_to_count_end():
    """Three neighbours among float64 numbers, whose cells differ by more than counting can add."""
    rows = 1.5 * 2.0**60 + 256.0 * np.arange(3)[:, None]
    shift, rate = np.zeros((41, 1)), 1.0 / np.arange(160.0, 201.0)[:, None]
    grid = shift, rate, np.full((41, 1), 3, dtype=np.uint64)
    compiled, plain = np.zeros((2, 41, 3), dtype=np.uint64)
    bin_hashes(rows, *grid, compiled)
    twins.bin_hashes(rows, *grid, plain)
    np.testing.assert_array_equal(compiled, plain)


def test_names_of_bins_never_change():
    """A saved table of bins is looked up by these numbers."""
    names = np.zeros((1, 2), dtype=np.uint64)
    shift, rate = np.array([[0.25, 0.5]]), np.array([[2.0, 1.0]])
    odd = np.array([[0x9E3779B97F4A7C15, 0xD1B54A32D192ED03]], dtype=np.uint64)
    bin_hashes(np.array([[1.3, -0.2], [0.3, 0.6]]), shift, rate, odd, names)
    assert names.ravel().tolist() == [9326879691720869951, 0]


def test_different_bins_have_different_names():
    """All cells of a 300 x 300 grid: a single collision would be a surprise of 1e-9."""
    cells = np.stack(np.meshgrid(np.arange(-150, 150), np.arange(-150, 150)), axis=-1)
    rows = cells.reshape(-1, 2) + 0.5
    odd = np.array([[0xBF58476D1CE4E5B9, 0x94D049BB133111EB]], dtype=np.uint64)
    names = np.zeros((1, len(rows)), dtype=np.uint64)
    bin_hashes(rows, np.zeros((1, 2)), np.ones((1, 2)), odd, names)
    assert len(np.unique(names)) == len(rows)


@pytest.mark.parametrize("n_different", [1, 40, 3000])
@pytest.mark.parametrize(("n_rows", "n_inputs", "n_grids"), [*SHAPES, (5000, 1, 2)])
def test_compiled_numbers_of_names_are_the_plain_ones(n_rows, n_inputs, n_grids, n_different):
    """3000 different names need more slots than the table begins with."""
    rng = np.random.default_rng(n_rows)
    names = rng.integers(0, n_different, (n_grids, n_rows), dtype=np.uint64) * np.uint64(2**40)
    compiled, plain = np.zeros((2, n_grids, n_rows), dtype=np.uint64)
    counts, plain_counts = np.zeros((2, n_grids), dtype=np.int64)
    numbers, plain_numbers = np.zeros((2, n_grids, n_rows), dtype=np.int32)
    number_names(names, compiled, counts, numbers)
    twins.number_names(names, plain, plain_counts, plain_numbers)
    np.testing.assert_array_equal(numbers, plain_numbers)
    np.testing.assert_array_equal(counts, plain_counts)
    for own, other, count in zip(compiled, plain, counts, strict=True):
        np.testing.assert_array_equal(own[:count], other[:count])


@pytest.mark.parametrize("greatest", [2**64 - 1, 2**20, 2000])
def test_single_names_are_found_wherever_they_stand(greatest):
    """Few names are looked up from where an even spread would have them, which need not be so."""
    rng = np.random.default_rng(0)
    table = np.unique(rng.integers(0, greatest, 1000, dtype=np.uint64, endpoint=True))
    offsets = np.array([0, len(table)])
    ends = np.array([0, 2**64 - 1], dtype=np.uint64)
    for name in np.concatenate([table[::7], table[-1:], table[::50] + np.uint64(1), ends]):
        compiled, plain = np.zeros((2, 1, 1), dtype=np.int64)
        find_columns(np.array([[name]]), table, offsets, compiled)
        twins.find_columns(np.array([[name]]), table, offsets, plain)
        assert compiled == plain


def test_scores_have_the_same_bits_for_one_row_many_rows_and_two_threads():
    """One row is looked up by search, many in a hash table that each thread has for itself."""
    rng = np.random.default_rng(0)
    parts = [np.unique(rng.integers(0, 2**64 - 1, 3000, dtype=np.uint64)) for _ in range(3)]
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    table, unknown = np.concatenate(parts), rng.integers(0, 2**64 - 1, (3, 40000), dtype=np.uint64)
    known = np.stack([rng.choice(part, 40000) for part in parts])
    names = np.where(rng.random(known.shape) < 0.9, known, unknown)
    values = rng.normal(size=(len(table), 2))
    together, shared, expected = np.zeros((3, 40000, 2))
    add_scores(names, table, offsets, values, together)
    with threads(2):
        add_scores(names, table, offsets, values, shared)
    twins.add_scores(names, table, offsets, values, expected)
    np.testing.assert_array_equal(together, expected)
    np.testing.assert_array_equal(shared, expected)
    for i in range(20):
        alone = np.zeros((1, 2))
        add_scores(names[:, i : i + 1].copy(), table, offsets, values, alone)
        np.testing.assert_array_equal(alone[0], expected[i])


@pytest.mark.parametrize(("n_rows", "n_inputs", "n_grids"), SHAPES)
@pytest.mark.parametrize("n_known", [0, 1, 20])
def test_compiled_search_is_the_plain_one(n_rows, n_inputs, n_grids, n_known):
    rng = np.random.default_rng(n_rows + n_known)
    parts = [np.unique(rng.integers(0, 40, n_known, dtype=np.uint64)) for _ in range(n_grids)]
    table = np.concatenate([*parts, np.empty(0, dtype=np.uint64)])
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    names = rng.integers(0, 40, (n_grids, n_rows), dtype=np.uint64)
    compiled, plain = np.zeros((2, n_grids, n_rows), dtype=np.int64)
    find_columns(names, table, offsets, compiled)
    twins.find_columns(names, table, offsets, plain)
    np.testing.assert_array_equal(compiled, plain)
    values = rng.normal(size=(len(table), 2))
    scores, expected = np.zeros((2, n_rows, 2))
    add_scores(names, table, offsets, values, scores)
    twins.add_scores(names, table, offsets, values, expected)
    np.testing.assert_array_equal(scores, expected)
    for i in range(n_rows):
        for g, part in enumerate(parts):
            known = names[g, i] in part
            assert known == (compiled[g, i] >= 0)
            assert not known or table[compiled[g, i]] == names[g, i]


@pytest.mark.parametrize(("n_grids", "n_rows", "n_outputs"), [(1, 0, 1), (1, 1, 1), (5, 70_001, 3)])
def test_products_with_binned_features_agree_with_their_plain_twins(n_grids, n_rows, n_outputs):
    rng = np.random.default_rng(0)
    # Grid g owns columns 10g to 10g + 9; −1 is a bin without a column.
    columns = rng.integers(-1, 10, size=(n_grids, n_rows)).astype(np.int32)
    columns = np.where(columns >= 0, columns + 10 * np.arange(n_grids)[:, None], -1)
    values = rng.normal(size=(10 * n_grids, n_outputs))
    fast, plain = np.empty((2, n_rows, n_outputs))
    sum_of_bins(columns, values, 0.5, fast)
    twins.sum_of_bins(columns, values, 0.5, plain)
    np.testing.assert_allclose(fast, plain, atol=1e-12)
    rows = rng.normal(size=(n_rows, n_outputs))
    fast, plain = (f(columns, rows, 10 * n_grids) for f in (sum_into_bins, twins.sum_into_bins))
    np.testing.assert_allclose(fast, plain, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [0, 1, 1500])
def test_compiled_leaves_are_the_plain_ones(n_rows, dtype):
    rows = np.random.default_rng(0).normal(size=(n_rows, 4)).astype(dtype)
    found = np.empty((len(TREES.column), n_rows), np.uint64)
    plain = np.empty_like(found)
    leaf_names(rows, *TREES.nodes(), found)
    twins.leaf_names(rows, *TREES.nodes(), plain)
    np.testing.assert_array_equal(found, plain)
