"""Tables with text, categories and missing values."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.preprocessing import TargetEncoder

import kitchensinks as ks
from kitchensinks.estimators.inputs import is_mixed
from kitchensinks.law import encode
from kitchensinks.law.encodings import _orders, _placed
from kitchensinks.tables import lines, means
from kitchensinks.tables import table as tables
from kitchensinks.tables.encoders import Means
from kitchensinks.tables.means import FOLDS, fold_of, learn_means

# No choice of a law matters to these tests, but to those that are marked.
pytestmark = pytest.mark.usefixtures("little_work")

N_ROWS = 600


def table(seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=N_ROWS),
            "kind": rng.choice(["ash", "birch", "cedar", "fir"], N_ROWS),
            "age": rng.integers(1, 90, N_ROWS).astype(float),
        }
    )
    effect = frame["kind"].map({"ash": 0.0, "birch": 2.0, "cedar": -2.0, "fir": 1.0})
    target = effect.to_numpy() + np.sin(frame["size"].to_numpy())
    frame.loc[::7, "kind"] = None
    frame.loc[::11, "age"] = np.nan
    return frame, target


FRAME, TARGET = table()
SMALL = {"basis": ks.Fourier(), "n_components": 50, "random_state": 0}
QUICK = {"basis": ks.Learned(steps=5, batch=64, seconds=0.05, members=2), "random_state": 0}


def frame_rows(frame):
    """The rows of a frame, or of a file, by a recipe that is learned from them."""
    table = ks.open_table(frame)
    return ks.Rows(table, ks.Columns.learn(table))


def test_plain_tables_are_left_alone():
    assert not is_mixed(FRAME[["size"]])
    assert not is_mixed(FRAME.to_numpy())
    assert not is_mixed(FRAME[["age"]])
    assert is_mixed(FRAME[["kind"]])
    assert not is_mixed(pl.DataFrame({"a": [1, None], "b": [True, None]}))
    gaps = pd.DataFrame({"a": [1, None], "b": [True, None], "c": [1, None]}, dtype=object)
    assert not is_mixed(gaps)
    assert not is_mixed(gaps.convert_dtypes(dtype_backend="numpy_nullable"))
    assert is_mixed(gaps.assign(b=[None, None]))


def mean_targets(frame, targets, weights=None):
    """Out-of-fold numbers of a frame's own rows, and what makes the numbers of others."""
    rows = frame_rows(frame)
    full, folded = learn_means(rows.table, rows.columns, targets[:, None], weights, ("mean",))
    return ks.Rows(rows.table, full, folded)[:], lambda other: ks.Rows(ks.open_table(other), full)[
        :
    ]


def sklearn_means(words, targets, kind, fold=None):
    """scikit-learn's own out-of-fold means, and those of all rows, for the same folds."""
    fold = fold_of(np.arange(len(words))) if fold is None else fold
    encoder = TargetEncoder(target_type=kind)
    everywhere = encoder.fit(words, targets).transform(words)
    inside = np.empty_like(everywhere)
    for own in (fold == k for k in range(FOLDS)):
        # Folds of one's own can be given as `cv` from scikit-learn 1.9 on.
        inside[own] = encoder.fit(words[~own], targets[~own]).transform(words[own])
    return inside, everywhere


WORDS = FRAME[["kind"]].fillna("missing")


def test_means_are_those_of_scikit_learn():
    inside, others = mean_targets(FRAME[["kind"]], TARGET)
    known = sklearn_means(WORDS, TARGET, "continuous")
    np.testing.assert_allclose(inside, known[0], rtol=1e-10)
    np.testing.assert_allclose(others(FRAME[["kind"]]), known[1], rtol=1e-10)
    unseen = others(FRAME[["kind"]].head(1).assign(kind="oak"))
    np.testing.assert_allclose(unseen, TARGET.mean(), rtol=1e-10)


@pytest.mark.parametrize("cuts", [[0.0], [-1.0, 1.0]])
def test_classes_have_a_mean_each(cuts):
    few = 480
    labels = np.array(["a", "b", "c"])[np.digitize(TARGET[:few], cuts)]
    frame = FRAME[["kind"]].head(few).assign(many=[f"no {k % 45}" for k in range(few)])
    rows = encode(frame_rows(frame), labels, None, "classification")
    kind = "binary" if len(cuts) == 1 else "multiclass"
    assert rows.folded.recipes
    known = sklearn_means(frame.fillna("missing"), labels, kind)
    np.testing.assert_allclose(rows[:], known[0], atol=1e-12)
    np.testing.assert_allclose(ks.Rows(rows.table, rows.columns)[:], known[1], atol=1e-12)


