"""categorical_features: numbers that are names of categories, in arrays, frames and tables."""

import pickle

import numpy as np
import pandas as pd
import polars
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_predict
from threadpoolctl import ThreadpoolController, threadpool_limits

import kitchensinks as ks
from kitchensinks.state.fits import identity_of
from kitchensinks.tables.encoders import Text


def made(n_rows=900, seed=0):
    """Columns: a quantity, a code whose order says nothing, a quantity; codes may be missing."""
    rng = np.random.default_rng(seed)
    codes, effects = rng.integers(0, 40, n_rows), np.random.default_rng(7).normal(size=40)
    first, last = rng.normal(size=(2, n_rows))
    targets = 2.0 * effects[codes] + np.sin(2.0 * first) + 0.1 * rng.normal(size=n_rows)
    code = np.where(rng.random(n_rows) < 0.02, np.nan, 7.0 * codes)
    return np.column_stack([first, code, last]), targets


ROWS, TARGETS = made()
NEW, TRUTH = made(400, seed=1)
LEARNED = (ks.KitchenSinkRegressor, ks.Learned(effort="quick"))
FRAME = pd.DataFrame(ROWS, columns=["first", "code", "last"])


def model(basis=None, given=(1,), kind=ks.KitchenSinkRegressor, **options):
    count = {ks.Fourier: 300, ks.Binning: 60}.get(type(basis))
    given = given if isinstance(given, str) else list(given)
    return kind(basis, n_components=count, categorical_features=given, random_state=0, **options)


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize(
    "basis", [ks.Fourier(), ks.Binning(), ks.Learned(ks.Fourier(), "quick")], ids=repr
)
def test_arrays_frames_tables_and_declared_categories_are_one_model(basis):
    expected = model(basis).fit(ROWS, TARGETS).predict(NEW)
    new = pd.DataFrame(NEW, columns=FRAME.columns)
    mask = model(basis, [False, True, False]).fit(ROWS, TARGETS)
    np.testing.assert_array_equal(mask.predict(NEW), expected)
    table = ks.open_table(FRAME.assign(y=TARGETS))
    np.testing.assert_array_equal(model(basis).fit(table, "y").predict(new), expected)
    declared = model(basis, "from_dtype").fit(FRAME.astype({"code": "category"}), TARGETS)
    np.testing.assert_array_equal(declared.predict(new), expected)
    if isinstance(basis, ks.Learned):
        return  # Frames are read in the same way whichever basis there is.
    for frame, rows in ((FRAME, new), (polars.from_pandas(FRAME), polars.from_pandas(new))):
        named = model(basis, ["code"]).fit(frame, TARGETS)
        np.testing.assert_array_equal(named.predict(rows), expected)


def test_none_names_no_column_as_for_trees():
    """Text and declared categories are categories all the same."""
    table = ks.open_table(FRAME)
    declared, recipe = FRAME.astype({"code": "category"}), ks.Columns.learn(table)
    for rows in (ROWS, FRAME, declared, ks.Rows(table, recipe)):
        plain = ks.KitchenSinkRegressor(ks.Fourier(), 50, random_state=0).fit(rows, TARGETS)
        none = clone(plain).set_params(categorical_features=None).fit(rows, TARGETS)
        np.testing.assert_array_equal(none.predict(rows), plain.predict(rows))


