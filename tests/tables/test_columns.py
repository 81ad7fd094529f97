"""From columns to numbers: what is learned, what is filled in, what is refused."""

import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kitchensinks.tables import columns as columns_module
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.means import learn_means
from kitchensinks.tables.table import MemoryTable, open_table

N_ROWS = 300


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(0)
    count = random.integers(0, 9, N_ROWS).astype(float)
    count[::7] = np.nan
    city = random.choice(["Oslo", "Rome", "Lima"], N_ROWS).astype(object)
    city[::11] = None
    return pd.DataFrame(
        {
            "size": random.normal(size=N_ROWS),
            "count": count,
            "open": random.random(N_ROWS) < 0.5,
            "city": city,
            "side": random.choice(["left", "right"], N_ROWS),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N_ROWS), unit="D"),
            "written": [f"2023-0{k % 9 + 1}-1{k % 7}" for k in range(N_ROWS)],
            "digits": [str(k) for k in range(N_ROWS)],
            "title": [f"{'tax return' if k % 2 else 'on cats'} no {k}" for k in range(N_ROWS)],
            "nothing": [None] * N_ROWS,
            "y": random.normal(size=N_ROWS),
        }
    )


@pytest.fixture(scope="module")
def table(frame):
    return open_table(frame)


@pytest.fixture(scope="module")
def learned(table):
    return Columns.learn(table, exclude=["y"])


def numbers(columns, frame):
    columns.check(open_table(frame))
    batches = open_table(frame).batches(columns.inputs)
    block = np.concatenate([columns.apply(batch) for batch in batches])
    return pd.DataFrame(block, columns=columns.outputs)


def test_each_kind_of_column_becomes_numbers(learned, frame):
    out = numbers(learned, frame)
    assert learned.inputs == [name for name in frame.columns if name not in ("y", "nothing")]
    assert np.isfinite(out.to_numpy()).all()
    np.testing.assert_array_equal(out["size"], frame["size"])
    np.testing.assert_array_equal(out["open"], frame["open"].astype(float))
    np.testing.assert_array_equal(out["digits"], np.arange(N_ROWS))
    missing = frame["count"].isna()
    np.testing.assert_array_equal(out["count is missing"], missing)
    np.testing.assert_array_equal(out["count"], frame["count"].fillna(frame["count"].median()))
    for city in ("Oslo", "Rome", "Lima"):
        np.testing.assert_array_equal(out[f"city={city}"], frame["city"] == city)
    np.testing.assert_array_equal(out["city is missing"], frame["city"].isna())
    # Two values are one column.
    np.testing.assert_array_equal(out["side=right"], frame["side"] == "right")
    assert "side=left" not in out
    np.testing.assert_array_equal(out["day month"], frame["day"].dt.month)
    np.testing.assert_array_equal(out["day weekday"], frame["day"].dt.day_of_week)
    np.testing.assert_array_equal(np.diff(out["day days"]), np.ones(N_ROWS - 1))
    # Parts that never vary are left out.
    assert "day hour" not in out
    np.testing.assert_array_equal(out["written day"], pd.to_datetime(frame["written"]).dt.day)


def test_categories_and_text_keep_a_scale_of_their_own(learned):
    unscaled = dict(zip(learned.outputs, learned.unscaled, strict=True))
    assert not unscaled["size"]
    assert not unscaled["count"]
    assert not unscaled["day days"]
    assert unscaled["count is missing"]
    assert unscaled["city=Oslo"]
    assert unscaled["title topic 1"]


def test_text_like_text_is_near(learned, frame):
    """Rows with almost the same text are nearer than others."""
    titles = frame.head(3).copy()
    titles["title"] = ["tax return no 101", "The Tax Returns no 101", "on cats no 22"]
    out = numbers(learned, titles).filter(like="topic").to_numpy()
    assert np.linalg.norm(out[0] - out[1]) < 0.5 * np.linalg.norm(out[0] - out[2])