def test_a_weight_of_two_is_two_rows():
    """Copies in the fold of their row; and rows without weight are none."""
    random = np.random.default_rng(1)
    weights = random.integers(0, 4, N_ROWS)
    own, others = mean_targets(FRAME[["kind"]], TARGET, weights.astype(float))
    copies = np.repeat(np.arange(N_ROWS), weights)
    fold = fold_of(np.cumsum(weights > 0) - 1)[copies]
    inside, full = sklearn_means(WORDS.iloc[copies], TARGET[copies], "continuous", fold)
    np.testing.assert_allclose(own[copies], inside, rtol=1e-10)
    np.testing.assert_allclose(others(FRAME[["kind"]])[copies], full, rtol=1e-10)


def test_rows_without_weight_change_nothing():
    """Neither their targets nor their categories, whatever they are, nor their being there."""
    gone = np.arange(N_ROWS) % 3 == 1
    odd, target = FRAME.copy(), TARGET.copy()
    odd.loc[gone, "kind"] = "oak"
    target[gone] = 1e6
    kept = encode(frame_rows(FRAME[~gone]), TARGET[~gone], None, "regression")
    whole = encode(frame_rows(odd), target, (~gone).astype(float), "regression")
    np.testing.assert_allclose(whole[:][~gone][:, 1], kept[:][:, 1], rtol=1e-12)
    mine, theirs = kept.columns.encoders[1], whole.columns.encoders[1]
    assert mine.levels == theirs.levels == ("", "ash", "birch", "cedar", "fir")
    np.testing.assert_allclose(mine.table, theirs.table, rtol=1e-12)


def test_indicators_and_missing_values():
    rows = frame_rows(FRAME)
    numbers = pd.DataFrame(rows[:], columns=rows.columns.outputs)
    kinds = [f"kind={name}" for name in ("ash", "birch", "cedar", "fir")]
    assert list(numbers) == ["size", *kinds, "kind is missing", "age", "age is missing"]
    missing = FRAME["age"].isna().to_numpy()
    np.testing.assert_array_equal(numbers["age is missing"], missing)
    assert (numbers["age"][missing] == np.nanmedian(FRAME["age"])).all()
    np.testing.assert_array_equal(numbers.filter(like="kind").sum(axis=1), 1.0)


def test_no_row_sees_its_own_target_in_its_category():
    """Categories of ten rows, and targets of pure noise: out of fold they say nothing."""
    frame = pd.DataFrame({"name": [f"group {i % 60}" for i in range(N_ROWS)]})
    noise = np.random.default_rng(0).normal(size=N_ROWS)
    inside, others = mean_targets(frame, noise)
    assert abs(np.corrcoef(inside[:, 0], noise)[0, 1]) < 0.15
    assert np.corrcoef(others(frame)[:, 0], noise)[0, 1] > 0.15


def test_a_category_of_many_rows_has_one_mean_and_a_rare_one_that_of_other_folds():
    """Means that differ by fold would blur a category, and say nothing where its rows are many."""
    words = ["often"] * means.MANY_ROWS + ["rare"] * (means.MANY_ROWS - 1)
    noise = np.random.default_rng(0).normal(size=len(words))
    frame = pd.DataFrame({"name": words, "number": np.arange(len(words)) + 0.5})
    inside, others = mean_targets(frame, noise)
    often, rare = slice(0, means.MANY_ROWS), slice(means.MANY_ROWS, len(words))
    np.testing.assert_array_equal(inside[often], others(frame)[often])
    assert len(np.unique(inside[rare, 0])) == FOLDS
    # Weights and copies do not make rows many: a row of most weight would see its own target.
    heavy, _ = mean_targets(
        frame, noise, np.exp(3.0 * np.random.default_rng(1).normal(size=len(words)))
    )
    assert len(np.unique(heavy[:, 0])) == 2 * FOLDS
    twice, _ = mean_targets(pd.concat([frame, frame]), np.tile(noise, 2))
    assert len(np.unique(twice[rare, 0])) == FOLDS


def test_text_that_does_not_repeat_is_no_category():
    frame = pd.DataFrame({"name": [f"row {i}" for i in range(N_ROWS)], "size": FRAME["size"]})
    rows = encode(frame_rows(frame), TARGET, None, "regression")
    assert "name topic 1" in rows.columns.outputs


