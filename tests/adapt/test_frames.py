"""Tables with text, categories and missing values."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import kitchensinks as ks
from kitchensinks.adapt.frames import is_mixed, learn_frames, learn_table

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
SMALL = {"n_components": 50, "random_state": 0}


def test_plain_tables_are_left_alone():
    assert not is_mixed(FRAME[["size"]])
    assert not is_mixed(FRAME.to_numpy())
    assert is_mixed(FRAME[["age"]])
    assert is_mixed(FRAME[["kind"]])
    assert is_mixed(pl.DataFrame({"a": [1, None]}))


def test_indicators_and_missing_values():
    columns, rows = learn_frames(FRAME, TARGET, "regression", "hot", 0)
    np.testing.assert_array_equal(rows, columns.apply(FRAME))
    assert columns.names[0] == "size"
    assert columns.names[-2:] == ["age", "age is missing"]
    assert rows.shape[1] == 1 + 5 + 2
    missing = FRAME["age"].isna().to_numpy()
    np.testing.assert_array_equal(rows[:, -1], missing)
    assert (rows[missing, -2] == np.nanmedian(FRAME["age"])).all()
    np.testing.assert_array_equal(rows[:, 1:6].sum(axis=1), 1.0)
    unseen = FRAME.head(2).assign(kind="oak")
    np.testing.assert_array_equal(columns.apply(unseen)[:, 1:6], 0.0)


def test_no_row_sees_its_own_target_in_its_category():
    """Every row a category of its own: out of fold, the encoding says nothing about the target."""
    frame = pd.DataFrame({"name": [f"row {i}" for i in range(N_ROWS)]})
    _, rows = learn_frames(frame, TARGET, "regression", "target", 0)
    assert abs(np.corrcoef(rows[:, 0], TARGET)[0, 1]) < 0.15


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("plain", [True, False])
def test_tables_go_through_fit_predict_and_files(kind, plain, tmp_path):
    options = SMALL if plain else {"adapt": ks.Adapt(steps=5, batch=64, seconds=0.05)}
    frame = FRAME if kind == "pandas" else pl.from_pandas(FRAME)
    model = ks.KitchenSinkRegressor(**{"random_state": 0, **options}).fit(frame, TARGET)
    assert model.n_features_in_ == 3
    other, truth = table(1)
    other = other if kind == "pandas" else pl.from_pandas(other)
    known = ~pd.isna(table(1)[0]["kind"]).to_numpy()
    error = (model.predict(other) - truth)[known]
    assert np.mean(error**2) < 0.25 * np.var(truth)
    ks.save(model, tmp_path / "model")
    np.testing.assert_array_equal(ks.load(tmp_path / "model").predict(other), model.predict(other))


def test_the_encoding_is_chosen_and_classes_are_encoded_by_class():
    columns, rows = learn_table(FRAME, TARGET, "regression", 0)
    assert columns.encoding in ("target", "hot")
    labels = np.digitize(TARGET, [-1.0, 1.0])
    _, rows = learn_frames(FRAME, labels, "classification", "target", 0)
    assert rows.shape[1] == 1 + 3 + 2
    model = ks.KitchenSinkClassifier(**SMALL).fit(FRAME, labels)
    assert model.score(FRAME, labels) > 0.7


def test_categories_in_an_order_may_become_their_places():
    sizes = ["tiny", "small", "large", "huge"]
    place = np.random.default_rng(0).integers(0, 4, N_ROWS)
    words = pd.Series(pd.Categorical.from_codes(place, sizes, ordered=True)).astype(object)
    words[:5] = None
    frame = pd.DataFrame({"size": pd.Categorical(words, sizes, ordered=True)})
    for own in (frame, pl.DataFrame({"size": pl.Series(words.to_list(), dtype=pl.Enum(sizes))})):
        columns, rows = learn_frames(own, TARGET, "regression", "order", 0)
        np.testing.assert_array_equal(rows[5:, 0], place[5:])
        np.testing.assert_array_equal(rows[:5, 0], 1.5)
        np.testing.assert_array_equal(columns.apply(own), rows)
    # Without an order they have no place, and many in an order are best known by it.
    unordered = frame["size"].cat.as_unordered().to_frame()
    assert learn_frames(unordered, TARGET, "regression", "order", 0)[1].shape == (N_ROWS, 1)
    many = pd.Categorical.from_codes(np.arange(N_ROWS) % 300, [f"{k}" for k in range(300)], True)
    target = np.sin((np.arange(N_ROWS) % 300) / 40.0)
    assert learn_table(pd.DataFrame({"day": many}), target, "regression", 0)[0].encoding == "order"


def test_tables_that_do_not_fit_together():
    model = ks.KitchenSinkRegressor(**SMALL).fit(FRAME, TARGET)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(FRAME.drop(columns="age"))
    with pytest.raises(ValueError, match="fit had a table"), pytest.warns(match="feature names"):
        model.predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="'size' holds text"):
        model.predict(FRAME.assign(size="large"))
    again = model.fit(FRAME[["size"]], TARGET)
    assert not hasattr(again, "frames_")
    assert again.n_features_in_ == 1
