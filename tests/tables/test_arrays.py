"""Rows in memory: blocks, weights and what is wrong with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from kitchensinks.tables.arrays import (
    advice,
    block_slices,
    check_size,
    densify,
    describe,
    numeric_rows,
    numeric_weights,
)

ROWS = np.arange(60.0).reshape(20, 3)


@given(n_rows=st.integers(0, 100), block_rows=st.integers(1, 40))
def test_blocks_cover_every_row_once(n_rows, block_rows):
    parts = list(block_slices(n_rows, block_rows))
    assert [i for part in parts for i in range(n_rows)[part]] == list(range(n_rows))
    assert all(0 < part.stop - part.start <= block_rows for part in parts)


def test_descriptions():
    assert describe(ROWS) == "ndarray of shape (20, 3) and dtype float64"
    assert describe(3) == "int 3"
    assert densify([[1, 2]]).tolist() == [[1, 2]]
    assert densify(sparse.csr_array([[1, 2]])).tolist() == [[1, 2]]


def test_numbers():
    assert numeric_rows([[1, 2]]).dtype == np.float64
    assert numeric_rows(sparse.csr_matrix([[1, 2]])).tolist() == [[1, 2]]
    assert numeric_weights([1, 0], 2).tolist() == [1, 0]


@pytest.mark.parametrize("weights", [[1], [[1], [1]], [1, -1], [0, 0], [1, np.nan], [1, np.inf]])
def test_bad_weights(weights):
    with pytest.raises(ValueError, match=r"weights.*need"):
        numeric_weights(weights, 2)


def test_rows_of_a_size_that_fits_are_not_copied():
    assert check_size(ROWS, np.float64) is ROWS
    assert check_size(ROWS, np.float32).dtype == np.float32
    assert check_size(ROWS[:0], np.float32).shape == (0, 3)
    assert check_size(sparse.csr_array((2, 3)), np.float32).shape == (2, 3)


def test_advice_leaves_other_errors_alone():
    with pytest.raises(ValueError, match=r"^something else$"), advice():
        raise ValueError("something else")
    with pytest.raises(ValueError, match=r"^X contains NaN\. Fill in or drop"), advice():
        raise ValueError("X contains NaN.")
