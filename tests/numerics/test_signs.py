"""Each compiled kernel against its plain twin."""

import numpy as np
import pytest

from kitchensinks.numerics import signs
from tests.numerics import twins


def stumps(n_rows, n_inputs, count, dtype, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(n_rows, n_inputs)), 1).astype(dtype)
    column = rng.integers(n_inputs, size=count)
    # Ties between values and thresholds, and between thresholds.
    threshold = np.round(rng.normal(size=count), 1).astype(dtype)
    return rows, column, threshold


def table(column, threshold):
    order = np.lexsort((threshold, column))
    columns, counts = np.unique(column, return_counts=True)
    return columns, np.concatenate([[0], np.cumsum(counts)]), threshold[order]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n_rows", "count"), [(0, 3), (1, 1), (63, 5), (64, 16), (65, 17), (9000, 40)]
)
def test_products_by_counting_bits(n_rows, count, dtype):
    rows, column, threshold = stumps(n_rows, 3, count, dtype)
    found = signs.stump_products(rows, column, threshold)
    expected = twins.stump_products(rows, column, threshold)
    np.testing.assert_array_equal(np.tril(found), np.tril(expected))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_rows", "count"), [(0, 3), (1, 1), (50, 30)])
def test_signs(n_rows, count, dtype):
    rows, column, threshold = stumps(n_rows, 3, count, dtype)
    found, expected = np.empty((2, n_rows, count), dtype=dtype)
    signs.stump_signs(rows, column, threshold, found)
    twins.stump_signs(rows, column, threshold, expected)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_rows", [0, 1, 80])
@pytest.mark.parametrize("n_outputs", [0, 1, 3])
def test_sums_and_tables_over_intervals(n_rows, n_outputs):
    rows, column, threshold = stumps(n_rows, 5, 12, np.float64)
    sorted_table = table(column, threshold)
    size = 12 + len(sorted_table[0])
    targets = np.random.default_rng(1).normal(size=(n_rows, n_outputs))
    counts, sums = np.zeros((2, size), dtype=int), np.zeros((2, size, n_outputs))
    signs.interval_sums(rows, *sorted_table, targets, counts[0], sums[0])
    twins.interval_sums(rows, *sorted_table, targets, counts[1], sums[1])
    np.testing.assert_array_equal(*counts)
    np.testing.assert_allclose(*sums, atol=1e-12)
    assert counts[0].sum() == n_rows * len(sorted_table[0])
    tables = np.random.default_rng(2).normal(size=(size, n_outputs))
    scores = np.zeros((2, n_rows, n_outputs))
    signs.look_up(rows, *sorted_table, tables, scores[0])
    signs.look_up_plain(rows, *sorted_table, tables, scores[1])
    np.testing.assert_allclose(*scores, atol=1e-12)
