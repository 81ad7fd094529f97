"""Rows are chosen by their content, and the choice says nothing about their targets."""

import numpy as np
import pytest

from kitchensinks.tables.keys import RowSample, hold_out, row_keys


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