def test_categories_are_learned_as_trees_learn_them():
    ours = model(ks.Learned(effort="quick")).fit(ROWS, TARGETS)
    trees = HistGradientBoostingRegressor(categorical_features=[1]).fit(ROWS, TARGETS)
    error, peer = (np.mean((one.predict(NEW) - TRUTH) ** 2) for one in (ours, trees))
    assert error < 1.3 * peer
    plain, numbers = (model(ks.Fourier(), g).fit(ROWS, TARGETS) for g in ([1], "from_dtype"))
    assert plain.score(NEW, TRUTH) > 0.5 + numbers.score(NEW, TRUTH)


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize(
    ("kind", "basis"),
    [
        (ks.KitchenSinkRegressor, ks.Fourier()),
        (ks.KitchenSinkClassifier, ks.Binning()),
        # The usual work chooses bins, whose predictions no cut into blocks rounds otherwise.
        pytest.param(*LEARNED, marks=pytest.mark.usual_work),
        (ks.KitchenSinkClassifier, ks.Learned(effort="quick")),
    ],
    ids=lambda one: getattr(one, "__name__", repr(one)),
)
def test_files_pickles_onnx_clones_and_dask(kind, basis, tmp_path):
    targets = TARGETS if kind is ks.KitchenSinkRegressor else np.digitize(TARGETS, [-1.0, 1.0])
    rows = NEW.copy()
    # A level that no row of the fit had.
    rows[:5, 1] = 3.5
    fitted = model(basis, kind=kind).fit(ROWS, targets)
    expected = fitted.predict(rows)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(rows), expected)
    np.testing.assert_array_equal(clone(fitted).fit(ROWS, targets).predict(rows), expected)
    ks.save(fitted, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(again.predict(rows), expected)
    assert again.categorical_features == [1]

    onnxruntime = pytest.importorskip("onnxruntime")
    ks.to_onnx(fitted, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    found = session.run(None, {"rows": rows})[0].ravel()
    if kind is ks.KitchenSinkClassifier:
        assert np.mean(found == expected) > 0.99
    else:
        assert np.quantile(np.abs(found - expected), 0.99) < 1e-4

    array = pytest.importorskip("dask.array")
    lazy = fitted.predict(array.from_array(rows, chunks=(150, 3)))
    np.testing.assert_allclose(np.asarray(lazy), expected, atol=1e-9)
    with pytest.raises(ValueError, match="not supported for Dask"):
        model(basis, kind=kind).fit(array.from_array(ROWS), array.from_array(targets))


def test_unknown_levels_are_those_of_text():
    """A number that no row had is what a word that no row had is."""
    text = FRAME.assign(code=["" if c != c else f"{c:g}" for c in FRAME["code"]])
    new = pd.DataFrame(NEW[:20], columns=FRAME.columns).assign(code=1.25)
    numbers = model(ks.Fourier(), ["code"]).fit(FRAME, TARGETS)
    words = model(ks.Fourier(), ["code"]).fit(text, TARGETS)
    expected = words.predict(new.assign(code="1.25"))
    np.testing.assert_array_equal(numbers.predict(new), expected)


@pytest.mark.parametrize("given", [["code"], {"code"}, [1], np.array([False, True, False])])
def test_fits_of_other_categories_are_other_fits(given):
    models = (
        ks.KitchenSinkRegressor(categorical_features=one) for one in ("from_dtype", None, given)
    )
    plain, none, other = (identity_of(one._spec()) for one in models)
    assert plain == none
    assert plain.items() ^ other.items() == {
        ("categorical_features", one["categorical_features"]) for one in (plain, other)
    }


def test_a_checkpoint_belongs_to_its_categories(tmp_path):
    folder = ks.Checkpoint(tmp_path)
    model(ks.Fourier(), [1]).fit(ROWS, TARGETS, checkpoint=folder)
    with pytest.raises(ValueError, match="categorical_features"):
        model(ks.Fourier(), [True, True, False]).fit(ROWS, TARGETS, checkpoint=folder)


def test_batches_and_folds():
    stream = model(ks.Fourier()).freeze(ROWS, TARGETS)
    for places in np.array_split(np.arange(len(ROWS)), 3):
        stream.partial_fit(ROWS[places], TARGETS[places])
    assert stream.score(NEW, TRUTH) > 0.8
    found = cross_val_predict(model(ks.Fourier()), ROWS, TARGETS, cv=3)
    assert np.corrcoef(found, TARGETS)[0, 1] > 0.9


def test_importances_and_the_range_count_the_columns_of_the_array():
    fitted = model(ks.Fourier()).fit(ROWS, TARGETS)
    assert fitted.feature_importances_.shape == (3,)
    assert np.argmax(fitted.feature_importances_) == 1
    far = NEW.copy()
    far[0, 2] = 1e6
    assert 2 in fitted.outside(far).columns


def test_refusals():
    with pytest.raises(ValueError, match="sparse rows: need dense ones"):
        model(ks.Fourier()).fit(sparse.csr_array(np.nan_to_num(ROWS)), TARGETS)
    table = ks.open_table(FRAME)
    with pytest.raises(ValueError, match=r"ks.Columns.learn\(table, categories"):
        model(ks.Fourier()).fit(ks.Rows(table, ks.Columns.learn(table)), TARGETS)
    with pytest.raises(ValueError, match="give indices, or a data frame"):
        model(ks.Fourier(), ["code"]).fit(ROWS, TARGETS)


def test_recipes_are_learned_on_the_threads_of_the_fit(monkeypatch):
    found = []
    learn = Text.learn.__func__

    def watched(cls, *given):
        pools = ThreadpoolController().select(user_api="blas").info()
        found.extend(pool["num_threads"] for pool in pools)
        return learn(cls, *given)

    monkeypatch.setattr(Text, "learn", classmethod(watched))
    words = [f"{k * 7919 % 1009} blue birds and {k} red ones" for k in range(80)]
    frame = pd.DataFrame({"text": words, "number": np.arange(80.0)})
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, random_state=0, n_jobs=1)
    with threadpool_limits(2, user_api="blas"):
        model.fit(frame, frame["number"])
    assert found
    assert set(found) == {1}
