"""Names of rows, decimal commas and stray words are noticed and said."""

import time
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kitchensinks as ks
from kitchensinks.cli.targets import read_target
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.noticed import is_identifier, nearly_numbers, tell_empty
from kitchensinks.tables.table import open_table

# No choice of a law matters here.
pytestmark = pytest.mark.usefixtures("little_work")

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
    with pytest.warns(UserWarning, match="Numbers with commas .* taken as text, in 'price'"):
        Columns.learn(open_table(frame))
    with pytest.raises(ValueError, match=r"'price' holds.*commas .*, such as '0,0'"):
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


SIZES = RNG.uniform(30, 150, N).round(1).astype(str).tolist()


def with_words(*words):
    """Sizes as text, with these words in place of the first ones."""
    return [*words, *SIZES[len(words) :]]


def told(frame, **options):
    """The warnings of a recipe, and the kinds of its columns by name."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        columns = Columns.learn(open_table(frame), **options)
    kinds = {one.name: type(one).__name__ for one in columns.encoders}
    return [str(one.message) for one in found], kinds


@pytest.mark.parametrize("word", ["unknown", "-", "abc", "1,234.5"])
def test_a_stray_word_among_the_numbers_of_a_column_is_told(word):
    frame = FRAME.assign(area=with_words(word))
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0)
    with pytest.warns(UserWarning, match="nearly all values are numbers") as found:
        model.fit(frame, Y)
    (said,) = [str(one.message) for one in found]
    assert f"'area' (599 of 600 values looked at, 99.8 %, are numbers, but not {word!r})" in said
    assert "pandas.to_numeric(X['area'], errors='coerce')" in said
    assert model.columns_.outputs[2].startswith("area")
    # What the warning advises silences it.
    frame["area"] = pd.to_numeric(frame["area"], errors="coerce")
    assert told(frame) == ([], {"a": "Number", "b": "Number", "area": "Number"})


def test_stray_words_of_several_columns_are_told_at_once():
    strays = {f"c{k}": with_words("-", "n.a.", "x" * 100, "none yet") for k in range(7)}
    (said,), kinds = told(FRAME.assign(**strays, few=["1", "2", "3", "4", "other"] + ["5"] * 595))
    assert "'c0' (596 of 600 values looked at, 99.3 %, are numbers" in said
    assert f"but not '-', 'n.a.', '{'x' * 30}…', …); 'c1' (" in said
    assert "'c4' (596 of" in said
    assert "…), 'c5', 'c6', 'few'. Replace" in said
    assert (kinds["c0"], kinds["few"]) == ("Text", "Category")


def test_a_stray_word_among_different_numbers_is_told_with_their_being_left_out():
    words = ["unknown", *map(str, X[1:, 0])]
    said, kinds = told(FRAME.assign(size=words))
    assert "size" not in kinds
    assert ["'size' (599 of 600" in one for one in said] == [True, False]


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([f"A{k % 300}" for k in range(N)], {}),
        (with_words("unknown"), {"categories": ["area"]}),
        (pd.Categorical(with_words("unknown")), {}),
        (with_words("?", "NULL", "N/A", "", None), {}),
        (with_words(*["unknown"] * 31), {}),
        ([None] * (N - 20) + ["7"] * 19 + ["unknown"], {}),
        (["2020-05-31", "2021-06-30"] * (N // 2), {}),
    ],
    ids=["names", "declared", "category", "missing", "many", "short", "dates"],
)
def test_other_columns_of_words_are_not_told(values, options):
    assert told(FRAME.assign(area=values), **options)[0] == []
    more = FRAME.assign(area=values, other=with_words("unknown"))
    (said,) = told(more, **options)[0]
    assert "few others: 'other' (599 of" in said
    assert "area" not in said


def test_the_share_and_the_number_of_values_that_are_told_of():
    for numbers, others, expected in ((20, 1, True), (19, 1, False), (95, 5, True), (94, 5, False)):
        found = nearly_numbers(pa.array(["1.5"] * numbers + ["-"] * others))
        assert bool(found) == expected, (numbers, others)
    assert nearly_numbers(pa.nulls(3, pa.string())) == ""
    assert "19,999 of 20,000 values looked at, 99.9 %" in nearly_numbers(
        pa.array(["7"] * 19_999 + ["-"])
    )


@pytest.mark.parametrize("as_frame", [False, True])
@pytest.mark.parametrize("words", [False, True])
def test_columns_without_any_value_are_told(as_frame, words):
    """Once, whether the recipe is that of a frame with words, of one of numbers or of an array."""
    frame = pd.DataFrame({"a": np.arange(60.0) ** 2, "b": np.nan, "c": np.nan})
    if words:
        frame["d"] = pd.Series(["u", "v"] * 30)
    rows = frame if as_frame or words else frame.to_numpy()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ks.KitchenSinkRegressor(ks.Fourier(), 10, random_state=0).fit(rows, np.arange(60.0))
    named = "'b', 'c'" if as_frame or words else "1, 2"
    assert [str(one.message).partition(". ")[0] for one in told] == [
        f"Columns without any value are left out: {named}"
    ]


@pytest.mark.parametrize(("zones", "count"), [(["+02:00", ""], 1), (["+02:00"], 0), ([""], 0)])
def test_dates_of_which_some_have_a_zone_are_told(zones, count):
    moments = pd.date_range("2024", periods=60, freq="h").strftime("%Y-%m-%dT%H:%M:%S")
    words = [moment + zones[place % len(zones)] for place, moment in enumerate(moments)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        recipe = ks.Columns.learn(ks.open_table(pd.DataFrame({"when": words, "a": 0.5})))
    assert ["30 of 60 have a time zone" in str(one.message) for one in told] == [True] * count
    assert type(recipe.encoders[0]).__name__ == ("Text" if count else "Date")


@pytest.mark.parametrize("words", ["{:.1f}%", "${:,.2f}", "{:,.0f}"])
def test_numbers_with_signs_and_separators_are_told(words):
    frame = FRAME.assign(price=[words.format(1234.5 * k) for k in range(N)])
    with pytest.warns(UserWarning, match="taken as text, in 'price': write them as 1234.5"):
        Columns.learn(open_table(frame))
    with pytest.raises(ValueError, match="'price' holds numbers with commas or signs"):
        read_target(open_table(frame), "price", "auto")


def test_a_target_of_words_that_hardly_repeat_has_no_classes():
    frame = FRAME.assign(name=[f"name {k // 2 * 2 if k < 200 else k}" for k in range(N)])[:100]
    assert read_target(open_table(frame), "name", "auto")[2] == "classification"
    frame = FRAME.assign(name=[f"name {k}" for k in range(N)])[:100]
    with pytest.raises(ValueError, match="100 different values in 100 rows, too many"):
        read_target(open_table(frame), "name", "auto")


def test_empty_columns_of_very_wide_tables_are_soon_found():
    """In time proportional to the columns: 30,000 took seconds."""
    names, start = list(range(30_000)), time.process_time()
    with pytest.warns(UserWarning, match="left out: 29999"):
        tell_empty(names, names[:-1])
    assert time.process_time() - start < 1.0
