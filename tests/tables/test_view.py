"""Rows of a table as an array: every way to slice it, and few readings of the file."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitchensinks.tables import lines
from kitchensinks.tables import table as tables
from kitchensinks.tables.columns import Columns, _sample
from kitchensinks.tables.table import open_table
from kitchensinks.tables.view import Rows, known_targets, targets

VALUES = np.random.default_rng(0).normal(size=(500, 3))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "a.parquet"
    pd.DataFrame(VALUES, columns=list("abc")).to_parquet(path, row_group_size=90)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BATCH_ROWS", 40)
        table = open_table(path)
        yield Rows(table, Columns.learn(table))


bounds = st.one_of(st.none(), st.integers(-600, 600))


@settings(max_examples=150)
@given(start=bounds, stop=bounds, step=st.one_of(st.none(), st.integers(1, 60)))
def test_slices_are_those_of_an_array(rows, start, stop, step):
    part = slice(start, stop, step)
    np.testing.assert_array_equal(rows[part], VALUES[part])


@settings(max_examples=50)
@given(st.lists(st.integers(0, 499), max_size=40))
def test_any_places_in_any_order(rows, places):
    places = np.array(places, dtype=int)
    np.testing.assert_array_equal(rows[places], VALUES[places])


def test_masks_shape_and_what_is_no_place(rows):
    mask = VALUES[:, 0] > 1
    np.testing.assert_array_equal(rows[mask], VALUES[mask])
    assert (rows.shape, len(rows), rows.ndim, rows.dtype) == ((500, 3), 500, 2, np.float64)
    np.testing.assert_array_equal(np.asarray(rows), VALUES)
    with pytest.raises(IndexError, match="500"):
        rows[np.array([500])]
    with pytest.raises(TypeError, match="need a slice"):
        rows["a"]


def counted(rows, monkeypatch):
    """How many walks over the table are begun, and rows read, from now on."""
    walks = []
    read = rows.table.batches

    def batches(columns=None, start=0):
        walks.append(0)
        for batch in read(columns, start):
            walks[-1] += batch.num_rows
            yield batch

    monkeypatch.setattr(rows.table, "batches", batches)
    return walks


def test_neighbouring_slices_are_one_walk(rows, monkeypatch):
    walks = counted(rows, monkeypatch)
    fresh = Rows(rows.table, rows.columns)
    for _ in range(2):
        for start in range(0, 500, 64):
            fresh[start : start + 64]
    assert walks == [500, 500]


def test_few_places_of_a_long_file_are_jumped_to(rows, monkeypatch):
    monkeypatch.setattr("kitchensinks.tables.table._JUMP", 50)
    walks = counted(rows, monkeypatch)
    places = np.array([490, 3])
    np.testing.assert_array_equal(rows[places], VALUES[places])
    assert len(walks) == 2
    assert sum(walks) < 100


def test_the_sample_of_a_text_file_skips_chunks_between_its_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "CHUNK_BYTES", 4096)
    path = tmp_path / "long.csv"
    path.write_text("a\n" + "".join(f"{k}.5\n" for k in range(200_000)))
    table = open_table(path)
    n_chunks, parsed, parse = len(table._index[0]), [], table._parse
    monkeypatch.setattr(table, "_parse", lambda *given: (parsed.append(1), parse(*given))[1])
    sample = _sample(table, ["a"], seed=0)
    assert sample.num_rows == 20_000
    places = np.asarray(sample.column("a")) - 0.5
    assert (np.diff(places) > 0).all()
    assert len(parsed) < 0.5 * n_chunks


def test_numbers_that_are_not_finite_are_named():
    values = np.zeros(30)
    values[17] = np.inf
    table = open_table(pa.table({"a": np.zeros(30), "b": values}))
    rows = Rows(table, Columns.learn(table))
    with pytest.raises(ValueError, match=r"column 'b' has inf in row 17 \(counted from 0\)"):
        rows[5:25]
    with pytest.raises(ValueError, match=r"column 'b' has inf in row 17 \(counted from 0\)"):
        rows[np.array([17])]


def test_targets():
    table = open_table(
        pa.table(
            {
                "whole": [1, 2, 1],
                "word": pa.array(["no", " yes", "no "]).dictionary_encode(),
                "truth": [True, False, True],
                "some": [None, 2.0, float("nan")],
                "none": pa.nulls(3, pa.string()),
            }
        )
    )
    assert targets(table, "whole").tolist() == [1, 2, 1]
    assert targets(table, "word").tolist() == ["no", "yes", "no"]
    assert targets(table, "truth").tolist() == [True, False, True]
    values, weights = known_targets(table, "some")
    assert values.tolist() == [2.0, 2.0, 2.0]
    assert weights.tolist() == [0.0, 1.0, 0.0]
    with pytest.raises(ValueError, match="missing in 2 rows, first in row 0 "):
        targets(table, "some")
    with pytest.raises(ValueError, match="'none' is missing in every row"):
        known_targets(table, "none")
    with pytest.raises(ValueError, match="did you mean 'whole'"):
        targets(table, "whol")


def test_float32_columns_are_read_without_a_word_and_infinities_are_named():
    """Warnings of an overflow are errors here."""
    frame = pd.DataFrame(VALUES[:20].astype(np.float32), columns=list("abc"))
    for bad in (None, np.inf):
        if bad is not None:
            frame.loc[7, "b"] = bad
        table = open_table(pa.Table.from_pandas(frame))
        rows = Rows(table, Columns.learn(table))
        if bad is None:
            assert rows.dtype == np.float32
            np.testing.assert_array_equal(rows[:], frame.to_numpy())
        else:
            with pytest.raises(ValueError, match=r"'b' has inf in row 7 "):
                rows[:]


def test_words_beyond_the_rows_looked_at_are_counted_and_told_once(monkeypatch):
    monkeypatch.setattr(tables, "BATCH_ROWS", 40)
    clean = pd.DataFrame({"a": VALUES[:, 0].round(3).astype(str), "b": VALUES[:, 1]})
    columns = Columns.learn(open_table(clean))
    assert columns.encoders[0].written
    clean.loc[[50, 51, 300], "a"] = ["oops", "", "n.n."]
    rows = Rows(open_table(clean), columns)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Parts of the rows do not tell: all are counted first.
        assert rows[:200].shape == rows[np.arange(200)].shape
    with pytest.warns(UserWarning, match="2 of 500 values of column 'a' are no numbers.*'oops'"):
        found = rows[:]
    assert found[50, 0] == found[300, 0] == columns.encoders[0].fill
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Rows(rows.table, columns)[:]
