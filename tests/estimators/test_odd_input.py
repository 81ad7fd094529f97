"""Rows, targets and weights of odd kinds: the right answer, or an error in our own words."""

import datetime
import functools
import warnings

import numpy as np
import pandas as pd
import pyarrow
import pytest

import kitchensinks as ks

RNG = np.random.default_rng(0)
N = 120
FRAME = pd.DataFrame(
    {"a": RNG.normal(size=N), "b": RNG.normal(size=N), "c": RNG.choice(list("xyz"), N)}
)
Y = (2.0 * FRAME.a + (FRAME.c == "x") + 0.1 * RNG.normal(size=N)).to_numpy()
UP = Y > 0.0
ARRAY = FRAME[["a", "b"]].to_numpy()


def regressor():
    return ks.KitchenSinkRegressor(ks.Learned(effort="quick"), random_state=0, n_jobs=1)


def classifier():
    return ks.KitchenSinkClassifier(ks.Learned(effort="quick"), random_state=0, n_jobs=1)


@pytest.fixture(autouse=True)
def no_warnings_of_few_rows(little_work):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def expected(little_work):
    return fitted_once()


@functools.cache
def fitted_once():
    """Predictions of the model of two folds."""
    return regressor().fit(FRAME, Y).predict(FRAME)


def polars_frame(frame):
    return pytest.importorskip("polars").from_pandas(frame)


KINDS = {
    "arrow": pyarrow.Table.from_pandas,
    "record batch": pyarrow.RecordBatch.from_pandas,
    "polars": polars_frame,
    "arrow columns": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "nullable columns": lambda frame: frame.convert_dtypes(),
    "one index": lambda frame: frame.set_axis([0] * len(frame)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_any_kind_are_one_table(kind, expected):
    rows = KINDS[kind](FRAME)
    model = regressor().fit(rows, Y)
    np.testing.assert_allclose(model.predict(rows), expected, atol=1e-9)
    turned = KINDS[kind](FRAME[["c", "b", "a"]].assign(more=1.0))
    np.testing.assert_allclose(model.predict(turned), expected, atol=1e-9)


def test_numbers_of_an_arrow_table_have_names():
    table = pyarrow.Table.from_pandas(FRAME[["a", "b"]])
    model = regressor().fit(table, pyarrow.array(Y))
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.predict(table), model.predict(FRAME[["a", "b"]]))
    batches = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0)
    batches.partial_fit(table, Y).partial_fit(table, Y)
    assert batches.score(table, Y) > 0.5


def test_masked_entries_are_missing():
    masked = np.ma.masked_greater(ARRAY, 1.0)
    filled = masked.filled(np.nan)
    found = regressor().fit(masked, Y).predict(masked)
    np.testing.assert_array_equal(found, regressor().fit(filled, Y).predict(filled))


REFUSED = {
    "masked targets": (ARRAY, np.ma.masked_greater(Y, 1.0), None, "masked entries"),
    "dates as targets": (ARRAY, pd.date_range("2020", periods=N), None, "y holds dates"),
    "durations as targets": (ARRAY, np.arange(N).astype("m8[s]"), None, "y holds dates"),
    "dates": (np.arange(N).astype("M8[D]")[:, None], Y, None, "would not keep its unit"),
    "records": (FRAME[["a", "b"]].to_records(index=False), Y, None, "array of records.*a, b"),
    "dicts": (FRAME.to_dict("records"), Y, None, r"X is list .*, pandas.DataFrame\(X\)"),
    "large weights": (ARRAY, Y, np.full(N, 1e308), "between 1e-300 and 1e300"),
    "small weights": (ARRAY, Y, np.full(N, 1e-320), "between 1e-300 and 1e300"),
    "huge numbers": (FRAME.assign(d=[10**30] * N), Y, None, "more than 64 bits: make it decimal"),
    "half a letter": (
        FRAME.assign(c=pd.Series(["\ud800", *FRAME.c[1:]], dtype=object)),
        Y,
        None,
        "no Unicode",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_misread_is_refused(name):
    rows, targets, weights, words = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=words):
        regressor().fit(rows, targets, sample_weight=weights)


def test_one_row_of_an_odd_kind():
    frame = FRAME.assign(d=np.arange(N) % 7 * 1.5)
    model = regressor().fit(frame, Y)
    with pytest.raises(ValueError, match="was numbers"):
        model.predict(frame[:1].assign(d="much"))
    # One row needs no Arrow table.
    assert np.isfinite(model.predict(frame[:1].assign(d=pd.Series([10**30], dtype=object)))).all()


def test_a_lazy_frame_is_to_be_collected():
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"X\.collect\(\)"):
        regressor().fit(polars.from_pandas(FRAME).lazy(), Y)