def test_values_never_seen_do_not_fail(learned, frame):
    odd = frame.head(4).copy()
    odd["city"] = ["Paris", None, "Oslo", ""]
    odd["side"] = [None, "up", "left", "right"]
    odd["size"] = [np.nan, 1.0, 2.0, 3.0]
    odd["day"] = [pd.NaT, *odd["day"][1:]]
    odd["written"] = ["not a date", None, "2023-01-11", "2023-01-12"]
    odd["digits"] = ["7", "x", None, "9"]
    odd["title"] = [None, "", "äöü 🐈", "x" * 10_000]
    out = numbers(learned, odd)
    assert np.isfinite(out.to_numpy()).all()
    np.testing.assert_array_equal(out.filter(like="city=").sum(axis=1), [0, 0, 1, 0])
    np.testing.assert_array_equal(out["city is missing"], [0, 1, 0, 1])
    np.testing.assert_array_equal(out["side=right"], [0, 0, 0, 1])
    # Nothing was missing when this was learned: filled in, without a mark.
    assert out["size"][0] == np.median(frame["size"])
    assert "size is missing" not in out


def test_columns_in_another_order_just_work(learned, frame):
    turned = frame[list(frame.columns[::-1])]
    pd.testing.assert_frame_equal(numbers(learned, frame), numbers(learned, turned))


def test_a_column_that_is_empty_this_time_is_missing(learned, frame, tmp_path):
    frame.head(5).assign(size=np.nan, city=None, day=None).to_csv(tmp_path / "a.csv", index=False)
    table = open_table(tmp_path / "a.csv")
    learned.check(table)
    out = dict(zip(learned.outputs, learned.apply(next(table.batches())).T, strict=True))
    np.testing.assert_array_equal(out["size"], np.median(frame["size"]))
    np.testing.assert_array_equal(out["city is missing"], 1.0)
    assert np.isfinite(out["day days"]).all()


def test_dates_of_every_type_are_the_same_numbers():
    moments = pd.Series(pd.date_range("2023-03-04 05:06:07", periods=9, freq="31h"))
    columns = {
        "s": pa.array(moments.astype("datetime64[s]")),
        "ns": pa.array(moments.astype("datetime64[ns]")),
        "zone": pa.array(moments.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
        "text": pa.array(moments.dt.strftime("%Y-%m-%d %H:%M:%S")),
    }
    found = []
    for name, values in columns.items():
        table = open_table(pa.table({name: values}))
        learned = Columns.learn(table)
        found.append(learned.apply(next(table.batches())))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0])
    table = open_table(pa.table({"day": pa.array(moments).cast(pa.date32())}))
    assert Columns.learn(table).outputs[:2] == ["day days", "day day"]


@pytest.mark.parametrize(
    ("format_", "good", "others", "said"),
    [
        (None, "2023-03-05", ["05.03.2023", "garbage"], "such as 2026-05-31, for example '05.03"),
        ("%d.%m.%Y", "05.03.2023", ["2023-03-05", "garbage"], "format '%d.%m.%Y' of the fit"),
    ],
)
def test_text_is_read_as_dates_in_one_format_and_what_is_not_read_is_told(
    format_, good, others, said
):
    """Days and months are never guessed: what is not in the format counts as missing."""
    moments = pd.Series(pd.date_range("2023-03-01", periods=40, freq="25h"))
    learned = Columns.learn(
        open_table(
            pd.DataFrame({"day": moments if format_ is None else moments.dt.strftime(format_)})
        )
    )
    rows = pa.table({"day": pa.array([good, None, *others])})
    with pytest.warns(UserWarning, match=f"2 of 4 values of column 'day' are no dates.*{said}"):
        found = learned.apply(next(open_table(rows).batches()))
    np.testing.assert_array_equal(found[1], found[2])
    np.testing.assert_array_equal(found[1], found[3])
    assert (found[0] != found[1]).any()