def test_memory_is_bounded_where_categories_are_not(monkeypatch):
    monkeypatch.setattr(means, "_MOST_SUMS", 64 * 3)
    # Not each as often as the others, which would be copies of a smaller table.
    own = np.append(np.arange(100), np.random.default_rng(0).integers(0, 100, 1900))
    frame = pd.DataFrame({"name": [f"no {number}" for number in own]})
    _, others = mean_targets(frame, own.astype(float))
    known = others(frame.head(100))[:, 0]
    np.testing.assert_allclose(known[:64], np.arange(64.0))
    np.testing.assert_allclose(known[64:], own.mean())


@pytest.mark.parametrize(
    ("kind", "task", "options"),
    [
        ("csv", "classification", SMALL),
        ("parquet", "regression", SMALL),
        ("csv", "regression", QUICK),
        ("parquet", "classification", QUICK),
    ],
    ids=["csv classes", "parquet numbers", "csv numbers learned", "parquet classes learned"],
)
def test_a_file_gives_the_model_of_the_frame(kind, task, options, tmp_path, monkeypatch):
    """The same recipe and the same answers, whatever the rows come from and in which blocks."""
    monkeypatch.setattr(lines, "CHUNK_BYTES", 2**12)
    monkeypatch.setattr(tables, "BATCH_ROWS", 170)
    target = TARGET.round(6) if task == "regression" else np.where(TARGET > 0, "yes", "no")
    path = tmp_path / f"rows.{kind}"
    whole = FRAME.round(6).assign(y=target)
    whole.to_csv(path, index=False) if kind == "csv" else whole.to_parquet(path)
    make = ks.KitchenSinkRegressor if task == "regression" else ks.KitchenSinkClassifier
    inside = make(**options).fit(FRAME.round(6), target)
    outside = make(**options).fit(ks.open_table(path), "y")
    for mine, theirs in zip(inside.columns_.encoders, outside.columns_.encoders, strict=True):
        assert type(mine) is type(theirs)
        assert mine.outputs() == theirs.outputs()
        if hasattr(mine, "levels"):
            assert mine.levels == theirs.levels
        if hasattr(mine, "table"):
            np.testing.assert_allclose(mine.table, theirs.table, rtol=1e-12)
    other = table(1)[0]
    method = "predict" if task == "regression" else "decision_function"
    answers = [getattr(model, method)(other) for model in (inside, outside)]
    np.testing.assert_allclose(*answers, atol=1e-6)


@pytest.mark.parametrize(("kind", "plain"), [("pandas", False), ("polars", True)])
def test_tables_go_through_fit_predict_and_files(kind, plain, tmp_path):
    options = SMALL if plain else QUICK
    frame = FRAME if kind == "pandas" else pl.from_pandas(FRAME)
    model = ks.KitchenSinkRegressor(**options).fit(frame, TARGET)
    assert model.n_features_in_ == 3
    other, truth = table(1)
    other = other if kind == "pandas" else pl.from_pandas(other)
    known = ~pd.isna(table(1)[0]["kind"]).to_numpy()
    error = (model.predict(other) - truth)[known]
    assert np.mean(error**2) < 0.25 * np.var(truth)
    ks.save(model, tmp_path / "model")
    np.testing.assert_array_equal(ks.load(tmp_path / "model").predict(other), model.predict(other))


@pytest.mark.usual_work
def test_the_encoding_is_chosen_by_its_error():
    """Many categories with one law each: by their means; a class that is the xor of two: not."""
    rng = np.random.default_rng(0)
    many = rng.integers(0, 39, N_ROWS)
    frame = pd.DataFrame({"many": [f"no {k}" for k in many], "kind": FRAME["kind"]})
    effect = rng.normal(size=39)[many] + 0.5 * rng.normal(size=N_ROWS)
    assert encode(frame_rows(frame), effect, None, "regression").folded.recipes
    first, second = rng.choice(["on", "off"], (2, N_ROWS))
    frame = pd.DataFrame({"first": first, "second": second})
    labels = np.where(first == second, "same", "other")
    rows = encode(frame_rows(frame), labels, None, "classification")
    assert rows.columns.outputs == ["first=on", "second=on"]
    assert not rows.folded.recipes
    model = ks.KitchenSinkClassifier(**SMALL).fit(FRAME, TARGET > 0)
    assert model.score(FRAME, TARGET > 0) > 0.7


