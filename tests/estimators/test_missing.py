"""NaN in arrays is a missing value: in the fit by a recipe, as in frames; in rows that come later
as the middle of a column that was complete."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import estimator_checks_generator

import kitchensinks as ks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
X[:, 3] = RNG.random(240) < 0.7
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 3]
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
NAMES = ["a", "b", "c", "d"]
pytestmark = pytest.mark.usefixtures("little_work")


def models():
    few = {"n_components": 60, "random_state": 0}
    yield ks.KitchenSinkRegressor(ks.Learned(effort="quick"), random_state=0), Y
    yield ks.KitchenSinkRegressor(ks.Fourier(), **few), Y
    yield ks.KitchenSinkRegressor(ks.Stumps(), **few, standardize=False), Y
    yield ks.KitchenSinkRegressor(ks.Binning(), **few), np.column_stack([Y, -Y])
    yield ks.KitchenSinkClassifier(ks.Learned(ks.Fourier()), **few), Y > 0
    yield ks.KitchenSinkClassifier(ks.ReLU(), **few, loss="logistic"), np.sign(Y).astype(int)


MODELS = [
    pytest.param(model, y, id=f"{type(model).__name__}-{model.basis}") for model, y in models()
]


def frame(rows):
    return pd.DataFrame(rows, columns=NAMES)


@pytest.mark.parametrize(("model", "y"), MODELS)
def test_an_array_with_nan_is_fitted_as_a_frame_with_missing_values(model, y):
    model.fit(HOLES, y)
    found, importances = model.predict(HOLES), None
    if model.law_.record is not None:
        importances = model.feature_importances_
        assert importances.shape == (4,)
    assert (model.n_features_in_, model.columns_.width) == (4, 8)
    model.fit(frame(HOLES), y)
    np.testing.assert_allclose(model.predict(frame(HOLES)), found, rtol=1e-9)
    if importances is not None:
        np.testing.assert_allclose(model.feature_importances_, importances)


@pytest.mark.parametrize(("model", "y"), MODELS)
def test_a_model_of_arrays_with_nan_is_pickled_and_saved(model, y, tmp_path):
    model.fit(HOLES, y)
    found = model.predict(HOLES)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(HOLES), found)
    ks.save(model, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(again.predict(HOLES), found)
    # Complete rows and sparse ones are rows as well.
    complete = again.predict(X)
    np.testing.assert_allclose(again.predict(sparse.csr_array(X)), complete)
    np.testing.assert_array_equal(again.predict(X.astype(np.float32)), again.predict(np.float32(X)))


@pytest.mark.parametrize(("model", "y"), MODELS)
def test_rows_after_a_complete_fit_may_have_missing_values(model, y):
    model.fit(X, y)
    middle = X.mean(axis=0)
    # A learned law leaves columns of zeros and ones as they are.
    middle[3] = 0.5 if model.law_.record is not None else middle[3]
    expected = model.predict(np.where(np.isnan(HOLES), middle, HOLES))
    np.testing.assert_allclose(model.predict(HOLES), expected, rtol=1e-6)
    np.testing.assert_allclose(model.predict(sparse.csr_array(HOLES)), expected, rtol=1e-6)
    assert not model.outside(HOLES).rows.any()
    model.fit(frame(X), y)
    np.testing.assert_allclose(model.predict(frame(HOLES)), expected, rtol=1e-6)
    np.testing.assert_allclose(
        model.predict(frame(HOLES).convert_dtypes(dtype_backend="numpy_nullable")),
        expected,
        rtol=1e-6,
    )


@pytest.mark.parametrize("standardize", [True, False])
def test_one_missing_value_in_the_fit_does_not_change_what_may_be_predicted(standardize):
    model = ks.KitchenSinkRegressor(ks.Fourier(), 30, standardize=standardize, random_state=0)
    gap = frame(X)
    gap.loc[3, "a"] = np.nan
    for fitted in (frame(X), gap, gap.convert_dtypes(dtype_backend="numpy_nullable")):
        model.fit(fitted, Y)
        assert list(model.feature_names_in_) == NAMES
        middle = np.where(np.isnan(HOLES), X.mean(axis=0), HOLES)
        complete = ["b", "c", "d"]
        rows, filled = frame(X), frame(X)
        rows[complete], filled[complete] = HOLES[:, 1:], middle[:, 1:]
        np.testing.assert_allclose(model.predict(rows), model.predict(filled), rtol=1e-6)
        with pytest.raises(ValueError, match="same order"):
            model.predict(rows[NAMES[::-1]])
        with pytest.warns(UserWarning, match="valid feature names"):
            model.predict(X)
        far = frame(X)
        far["b"] += 100.0
        assert list(model.outside(far).columns) == ["b"] * standardize


@pytest.mark.parametrize("count", [1, 200])
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT], ids=str)
def test_object_columns_of_a_frame_have_any_kind_of_missing_value(missing, count):
    """pandas.NA among objects was refused in a frame of numbers, where None and NaN were not."""
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=["a", "b", "a b"])
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0).fit(rows, rows["a"])
    plain, objects = rows[:count].copy(), rows[:count].astype(object)
    plain.iloc[0, 1] = np.nan
    objects.iloc[0, 1] = missing
    np.testing.assert_array_equal(model.predict(objects), model.predict(plain))


@pytest.mark.parametrize("text", [False, True])
def test_one_missing_value_among_many_rows_spoils_no_fold(text):
    rows = frame(X)
    rows.loc[3, "a"] = np.nan
    if text:
        rows["word"] = np.where(X[:, 0] > 0, "yes", "no")
    model = ks.KitchenSinkRegressor(ks.Fourier(), 30, random_state=0)
    assert np.isfinite(cross_val_score(model, rows, Y, cv=4)).all()


def test_a_report_on_columns_with_missing_values_of_their_own_type():
    rows = frame(HOLES)
    rows["d"] = rows["d"].astype("boolean")
    rows["whole"] = pd.array([1, 2, None] * 80, dtype="Int64")
    rows["word"] = pd.array(["yes", "no", None] * 80, dtype="string")
    for given in (rows.drop(columns="word"), rows):
        model = ks.KitchenSinkRegressor(ks.Fourier(), 30, random_state=0).fit(given, Y)
        found = model.report(given, Y)
        assert {one.column for one in found.importances} == set(given.columns)


def test_batches_with_missing_values():
    model = ks.KitchenSinkRegressor(ks.Fourier(gamma=0.5), 40, alpha=1e-3, random_state=0)
    model.freeze(X, Y)
    model.partial_fit(HOLES[:120], Y[:120]).partial_fit(X[120:], Y[120:])
    filled = np.where(np.isnan(HOLES[:120]), X.mean(axis=0), HOLES[:120])
    other = ks.KitchenSinkRegressor(ks.Fourier(gamma=0.5), 40, alpha=1e-3, random_state=0)
    other.freeze(X, Y).partial_fit(np.vstack([filled, X[120:]]), Y)
    np.testing.assert_allclose(model.predict(X), other.predict(X), rtol=1e-4, atol=1e-4)
    with pytest.warns(UserWarning, match="first batch"):
        stream = ks.KitchenSinkRegressor(ks.Fourier(), 40).partial_fit(HOLES, Y)
    assert stream.partial_fit(X, Y).partial_fit(HOLES, Y).columns_.width == 8


def test_infinity_stays_an_error():
    wrong = HOLES.copy()
    wrong[0, 0] = np.inf
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20)
    for call in (lambda: model.fit(wrong, Y), lambda: model.fit(HOLES, Y).predict(wrong)):
        with pytest.raises(ValueError, match="infinity"):
            call()
    with pytest.raises(ValueError, match="entry of size 1e\\+200"):
        model.fit(np.where(np.isinf(wrong), 1e200, wrong), Y)


def test_sparse_rows_and_columns_without_any_value():
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0)
    with pytest.raises(ValueError, match=r"NaN.*Fill in or drop"):
        model.fit(sparse.csr_array(HOLES), Y)
    with pytest.raises(ValueError, match="no value that is not missing"):
        model.fit(np.full((10, 2), np.nan), np.arange(10.0))
    empty = HOLES.copy()
    empty[:, 1] = np.nan
    model.fit(empty, Y)
    assert (model.columns_.inputs, model.n_features_in_) == (["x0", "x2", "x3"], 4)
    far = empty.copy()
    far[:, 2] = 1e3
    assert list(model.outside(far).columns) == [2]
    # A column that was left out may have values.
    np.testing.assert_array_equal(model.predict(HOLES), model.predict(empty))
    with pytest.raises(ValueError, match="same columns"):
        model.predict(HOLES[:, :3])


@pytest.mark.parametrize("basis", [ks.Fourier(), ks.ReLU(), ks.Learned(ks.Fourier())], ids=repr)
@pytest.mark.parametrize("rows", [X, HOLES], ids=["complete", "holes"])
def test_the_exported_graph_takes_missing_values(basis, rows, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    model = ks.KitchenSinkRegressor(basis, 50, random_state=0).fit(rows, Y)
    ks.to_onnx(model, tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, {"rows": HOLES})
    np.testing.assert_allclose(found.ravel(), model.predict(HOLES), atol=1e-4)


def test_collections_are_predicted_and_scored_with_missing_values():
    da = pytest.importorskip("dask.array")
    lazy, y = da.from_array(HOLES, chunks=(200, 4)), da.from_array(Y, chunks=200)
    for rows in (X, HOLES):
        model = ks.KitchenSinkRegressor(ks.Fourier(), 30, random_state=0).fit(rows, Y)
        np.testing.assert_allclose(model.predict(lazy).compute(), model.predict(HOLES), rtol=1e-6)
        assert model.score(lazy, y) == pytest.approx(model.score(HOLES, Y))
    with pytest.raises(ValueError, match=r"Partition \d: .*NaN.*Fill in or drop"):
        model.fit(lazy, y)


def test_the_tag_is_set():
    for kind in (ks.KitchenSinkRegressor, ks.KitchenSinkClassifier):
        assert kind().__sklearn_tags__().input_tags.allow_nan
        # scikit-learn asks nothing of NaN where the tag is set.
        names = [check.func.__name__ for _, check in estimator_checks_generator(kind())]
        assert "check_estimators_nan_inf" not in names


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("n_rows", [200, 700])
def test_columns_taken_as_they_come_are_filled_with_their_mean_by_a_learned_law(n_rows, tmp_path):
    rng = np.random.default_rng(0)
    rows = 1000.0 + rng.normal(size=(n_rows, 3))
    targets = rows[:, 1] - 1000.0 + 0.1 * rng.normal(size=n_rows)
    model = ks.KitchenSinkRegressor(standardize=False, random_state=0).fit(rows, targets)
    gaps, filled = rows[:9].copy(), rows[:9].copy()
    gaps[:, 1], filled[:, 1] = np.nan, rows[:, 1].mean()
    np.testing.assert_allclose(model.predict(gaps), model.predict(filled), atol=1e-4)
    ks.save(model, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(again.predict(gaps), model.predict(gaps))