@pytest.mark.parametrize("written", ["%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y"])
def test_months_that_could_be_days_are_read_with_the_day_first_or_told(written):
    """The first of each month is a day of January in the other order."""
    moments = pd.Series(pd.date_range("2015-01-01", periods=96, freq="MS"))
    table = open_table(pd.DataFrame({"day": moments.dt.strftime(written)}))
    if "." in written:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            learned = Columns.learn(table)
        assert learned.encoders[0].format == written
    else:
        with pytest.warns(UserWarning, match=r"'day', such as '01/01/2015', may have the day or"):
            Columns.learn(table)


def test_days_that_are_no_months_are_not_told():
    moments = pd.Series(pd.date_range("2015-01-01", periods=96, freq="D"))
    for written in ("%d/%m/%Y", "%m/%d/%Y", "%d %b %Y"):
        table = open_table(pd.DataFrame({"day": moments.dt.strftime(written)}))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            learned = Columns.learn(table)
        assert learned.encoders[0].format == written


def test_missing_renamed_and_changed_columns_are_named(learned, frame):
    with pytest.raises(ValueError, match="no column 'size': rename 'sizes' to 'size'"):
        learned.check(open_table(frame.rename(columns={"size": "sizes"})))
    with pytest.raises(ValueError, match="no column 'day'"):
        learned.check(open_table(frame.drop(columns=["day"])))
    for small in ("small", pd.Categorical(["small"] * len(frame))):
        with pytest.raises(ValueError, match="column 'size' holds text, and was numbers") as told:
            learned.check(open_table(frame.assign(size=small)))
        assert "pandas.to_numeric(X['size'], errors='coerce')" in str(told.value)
    with pytest.raises(ValueError, match=r"column 'day' holds numbers \(int64\), and was dates"):
        learned.check(open_table(frame.assign(day=3)))


def test_a_recipe_is_plain_json_and_arrays(learned, frame):
    description, arrays = learned.describe()
    again = Columns.restore(json.loads(json.dumps(description)), arrays)
    assert again.outputs == learned.outputs
    assert again.fingerprint() == learned.fingerprint()
    pd.testing.assert_frame_equal(numbers(again, frame), numbers(learned, frame))
    description["columns"][0]["kind"] = "os.system"
    with pytest.raises(ValueError, match=r"'os\.system' is not known"):
        Columns.restore(description, arrays)


@pytest.mark.parametrize("seekable", [True, False])
def test_the_recipe_comes_from_a_bounded_sample(seekable, monkeypatch):
    """A value of the far end of a long table is seen, and few rows are looked at."""
    monkeypatch.setattr(MemoryTable, "seekable", seekable)
    size = 50_000
    frame = pd.DataFrame(
        {"a": np.arange(size) / 2, "b": np.where(np.arange(size) < 25_000, "x 1", "z 1")}
    )
    seen = []
    decided = columns_module._decided

    def noted(kinds, sample):
        seen.append(sample.num_rows)
        return decided(kinds, sample)

    monkeypatch.setattr(columns_module, "_decided", noted)
    first = Columns.learn(open_table(frame), seed=0)
    assert seen == [20_000]
    assert first.outputs == ["a", "b=z 1"]
    assert first.fingerprint() == Columns.learn(open_table(frame), seed=0).fingerprint()
    # A table that is larger than the sample by less than a row for each run.
    assert Columns.learn(open_table(frame[:20_001])).outputs == ["a", "b=x 1"]


def test_numbers_alone_need_no_skrub_and_keep_float32(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "skrub", None)
    narrow = open_table(pa.table({"a": np.ones(3, np.float32), "b": np.zeros(3, np.float32)}))
    assert Columns.learn(narrow).dtype == np.float32
    wide = open_table(pa.table({"a": np.ones(3, np.float32), "b": [1, 2, 3]}))
    assert Columns.learn(wide).dtype == np.float64
    with pytest.raises(ImportError, match=r"'b'.*kitchensinks\[tables\]"):
        Columns.learn(open_table(pa.table({"a": [1, 2], "b": ["2023-01-02", "2024-05-06"]})))
    # Neither do words without digits.
    words = open_table(pa.table({"a": [1, 2, 3], "b": ["x", "y", "z9"]}))
    assert Columns.learn(words).outputs == ["a", "b=x", "b=y", "b=z9"]