def test_categories_in_an_order_may_become_their_places(tmp_path):
    sizes = ["tiny", "small", "large", "huge"]
    place = np.random.default_rng(0).integers(0, 4, N_ROWS)
    words = pd.Series(pd.Categorical.from_codes(place, sizes, ordered=True)).astype(object)
    words[:5] = None
    frame = pd.DataFrame({"size": pd.Categorical(words, sizes, ordered=True)})
    frame.to_parquet(tmp_path / "sizes.parquet")
    others = [tmp_path / "sizes.parquet"]
    # Polars 1.0.0 keeps to itself that an Enum has an order.
    if pl.__version__ != "1.0.0":
        others.append(pl.DataFrame({"size": pl.Series(words.to_list(), dtype=pl.Enum(sizes))}))
    for own in (frame, *others):
        rows = frame_rows(own)
        columns = _placed(rows.columns, _orders(rows.table, ["size"]))
        numbers = ks.Rows(rows.table, columns)[:]
        np.testing.assert_array_equal(numbers[5:, 0], place[5:])
        np.testing.assert_array_equal(numbers[:5, 0], 1.5)
    # Without an order they have no place, and many in an order are best known by it.
    assert _orders(ks.open_table(frame["size"].cat.as_unordered().to_frame()), ["size"]) == {}
    many = pd.Categorical.from_codes(np.arange(N_ROWS) % 300, [f"{k}" for k in range(300)], True)
    target = np.sin((np.arange(N_ROWS) % 300) / 40.0)
    rows = encode(frame_rows(pd.DataFrame({"day": many})), target, None, "regression")
    assert rows.columns.outputs == ["day place"]


def test_an_order_has_the_categories_of_every_batch():
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    parts = [
        pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), words, ordered=True)
        for words in (["low", "middle"], ["low", "high"])
    ]
    table = ks.open_table(pa.table({"size": pa.chunked_array(parts, kind)}))
    assert _orders(table, ["size"]) == {"size": ["low", "middle", "high"]}


def test_declared_categories_are_categories_though_they_are_numbers():
    frame = pd.DataFrame({"code": pd.Categorical(np.arange(N_ROWS) % 3)})
    assert frame_rows(frame).columns.outputs == ["code=0", "code=1", "code=2"]
    model = ks.KitchenSinkRegressor(**SMALL).fit(frame, TARGET)
    assert model.columns_ is not None


def test_the_words_of_an_order_are_those_of_the_rows():
    """Numbers and words that mean nothing are written as the rows are read."""
    for levels in ([0.5, 1.0, 2.0], ["none", "low", "high"]):
        place = np.arange(N_ROWS) % 3
        frame = pd.DataFrame({"size": pd.Categorical.from_codes(place, levels, ordered=True)})
        rows = frame_rows(frame)
        columns = _placed(rows.columns, _orders(rows.table, ["size"]))
        np.testing.assert_array_equal(ks.Rows(rows.table, columns)[:][:, 0], place)


def test_the_unit_of_weights_says_nothing():
    weights = np.random.default_rng(0).integers(1, 4, N_ROWS)
    own, _ = mean_targets(FRAME[["kind"]], TARGET, weights.astype(float))
    for unit in (1e-9, 1e9):
        scaled, _ = mean_targets(FRAME[["kind"]], TARGET, unit * weights)
        np.testing.assert_allclose(scaled, own, rtol=1e-9)


def test_a_batch_of_rows_without_weight_is_no_harm(monkeypatch):
    monkeypatch.setattr(tables, "BATCH_ROWS", 100)
    weights = (np.arange(N_ROWS) >= 250).astype(float)
    model = ks.KitchenSinkRegressor(**SMALL).fit(FRAME, TARGET, weights)
    assert np.isfinite(model.predict(FRAME)).all()


@pytest.mark.parametrize("basis", [ks.Fourier(), ks.Learned(effort="quick")])
def test_rows_of_weight_zero_are_left_out(basis):
    """What only they hold is no category, fills no gap, and makes no column of missing values."""
    weights = (np.arange(N_ROWS) % 3 > 0).astype(float)
    frame = FRAME.assign(kind=FRAME.kind.where(weights > 0, "rare"), more=np.arange(N_ROWS) % 7.0)
    frame.loc[::6, "more"] = np.nan
    assert (weights[::6] == 0).all()
    model = ks.KitchenSinkRegressor(basis, random_state=0).fit(frame, TARGET, weights)
    kept = weights > 0
    other = ks.KitchenSinkRegressor(basis, random_state=0).fit(frame[kept], TARGET[kept])
    np.testing.assert_allclose(model.predict(frame), other.predict(frame), atol=1e-6)