@pytest.mark.parametrize("basis", [ks.Fourier(), None])
def test_a_weight_that_is_nothing_beside_the_others_counts_nothing(basis):
    """Its share of the total weight was zero in some places and not in others: an IndexError."""
    rows = np.random.default_rng(0).normal(size=(120, 3))
    weights = np.r_[1e-300, np.full(119, 1e300)]
    models = [ks.KitchenSinkRegressor(basis, 20 if basis else None, random_state=0) for _ in "ab"]
    models[0].fit(rows, rows[:, 0], sample_weight=weights)
    models[1].fit(rows, rows[:, 0], sample_weight=np.where(weights < 1.0, 0.0, weights))
    np.testing.assert_array_equal(models[0].predict(rows), models[1].predict(rows))


@pytest.mark.parametrize("factor", [1e-300, 1e-150, 1e150, 1e300])
def test_the_unit_of_the_weights_does_not_matter_up_to_the_limits(factor):
    plain = regressor().fit(ARRAY, Y, sample_weight=np.ones(N)).predict(ARRAY)
    found = regressor().fit(ARRAY, Y, sample_weight=np.full(N, factor)).predict(ARRAY)
    np.testing.assert_allclose(found, plain, atol=1e-5)


@pytest.mark.parametrize("size", [1e-250, 1e200, 1e300])
def test_targets_of_any_size_have_means_for_categories(size, expected):
    targets = size * (Y / np.abs(Y).max())
    found = regressor().fit(FRAME, targets).predict(FRAME)
    np.testing.assert_allclose(found / size * np.abs(Y).max(), expected, atol=1e-4)