def test_tables_that_have_nothing_to_learn_from():
    table = open_table(pa.table({"a": [1, 2], "b": [[1], [2]], "c": pa.nulls(2)}))
    with pytest.raises(ValueError, match="column 'b' holds list"):
        Columns.learn(table)
    with pytest.raises(ValueError, match="no columns other than"):
        Columns.learn(table, exclude=["a", "b", "c"])
    with pytest.raises(ValueError, match="no column with values"):
        Columns.learn(table, exclude=["a", "b"])
    with pytest.raises(ValueError, match="no column 'd'"):
        Columns.learn(table, exclude=["d"])


def test_kinds_of_numbers():
    """Decimals, times and missing whole numbers are numbers like others."""
    from decimal import Decimal

    table = open_table(
        pa.table(
            {
                "price": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
                "coded": pa.array([7, 9]).dictionary_encode(),
                "whole": pa.array([3, None]),
                "half": pa.array([1.0, 2.0], pa.float32()),
                "clock": pa.array([3600, 60], pa.time32("s")),
                "spell": pa.array([1500, None], pa.duration("ms")),
            }
        )
    )
    columns = Columns.learn(table)
    batch = next(table.batches(columns.inputs))
    out = dict(zip(columns.outputs, columns.apply(batch).T.tolist(), strict=True))
    assert out["price"] == [1.5, 1.5]
    assert out["price is missing"] == [0.0, 1.0]
    # What was stored as one of a few is a category.
    assert out["coded=9"] == [0.0, 1.0]
    assert out["whole"] == [3.0, 3.0]
    assert out["half"] == [1.0, 2.0]
    assert out["clock"] == [3600.0, 60.0]
    assert out["spell"] == [1.5, 1.5]


@pytest.mark.parametrize("means", [False, True])
def test_numbers_are_no_names_of_categories_that_are_words(means, tmp_path):
    """Words are refused as numbers; numbers written as text come as numbers from some files."""
    frame = pd.DataFrame({"city": ["Oslo", "Rome", "Lima"] * 20, "code": ["7", "A", "12"] * 20})
    table = open_table(frame)
    columns = Columns.learn(table)
    if means:
        columns, _ = learn_means(table, columns, np.arange(60.0)[:, None] % 3, None, ("mean",))
    kinds = (r"numbers \(int64\)", r"numbers \(double\)", "booleans")
    for values, kind in zip(([3, 4], [0.5, 1.5], [True, False]), kinds, strict=True):
        with pytest.raises(
            ValueError, match=f"column 'city' holds {kind}, and was text such as 'Rome'"
        ):
            columns.check(open_table(pd.DataFrame({"city": values, "code": ["A", "A"]})))
    pd.DataFrame({"city": ["Oslo", None], "code": [12, 7]}).to_csv(tmp_path / "a.csv", index=False)
    numbers = open_table(tmp_path / "a.csv")
    columns.check(numbers)
    few = open_table(pd.DataFrame({"city": ["Oslo", None], "code": ["12", "7"]}))
    found = [columns.apply(next(one.batches(columns.inputs))) for one in (numbers, few)]
    np.testing.assert_array_equal(*found)
    with pytest.raises(ValueError, match="column 'code' holds booleans, and was text such as 'A'"):
        columns.check(open_table(pd.DataFrame({"city": ["Oslo"], "code": [True]})))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1, "x", None], "int, str"),
        ([2.5, "x"], "float, str"),
        ([1, b"x"], "bytes, int"),
        ([{"a": 1}, "x"], "dict, str"),
        ([1j, 2.5], "complex, float"),
    ],
)
def test_a_column_of_several_kinds_is_named_with_what_to_do(values, said):
    frame = pd.DataFrame({"good": [1.0] * len(values), "odd": pd.Series(values, dtype=object)})
    with pytest.raises(ValueError, match=f"Column 'odd' .* values of type {said}: need") as told:
        open_table(frame)
    assert "X['odd'].astype(str)" in str(told.value)
    assert "Conversion failed" not in str(told.value)
