"""The index of pandas in a file or an Arrow table: a column if it has a name, and else nothing."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kitchensinks as ks
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.table import open_table

N = 300


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=N), "b": random.normal(size=N)})
    frame["c"] = [f"{place}.5" for place in random.integers(0, 50, N)]
    return frame.assign(y=frame.a - 3 * frame.b)


def model():
    return ks.KitchenSinkRegressor(ks.Fourier(), n_components=100, random_state=0)


@pytest.mark.parametrize("name", ["b", "c"])
def test_an_index_with_a_name_is_a_column(name, frame, tmp_path):
    frame.set_index(name).to_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.parquet", pa.Table.from_pandas(frame.set_index(name))):
        table = open_table(source)
        assert sorted(table.names) == sorted(frame)
        assert set(Columns.learn(table, exclude=["y"]).inputs) == {"a", "b", "c"}
        fitted = model().fit(table, "y")
        np.testing.assert_allclose(fitted.predict(table), fitted.predict(frame), atol=1e-9)
        # These make frames of some rows.
        assert ks.explain(fitted, table).contributions.shape == (N, 3)
        assert fitted.report(table, "y", compare=False).rows == N


def test_the_index_of_an_arrow_table_is_fitted(frame):
    """pandas alone would hide it in the index of a frame."""
    plain, rows = frame[["a", "b"]], pa.Table.from_pandas(frame[["a", "b"]].set_index("b"))
    fitted = model().fit(rows, frame.y)
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(fitted.predict(rows), model().fit(plain, frame.y).predict(plain))
    assert ks.explain(fitted, rows[:2]).contributions.shape == (2, 2)
    assert fitted.report(rows, frame.y, compare=False).rows == N


def test_an_index_without_a_name_is_no_column(frame, tmp_path):
    """As the filtered or shuffled rows of a frame have it."""
    some = frame.sample(frac=1.0, random_state=0).set_axis(np.linspace(0, 9, N))
    some.to_parquet(tmp_path / "1.parquet")
    frame.to_parquet(tmp_path / "2.parquet")
    rows = pa.Table.from_pandas(some)
    assert "__index_level_0__" in rows.column_names
    for source in (rows, tmp_path / "1.parquet", tmp_path):
        assert open_table(source).names == list(frame)
    assert model().fit(rows.select(["a", "__index_level_0__"]), frame.y).n_features_in_ == 1
