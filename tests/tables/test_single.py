"""One row of a frame becomes the numbers that it has among others."""

import numpy as np
import pandas as pd
import pytest

import kitchensinks as ks
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.single import one_row
from kitchensinks.tables.table import open_table
from kitchensinks.tables.view import Rows

RNG = np.random.default_rng(0)
N = 60
FRAME = pd.DataFrame(
    {
        "whole": RNG.integers(-5, 5, N),
        "narrow": RNG.normal(size=N).astype(np.float32),
        "holes": np.where(RNG.random(N) < 0.3, np.nan, RNG.normal(size=N)),
        "nullable": pd.array(RNG.integers(0, 9, N), dtype="Int64"),
        "flag": RNG.random(N) < 0.5,
        "two": RNG.choice(["yes", "no"], N),
        "word": RNG.choice(["Oslo", " Rome", "Bern ", "?", ""], N),
        "kind": pd.Categorical(RNG.choice(["low", "high"], N), ["low", "high"], ordered=True),
        "code": pd.Categorical(RNG.integers(0, 4, N)),
        "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 9999, N), unit="h"),
        "day": [f"2021-{k % 12 + 1:02}-{k % 28 + 1:02}" for k in range(N)],
        "written": [f"{k / 4}" if k % 7 else "none" for k in range(N)],
        "text": [
            " ".join(RNG.choice(["red", "green", "blue", "sky"], 4)) + str(k) for k in range(N)
        ],
    }
)
FRAME.loc[::9, "nullable"] = pd.NA
FRAME.loc[::8, "kind"] = None
FRAME.loc[::11, "when"] = pd.NaT


@pytest.mark.parametrize("polars", [False, True])
def test_one_row_is_what_it_is_among_others(polars):
    columns = Columns.learn(open_table(FRAME))
    assert {type(encoder).__name__ for encoder in columns.encoders} == {
        "Number",
        "Category",
        "Date",
        "Text",
    }
    expected, frame = Rows(open_table(FRAME), columns)[:], FRAME
    if polars:
        frame = pytest.importorskip("polars").from_pandas(FRAME.astype({"code": str}))
    for k in range(N):
        found = one_row(columns, frame[k : k + 1])
        np.testing.assert_allclose(found, expected[k : k + 1], rtol=1e-6, atol=1e-6)
    # In any order of the columns, with others among them, and whatever the names of the rows.
    if not polars:
        turned = FRAME[FRAME.columns[::-1]].assign(more="x").set_index(np.arange(N)[::-1])
        np.testing.assert_array_equal(one_row(columns, turned[:1]), one_row(columns, FRAME[:1]))


def test_what_needs_the_general_way_is_left_to_it():
    columns = Columns.learn(open_table(FRAME))
    row = FRAME[1:2]
    for spoiled in (
        row.drop(columns="whole"),
        row.assign(whole="many"),
        row.assign(whole=np.inf),
        row.assign(when=3.5),
        pd.concat([row, row[["whole"]]], axis=1),
        row["whole"],
        row.to_numpy(),
    ):
        assert one_row(columns, spoiled) is None
    model = ks.KitchenSinkRegressor(ks.Fourier(), 10, random_state=0).fit(FRAME, FRAME["whole"])
    for spoiled, message in (
        (row.drop(columns="whole"), "no column 'whole'"),
        (row.assign(whole="many"), "column 'whole' holds text, and was"),
        (row.assign(whole=np.inf), "'whole' has inf in row 0 "),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(spoiled)


def test_long_whole_numbers_that_are_categories_keep_their_digits():
    """pandas makes the numbers of one row decimal where one of its columns is."""
    frame = pd.DataFrame({"id": 2**53 + np.arange(4) % 2, "x": [0.5, 1.5, 2.5, 3.5]})
    columns = Columns.learn(open_table(frame), categories=["id"])
    expected = Rows(open_table(frame), columns)[:]
    one = one_row(columns, frame[1:2])
    assert one is None or one.tolist() == expected[1:2].tolist()


def test_few_rows_are_checked_as_many_are():
    rows = RNG.normal(size=(50, 3))
    model = ks.KitchenSinkRegressor(ks.Fourier(), 10, random_state=0).fit(rows, rows[:, 0])
    whole = model.predict(rows)
    one = np.concatenate([model.predict(rows[k : k + 1]) for k in range(50)])
    np.testing.assert_allclose(one, whole, rtol=1e-6, atol=1e-8)
    for kind in (np.float32, np.float16, int, object):
        assert model.predict(rows[:1].astype(kind)).shape == (1,)
    for wrong, message in (
        (np.full((1, 3), np.inf), "infinity"),
        (np.full((1, 3), 1e200), "entry of size 1e\\+200"),
        (np.zeros((1, 4)), "4 features"),
        (np.zeros(3), "1D array"),
        (np.zeros((0, 3)), "0 sample"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(wrong)
    model.fit(pd.DataFrame(rows, columns=list("abc")), rows[:, 0])
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(rows[:1])