def test_importances_are_those_of_the_columns_of_the_frame(tmp_path):
    model = ks.KitchenSinkRegressor(random_state=0).fit(FRAME, TARGET)
    assert len(model.feature_importances_) == FRAME.shape[1] == model.n_features_in_
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    shares = dict(zip(model.feature_names_in_, model.feature_importances_, strict=True))
    assert shares["kind"] + shares["size"] > 0.7 > 0.3 > shares["age"]
    ks.save(model, tmp_path / "model.sinks")
    loaded = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)


def test_rows_that_were_frozen_may_come_again():
    """Means of their targets would give them away: streams take indicators."""
    frame = pd.DataFrame({"name": [f"group {i % 60}" for i in range(N_ROWS)]})
    noise = np.random.default_rng(0).normal(size=N_ROWS)
    model = ks.KitchenSinkRegressor(alpha=1e-2, **SMALL).freeze(frame, noise)
    assert not any(isinstance(encoder, Means) for encoder in model.columns_.encoders)


def test_constant_targets_of_the_rows_that_count_are_fitted_plainly():
    rows = np.random.default_rng(0).normal(size=(600, 3))
    target = np.zeros(600)
    target[0] = 1.0
    model = ks.KitchenSinkRegressor(random_state=0).fit(rows, target, np.arange(600) > 0)
    np.testing.assert_allclose(model.predict(rows[1:]), 0.0, atol=1e-12)


def test_categories_of_dates_are_an_error_that_says_so():
    days = pd.Categorical(pd.date_range("2021-01-01", periods=3))
    frame = pd.DataFrame({"day": days.take(np.arange(N_ROWS) % 3)})
    with pytest.raises(ValueError, match="categories that are timestamp"):
        ks.KitchenSinkRegressor(**SMALL).fit(frame, TARGET)


def test_tables_that_do_not_fit_together():
    model = ks.KitchenSinkRegressor(**SMALL).fit(FRAME, TARGET)
    with pytest.raises(ValueError, match="no column 'age'"):
        model.predict(FRAME.drop(columns="age"))
    with pytest.raises(ValueError, match="fit had a data frame or a table"):
        model.predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="column 'size' holds text, and was numbers"):
        model.predict(FRAME.assign(size="large"))
    unnamed = FRAME[["size", "kind"]].set_axis([0, 1], axis=1)
    with pytest.raises(ValueError, match="fit had a data frame or a table"):
        model.fit(unnamed, TARGET).predict(np.zeros((2, 2)))
    again = model.fit(FRAME[["size"]], TARGET)
    assert again.columns_ is None
    assert again.n_features_in_ == 1


def test_intervals_are_categories_in_their_order():
    """Columns of `pandas.cut`."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200)})
    frame["bin"] = pd.cut(frame["x"], 5)
    model = ks.KitchenSinkRegressor(random_state=0).fit(frame, frame["x"] ** 2)
    assert model.score(frame, frame["x"] ** 2) > 0.9
    model.fit(frame.assign(bin=pd.arrays.IntervalArray(frame["bin"])), frame["x"] ** 2)
    assert model.score(frame, frame["x"] ** 2) > 0.9


def test_periods_are_the_dates_on_which_they_begin():
    frame = FRAME.assign(month=pd.period_range("2020-01", periods=len(FRAME), freq="M"))
    frame.loc[frame.index[::7], "month"] = pd.NaT
    model = ks.KitchenSinkRegressor(ks.Fourier(), 30, random_state=0).fit(frame, TARGET)
    dates = frame.assign(month=frame["month"].dt.to_timestamp())
    for rows in (slice(None), slice(1)):
        np.testing.assert_array_equal(model.predict(frame[rows]), model.predict(dates[rows]))
    np.testing.assert_array_equal(
        clone(model).fit(dates, TARGET).predict(dates), model.predict(frame)
    )


@pytest.mark.parametrize("missing", [False, True])
def test_two_columns_of_one_name(missing):
    rows = np.random.default_rng(0).normal(size=(500, 2))
    rows[0, 0] = np.nan if missing else 0.0
    with pytest.raises(ValueError, match="two columns named 'a': rename"):
        ks.KitchenSinkRegressor().fit(pd.DataFrame(rows, columns=["a", "a"]), rows[:, 1])


def test_a_column_of_one_word_adds_nothing():
    """Out-of-fold means of the only category differed by fold, and gave the targets away."""
    frame = pd.DataFrame({"word": ["same"] * len(TARGET)})
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0).fit(frame, TARGET)
    np.testing.assert_allclose(model.predict(frame.head(2)), np.mean(TARGET), rtol=1e-6)