LABELS = {
    "boolean": (pd.array(UP, dtype="boolean"), np.bool_),
    "Int64": (pd.Series(UP.astype(int), dtype="Int64"), np.int64),
    "arrow": (pd.Series(UP, dtype=pd.ArrowDtype(pyarrow.bool_())), np.bool_),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_that_might_be_missing_keep_their_type(name):
    labels, kind = LABELS[name]
    model = classifier().fit(FRAME, labels)
    assert model.classes_.dtype == model.predict(FRAME).dtype == kind


MISSING = {
    "None": np.where(UP, "up", None),
    "NaN": np.array(["up" if up else np.nan for up in UP], dtype=object),
    "NA": pd.Series(np.where(UP, "up", None), dtype="string"),
    "boolean": pd.array(np.where(UP, True, None), dtype="boolean"),
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_labels_are_told(name):
    with pytest.raises(ValueError, match="the target is missing in"):
        classifier().fit(FRAME, MISSING[name])


def test_times_are_moments():
    """Another time zone changes nothing; without a zone they are those of UTC."""
    times = pd.date_range("2020-01-01", periods=N, freq="h", tz="Europe/Berlin")
    model = regressor().fit(FRAME.assign(t=times), Y)
    found = model.predict(FRAME.assign(t=times))
    for zone in ("America/New_York", "UTC", None):
        other = FRAME.assign(t=times.tz_convert(zone))
        np.testing.assert_array_equal(model.predict(other), found)


ODD = {
    "days": [datetime.date(2020, 1, 1) + datetime.timedelta(k) for k in range(N)],
    "hours": [datetime.time(k % 24) for k in range(N)],
    "long ago": [datetime.datetime(1, 1, 1) + datetime.timedelta(k) for k in range(N)],
    "whole numbers of 64 bits": RNG.integers(0, 2**64 - 1, N, dtype=np.uint64),
    "long words": ["ab"[k % 2] * 50_000 for k in range(N)],
    "nothing": np.full(N, np.nan),
    "zero letters": ["\0" * (1 + k % 2) for k in range(N)],
    "intervals": pd.cut(FRAME.a, 5),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_columns_give_finite_predictions(name):
    frame = FRAME.assign(odd=ODD[name])
    model = regressor().fit(frame, Y)
    assert np.isfinite(model.predict(frame)).all()
    assert model.score(frame, Y) > 0.8


@pytest.mark.parametrize("fill", [0.0, np.nan, 1.5])
@pytest.mark.parametrize("mixed", [True, False])
def test_sparse_columns_of_a_frame_are_columns(mixed, fill):
    """Arrow refused them beside text, and scikit-learn where they are not filled with zeros."""
    plain = FRAME.assign(a=FRAME.a.where(FRAME.a > 0.0, 0.0))
    plain = plain if mixed else plain[["a", "b"]]
    sparse = plain.astype(
        {name: pd.SparseDtype(float, fill) for name in plain.columns if name != "c"}
    )
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0)
    one, other = model.fit(plain, Y).predict(plain), model.fit(sparse, Y).predict(sparse)
    np.testing.assert_allclose(other, one, rtol=1e-6)


def test_columns_of_records_are_refused_in_words():
    polars = pytest.importorskip("polars")
    records = [{"x": 1.0, "y": 2.0}] * N
    ranges = pyarrow.Table.from_pandas(pd.DataFrame({"r": pd.cut(FRAME.a, 3), "b": FRAME.b}))
    for rows in (polars.DataFrame({"r": records}), polars.DataFrame({"r": records, "b": Y})):
        with pytest.raises(ValueError, match="column 'r' holds struct"):
            regressor().fit(rows, Y)
    with pytest.raises(ValueError, match="leave it out, or make it numbers or text"):
        regressor().fit(ranges, Y)


NUMBERS = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 3)), columns=list("abc"))
FRAMES = {
    "float64": NUMBERS,
    "float32": NUMBERS.astype(np.float32),
    "both": NUMBERS.astype({"a": np.float32}),
    "whole": (10 * NUMBERS).astype(np.int16),
    "whole and not": NUMBERS.assign(b=np.arange(2000) % 7),
    "yes and no": NUMBERS.assign(b=np.arange(2000) % 2 == 0),
    "missing": NUMBERS.mask(NUMBERS > 2.0),
    "nullable": NUMBERS.convert_dtypes(),
    "sparse": NUMBERS.clip(lower=0.0).astype(pd.SparseDtype(float, 0.0)),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_few_rows_of_a_frame_are_checked_as_many(name):
    """Few rows of numbers go past scikit-learn's checks, which take longer than the prediction."""
    frame = FRAMES[name]
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0)
    model.fit(frame, np.asarray(NUMBERS.a))
    expected = model.predict(frame)
    # A block of one row may be rounded otherwise than one of many.
    np.testing.assert_allclose(model.predict(frame[:1]), expected[:1], atol=1e-5)
    np.testing.assert_allclose(model.predict(frame[:9]), expected[:9], atol=1e-5)


@pytest.mark.parametrize("count", [1, 2000])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame[["b", "a", "c"]], "feature names"),
        (lambda frame: frame.rename(columns={"c": "d"}), "feature names"),
        (lambda frame: frame[["a", "b"]], "feature names"),
        (lambda frame: frame.assign(c=np.inf), "infinity"),
        (lambda frame: frame.assign(c=1e200), "1e"),
        (lambda frame: frame.assign(c="word"), "word"),
    ],
)
def test_few_wrong_rows_of_a_frame_are_refused_as_many(count, change, words):
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0).fit(NUMBERS, NUMBERS.a)
    with pytest.raises(ValueError, match=words):
        model.predict(change(NUMBERS[:count]))
