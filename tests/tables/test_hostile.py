"""Files that change after they were opened, odd types and stray quotes: told in our own words."""

import os

import numpy as np
import pandas as pd
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import kitchensinks as ks
from kitchensinks.tables.lines import row_end
from kitchensinks.tables.means import learn_means
from kitchensinks.tables.table import open_table
from kitchensinks.tables.view import known_targets

ROWS = pd.DataFrame(np.random.default_rng(0).normal(size=(30_000, 3)), columns=list("abc"))


def write(path, frame=ROWS):
    if path.suffix == ".parquet":
        frame.to_parquet(path, row_group_size=3000)
    elif path.suffix == ".npy":
        np.save(path, frame.to_numpy())
    else:
        frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("how", ["replaced", "shorter", "gone", "in place"])
@pytest.mark.parametrize("kind", [".parquet", ".csv", ".npy"])
def test_a_file_that_changes_after_it_was_opened(kind, how, tmp_path):
    path = write(tmp_path / f"a{kind}")
    table = open_table(path)
    assert table.n_rows == len(ROWS)
    if how == "replaced":
        write(tmp_path / f"b{kind}", ROWS + 1.0)
        os.replace(tmp_path / f"b{kind}", path)
    elif how == "gone":
        path.unlink()
    elif how == "shorter":
        os.truncate(path, path.stat().st_size // 2)
    else:
        with path.open("r+b") as file:
            file.seek(path.stat().st_size // 2)
            file.write(b"1111")
    with pytest.raises(ValueError, match=r"has changed since it was opened.*Open it again"):
        list(table.batches())


@pytest.mark.parametrize("kind", [".parquet", ".csv", ".npy"])
def test_a_file_that_changes_in_the_middle_of_a_pass(kind, tmp_path):
    path = write(tmp_path / f"a{kind}", pd.concat([ROWS] * 8))
    table = open_table(path)
    assert table.n_rows == 8 * len(ROWS)
    batches = table.batches()
    next(batches)
    write(path, ROWS + 1.0)
    with pytest.raises(ValueError, match="has changed since it was opened"):
        list(batches)


@pytest.mark.parametrize("kind", ["plain", "in place"])
def test_parquet_rows_changed_in_the_middle_are_other_rows(kind, tmp_path):
    """Neither the size of the file nor its ends tell: a checkpoint of the old rows was accepted."""
    path = write(tmp_path / "a.parquet")
    before = open_table(path).fingerprint()
    assert open_table(path).fingerprint() == before
    if kind == "plain":
        changed = ROWS.copy()
        changed.iloc[15_000:15_010] += 1.0
        write(path, changed)
    else:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    after = open_table(path).fingerprint()
    assert after["content"] != before["content"]
    assert after["columns"] == before["columns"]


@pytest.mark.skipif(not hasattr(pyarrow, "string_view"), reason="needs views of text")
def test_views_of_text_are_text(tmp_path):
    words = ["red", "blue", None] * 40
    frame = pyarrow.table(
        {
            "colour": pyarrow.array(words, pyarrow.string_view()),
            "kind": pyarrow.array([str(word) for word in words], pyarrow.string_view()),
            "x": np.arange(120.0),
        }
    )
    parquet.write_table(frame, tmp_path / "a.parquet")
    for source in (frame, tmp_path / "a.parquet"):
        table = open_table(source)
        assert known_targets(table, "kind")[0].tolist() == list(map(str, words))
        model = ks.KitchenSinkClassifier(ks.Fourier(), 20, random_state=0).fit(table, "kind")
        assert model.score(table, np.array(list(map(str, words)))) > 0.9


@pytest.mark.parametrize("target", [[[1, 2]] * 9, [{"a": 1}] * 9, [b"1"] * 9], ids=str)
def test_a_target_that_is_no_value_is_named(target):
    table = open_table(pyarrow.table({"x": range(9), "y": target}))
    with pytest.raises(ValueError, match=r"the target 'y' holds .*; need numbers"):
        ks.targets(table, "y")


def test_a_very_long_name_of_a_column(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"a,{'b' * 140_000}\n1,2\n")
    with pytest.raises(ValueError, match=r"a\.csv, line 1: the names .* cannot be read"):
        open_table(path)


def test_a_very_long_value_of_a_bad_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"a,b\n1,2\n3,{'4' * 140_000},5\n")
    with pytest.raises(ValueError, match=r"line 3: its values cannot be told apart"):
        _ = open_table(path).n_rows


@pytest.mark.parametrize("count", [1, 2, 3])
def test_stray_quotes_are_letters(count, tmp_path):
    """A quote within a value opens nothing, however many there are."""
    path = tmp_path / "a.csv"
    lines = [f'{k},5" pipe\n' if k < count else f'{k},"a ""b"", c"\n' for k in range(6)]
    path.write_text("n,what\n" + "".join(lines))
    table = open_table(path)
    found = pyarrow.Table.from_batches(table.batches()).to_pydict()
    assert found["n"] == list(range(6))
    assert found["what"] == ['5" pipe'] * count + ['a "b", c'] * (6 - count)


def test_a_quote_that_is_never_closed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('n,what\n1,5" pipe\n2,"open\n3,x\n')
    with pytest.raises(ValueError, match="line 3: a quote is opened and not closed"):
        _ = open_table(path).n_rows


@settings(max_examples=150)
@given(st.lists(st.text(alphabet='a",\n', max_size=5), min_size=1, max_size=12))
def test_rows_end_where_arrow_says_that_they_end(words):
    """The part before the cut has the rows that the whole begins with."""
    text = ("\n".join(words) + "\n").encode()
    end = row_end(text[: len(text) // 2 + 1], b"|")
    whole, half = _rows(text), _rows(text[:end])
    if whole is not None and half is not None:
        assert whole[: len(half)] == half


def _rows(data):
    """Rows of one value by Arrow's own reader; None where it refuses the text."""
    try:
        table = arrow_csv.read_csv(
            pyarrow.BufferReader(data),
            arrow_csv.ReadOptions(column_names=["a"], use_threads=False),
            arrow_csv.ParseOptions(newlines_in_values=True, delimiter="|"),
            arrow_csv.ConvertOptions(column_types={"a": pyarrow.string()}),
        )
    except pyarrow.ArrowException:
        return None if data.strip() else []
    return table.column("a").to_pylist()


def test_the_means_of_a_row_leave_out_its_own_target():
    """Another target of a row changes the means of other rows, and not its own."""
    rng = np.random.default_rng(0)
    table = open_table(pyarrow.table({"city": rng.choice(list("abc"), 60)}))
    columns, targets = ks.Columns.learn(table), rng.normal(size=(60, 1))

    def encoded(own):
        recipe, folds = learn_means(table, columns, own, None, ("mean target",))
        return ks.Rows(table, recipe, folds)[:]

    before = encoded(targets)
    for row in (0, 17, 59):
        changed = targets.copy()
        changed[row] += 100.0
        after = encoded(changed)
        np.testing.assert_allclose(after[row], before[row], rtol=1e-9, atol=1e-9)
        assert np.abs(after - before).max() > 1.0


@pytest.mark.parametrize("kind", ["reader", "dataset", "array", "chunks"])
def test_what_arrow_has_beside_tables_is_told_what_to_give(kind):
    dataset = pytest.importorskip("pyarrow.dataset")
    table = pyarrow.table({"a": np.arange(9.0), "b": np.arange(9.0)})
    rows = {
        "reader": table.to_reader,
        "dataset": lambda: dataset.dataset(table),
        "array": lambda: table["a"].combine_chunks(),
        "chunks": lambda: table["a"],
    }[kind]()
    with pytest.raises((TypeError, ValueError), match=r"[Nn]eed rows"):
        ks.KitchenSinkRegressor(ks.Fourier(), 5).fit(rows, np.arange(9.0))
