"""Names of rows, decimal commas and stray words are noticed and said."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kitchensinks as ks
from kitchensinks.cli.targets import read_target
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.noticed import is_identifier
from kitchensinks.tables.table import open_table

RNG = np.random.default_rng(0)
N = 600
X = RNG.normal(size=(N, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1]
FRAME = pd.DataFrame(X, columns=["a", "b"])
UUIDS = [f"{RNG.integers(2**60):015x}-{k}" for k in range(N)]


@pytest.mark.parametrize(
    "values",
    [
        np.arange(N),
        np.arange(N)[::-1] + 10_000,
        RNG.permutation(2 * N)[:N].astype(np.int16),
        UUIDS,
        pd.Categorical(UUIDS),
        [f"row{k}" for k in range(N)],
    ],
    ids=["numbers", "falling", "shuffled", "uuid", "category", "words"],
)
def test_names_of_rows_are_left_out_and_told(values):
    frame = FRAME.assign(name=values)
    model = ks.KitchenSinkRegressor(ks.Fourier(), 50, random_state=0)
    with pytest.warns(UserWarning, match=r"every row are left out.*'name'\. Drop"):
        model.fit(frame, Y)
    assert model.columns_.inputs == ["a", "b"]
    found = model.predict(frame)
    np.testing.assert_array_equal(model.predict(frame.drop(columns="name")), found)
    np.testing.assert_allclose(model.fit(FRAME, Y).predict(FRAME), found, rtol=1e-6)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(N) * 1.0,
        np.sort(RNG.integers(0, 10**7, N)),
        1_600_000_000 + 3600 * np.arange(N),
        np.round(np.exp(RNG.normal(12, 1, N))).astype(int),
        RNG.integers(0, N, N),
        [f"a text of several words, {k}" for k in range(N)],
        [f"{'x' * 40}{k}" for k in range(N)],
        pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), unit="D"),
    ],
    ids=["float", "sorted", "seconds", "prices", "equal", "text", "long", "dates"],
)
def test_quantities_and_texts_stay(values):
    frame = FRAME.assign(other=values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "other" in Columns.learn(open_table(frame)).inputs


@pytest.mark.parametrize("frame", [FRAME[["a"]], FRAME.assign(word="b")], ids=["numbers", "mixed"])
def test_a_named_column_of_times_is_an_input(frame):
    frame = frame.assign(step=np.arange(N))
    learned = ks.Learned(effort="quick", time="step")
    target = 0.01 * np.arange(N) + 0.1 * Y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ks.KitchenSinkRegressor(learned, random_state=0).fit(frame, target)
    assert "step" in model.columns_.inputs
    assert model.score(frame, target) > 0.9


def test_small_tables_and_single_columns_stay():
    few = pd.DataFrame({"year": np.arange(1900, 2000), "a": X[:100, 0]})
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(few, Y[:100])
        model.fit(pd.DataFrame({"time": np.arange(N)}), Y)
        model.fit(np.column_stack([np.arange(N), np.arange(N)]), Y)
        named = open_table(FRAME.assign(name=np.arange(N)))
        assert Columns.learn(named, identifiers=True).inputs == ["a", "b", "name"]
    assert not is_identifier(pa.array(range(100)))


def test_decimal_commas_are_told():
    frame = FRAME.assign(price=[f"{k % 97},{k % 10}" for k in range(N)])
    with pytest.warns(UserWarning, match="decimal commas are taken as text, in 'price'"):
        Columns.learn(open_table(frame))
    with pytest.raises(ValueError, match=r"'price' holds.*decimal commas, such as '0,0'"):
        read_target(open_table(frame), "price", "auto")


def test_a_stray_word_among_the_numbers_of_a_target_is_told():
    words = [str(k) for k in range(N)]
    words[57] = "fifty-seven"
    table = open_table(FRAME.assign(y=words))
    with pytest.raises(ValueError, match=r"words: 'fifty-seven' \(first in row 57, counted from 0"):
        read_target(table, "y", "auto")
    # Few values are classes, and so is what is called so.
    classes = open_table(FRAME.assign(y=["1", "2", "other"] * (N // 3)))
    assert read_target(classes, "y", "auto")[2] == "classification"
    assert read_target(table, "y", "classification")[2] == "classification"
