"""A line that goes on outside of the fitted range: where it is taken, and what it must survive."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import inv, solve
from sklearn.base import clone

import kitchensinks as ks
from kitchensinks.features.scaling import identity
from kitchensinks.features.trend import Trend
from kitchensinks.files.archive import ModelFileError
from kitchensinks.law import constants, trend
from kitchensinks.law.maps import Found
from kitchensinks.law.task import LearningRows
from kitchensinks.law.values import Request
from kitchensinks.problem.targets import Batch

QUICK = ks.Learned(steps=6, batch=64, seconds=0.05, members=2)


def line(n_rows, seed=0):
    """5x + noise on [0, 1], and a column that says nothing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 2))
    return X, 5.0 * X[:, 0] + 0.1 * rng.normal(size=n_rows)


@pytest.fixture(scope="module")
def model():
    return ks.KitchenSinkRegressor(QUICK, random_state=0).fit(*line(1500))


@pytest.mark.parametrize(
    ("basis", "n_rows"),
    [(None, 300), (ks.Fourier(), 1500), (ks.Binning(), 1500), (ks.ReLU(), 1500)],
    ids=repr,
)
def test_a_line_goes_on(basis, n_rows):
    law = clone(QUICK).set_params(basis=basis)
    _goes_on(ks.KitchenSinkRegressor(law, random_state=0).fit(*line(n_rows)))


def test_a_line_goes_on_where_nothing_is_chosen(model):
    _goes_on(model)


def _goes_on(model):
    with pytest.warns(UserWarning, match="but for the trend of the law"):
        beyond = model.predict([[2.0, 0.5], [-1.0, 0.5]] * 10)
    np.testing.assert_allclose(beyond[:2], [10.0, -5.0], atol=0.4)
    assert model.law_.trend.places.tolist() == [0]


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("loss", ["huber", "quantile"])
def test_losses_of_differences_have_trends(loss):
    model = ks.KitchenSinkRegressor(QUICK, loss=loss, random_state=0).fit(*line(1500))
    assert model.predict([[2.0, 0.5]])[0] == pytest.approx(10.0, abs=0.4)


def test_far_values_count_as_the_edge_of_the_trend(model):
    """One width beyond the range on either side, and no further."""
    low, high = model.scaler_.low[0], model.scaler_.high[0]
    edges = model.predict([[low - (high - low), 0.5], [high + (high - low), 0.5]])
    far = model.predict([[-1e6, 0.5], [1e6, 0.5]])
    np.testing.assert_allclose(far, edges, rtol=1e-12)
    np.testing.assert_array_equal(
        model.predict([[0.5, -1e6], [0.5, 1e6]]),
        model.predict([[0.5, model.scaler_.low[1]], [0.5, model.scaler_.high[1]]]),
    )


def test_nothing_goes_on_where_the_function_bends_back_or_levels_off():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1500, 2))
    for function in (lambda x: np.cos(6 * x), lambda x: np.tanh(12 * x)):
        y = function(X[:, 0]) + 0.05 * rng.normal(size=1500)
        model = ks.KitchenSinkRegressor(QUICK, random_state=0).fit(X, y)
        assert model.law_.trend is None
        assert (
            any(one.stage == "trend" for one in model.law_.record.trials)
            or abs(np.corrcoef(X[:, 0], y)[0, 1]) < 0.1
        )


@pytest.mark.usefixtures("little_work")
def test_classes_and_fits_without_intercept_have_no_trend():
    X, y = line(900)
    labels = ks.KitchenSinkClassifier(QUICK, random_state=0).fit(X, y > 2.5)
    through_zero = ks.KitchenSinkRegressor(QUICK, fit_intercept=False, random_state=0).fit(X, y)
    assert labels.law_.trend is None
    assert through_zero.law_.trend is None


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("n_rows", [300, 1500])
def test_no_line_is_tried_where_none_is_wanted(n_rows):
    law = clone(QUICK).set_params(trend=False)
    model = ks.KitchenSinkRegressor(law, random_state=0).fit(*line(n_rows))
    assert model.law_.trend is None
    assert not any(trial.stage == "trend" for trial in model.law_.record.trials)
    with pytest.warns(UserWarning, match="at the edge"):
        beyond = model.predict([[9.0, 0.5]] * 10)
    np.testing.assert_allclose(beyond, model.predict([[1.0, 0.5]] * 10), atol=0.1)


def test_several_outputs_have_slopes_of_their_own():
    X, y = line(1500)
    both = np.column_stack([y, 1e3 - 100 * y])
    model = ks.KitchenSinkRegressor(QUICK, random_state=0).fit(X, both)
    found = model.predict([[2.0, 0.5]])[0] / [1.0, 100.0]
    np.testing.assert_allclose(found, [10.0, 0.0], atol=0.4)


def test_the_record_tells_of_the_trend(model):
    tried = [one for one in model.law_.record.trials if one.stage == "trend"]
    assert "a line goes on outside of the range of column 0" in repr(model.law_)
    assert "no line in column 0" in tried[0].what
    assert tried[1].error < 0.2 * tried[0].error


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_a_trend_is_named_by_its_columns(missing, tmp_path):
    """Complete frames of numbers have no recipe, those with missing values one by places."""
    X, y = line(700)
    frame = pd.DataFrame(X, columns=["metres", "noise"])
    frame.loc[:5, "noise"] = np.nan if missing else 0.0
    model = ks.KitchenSinkRegressor(QUICK, random_state=0).fit(frame, y)
    ks.save(model, tmp_path / "model.sinks")
    for one in (model, ks.load(tmp_path / "model.sinks")):
        assert one.law_.trend.names == ("metres",)
        assert "a line goes on outside of the range of column 'metres'" in repr(one.law_)
        assert "no line in column 'metres'" in repr(one.law_)


def test_files_onnx_and_pickles_keep_the_trend(model, tmp_path):
    rows = np.random.default_rng(1).uniform(-1.0, 3.0, size=(50, 2))
    told = model.predict(rows)
    ks.save(model, tmp_path / "model.sinks")
    for again in (ks.load(tmp_path / "model.sinks"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(rows), told)


def test_onnx_has_the_trend(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    model = ks.KitchenSinkRegressor(
        ks.Learned(ks.Fourier(), steps=6, batch=64, seconds=0.05), random_state=0
    ).fit(*line(1500))
    assert model.law_.trend is not None
    ks.to_onnx(model, tmp_path / "model.onnx")
    rows = np.random.default_rng(1).uniform(-2.0, 4.0, size=(50, 2))
    (found,) = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(None, {"rows": rows})
    np.testing.assert_allclose(found.ravel(), model.predict(rows), atol=1e-4)


@pytest.mark.parametrize(
    "harm",
    [
        {"places": np.array([2])},
        {"places": np.array([0.5])},
        {"slopes": np.ones((1, 2))},
        {"mean": np.array([np.nan])},
        {"low": np.array([10.0]), "high": np.array([0.0])},
    ],
    ids=repr,
)
def test_a_file_with_a_trend_that_makes_no_sense_is_refused(model, tmp_path, harm):
    bad = pickle.loads(pickle.dumps(model))
    law = replace(bad.state_.law, trend=replace(bad.state_.law.trend, **harm))
    bad.state_ = replace(bad.state_, law=law)
    ks.save(bad, tmp_path / "model.sinks")
    with pytest.raises(ModelFileError, match="trend"):
        ks.load(tmp_path / "model.sinks")


@pytest.mark.usefixtures("little_work")
def test_a_stream_and_a_law_that_is_fitted_again_keep_the_trend():
    X, y = line(2000)
    law = ks.Learned(ks.Fourier(), steps=6, batch=64, seconds=0.05)
    frozen = ks.KitchenSinkRegressor(law, random_state=0).freeze(X[:1000], y[:1000])
    for part in (slice(0, 1000), slice(1000, 2000)):
        frozen.partial_fit(X[part], y[part])
    assert frozen.predict([[2.0, 0.5]])[0] == pytest.approx(10.0, abs=0.4)
    again = ks.KitchenSinkRegressor(frozen.law_).fit(X, y)
    np.testing.assert_allclose(again.predict(X[:9]), frozen.predict(X[:9]), atol=0.1)
    assert again.law_.trend is frozen.law_.trend


def test_a_law_is_fitted_again_to_targets_of_any_size(model):
    """Targets are encoded in units of their largest: the trend is in their own."""
    X, y = line(1500, seed=1)
    low = X[:, 0] < 0.2
    again = ks.KitchenSinkRegressor(model.law_).fit(X[low], y[low])
    assert again.state_.targets.unit < model.state_.targets.unit
    assert again.predict([[2.0, 0.5]])[0] == pytest.approx(10.0, abs=0.5)


@pytest.mark.usefixtures("little_work")
def test_dask_has_the_same_trend():
    pytest.importorskip("distributed")
    import dask.array as da

    X, y = line(1500)
    model = ks.KitchenSinkRegressor(
        ks.Learned(ks.Fourier(), steps=6, batch=64, seconds=0.05), random_state=0
    )
    model.fit(da.from_array(X, chunks=(500, 2)), da.from_array(y, chunks=500))
    lazy = model.predict(da.from_array(np.array([[2.0, 0.5]])))
    assert lazy.compute()[0] == pytest.approx(10.0, abs=0.4)
    assert model.score(da.from_array(X, chunks=(500, 2)), da.from_array(y, chunks=500)) > 0.99
    with pytest.raises(ValueError, match="time=0 is not supported for Dask"):
        model.set_params(basis__time=0).fit(da.from_array(X), da.from_array(y))


def test_the_slopes_are_those_of_universal_kriging():
    """Against the equations of Rasmussen and Williams, (2.41) and (2.42), with a vague prior."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2))
    targets = (rows[:, :1] ** 2 + 3.0 * rows[:, 1:]) * np.ones((1, 1))
    found = Found("gaussian", "as is", identity(2), np.ones((1, 2)), np.zeros(1))
    part = trend.TrendRows(rows, rows, targets, np.ones(40))
    lines = rows[:, 1:]
    (line_,) = trend._fits(found, part, [lines], part, [lines])
    errors = []
    for ridge in constants.TREND_RIDGES:
        kernel = np.exp(-((rows[:, None] - rows) ** 2).sum(axis=2))
        design = np.column_stack([np.ones(40), lines])
        # The prior of the weights has variance 1e8.
        whole = inv(kernel + ridge * np.eye(40) + 1e8 * design @ design.T)
        left = (whole @ targets) / np.diag(whole)[:, None]
        plain = inv(kernel + ridge * np.eye(40))
        weights = solve(design.T @ plain @ design, design.T @ plain @ targets)
        errors.append((float(np.mean(left**2)), weights[1:]))
    error, slopes = min(errors, key=lambda pair: pair[0])
    assert line_.within == pytest.approx(error, rel=1e-3)
    np.testing.assert_allclose(line_.slopes, slopes, rtol=1e-6)


@pytest.mark.parametrize("column", ["zeros", "copy"])
def test_a_slope_that_the_inner_rows_do_not_determine_is_not_tried(column):
    """Most values are zero, so that a column without its ends is constant; or it is another."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 2))
    if column == "zeros":
        rows[:, 1] *= rng.uniform(size=600) < 0.2
    else:
        rows[:, 1] = rows[:, 0]
    learned = ks.Learned(members=1)
    task = LearningRows(Batch(rows, rng.normal(size=(600, 1))), Request(seed=0), learned)
    found = Found("gaussian", "as is", identity(2), np.ones((1, 2)), np.zeros(1))
    places = np.arange(len(task.pool))
    split = trend._ends(task.pool[:, 1], places)
    before = len(task.trials)
    tried = [1] if column == "zeros" else [0, 1]
    assert not trend._helps(task, found, task.pool, split, tried)
    assert len(task.trials) == before


def test_a_trend_of_blocks_is_that_of_all_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 3))
    limit, slopes = np.full(2, 3.0), rng.normal(size=(2, 2))
    one = Trend(np.array([0, 2]), np.zeros(2), -limit, limit, slopes)
    expected = np.clip(rows[:, [0, 2]], -3.0, 3.0) @ one.slopes
    np.testing.assert_allclose(one.values(rows), expected, atol=1e-12)


@pytest.mark.usefixtures("little_work")
def test_mixed_tables_have_trends():
    rng = np.random.default_rng(0)
    date = pd.date_range("2020-01-01", periods=1600, freq="D")
    shop = rng.choice(["a", "b", "c"], 1600)
    y = np.arange(1600) / 200 + (shop == "a") + 0.1 * rng.normal(size=1600)
    frame = pd.DataFrame({"date": date, "shop": shop})
    model = ks.KitchenSinkRegressor(QUICK, random_state=0).fit(frame[:1200], y[:1200])
    with pytest.warns(UserWarning, match="date"):
        later = model.predict(frame[1200:])
    assert np.abs(later - y[1200:]).mean() < 0.3


@pytest.mark.usefixtures("little_work")
def test_a_loss_that_allows_no_trend_takes_the_law_without_it(model):
    """Poisson deviance has a log link: targets minus a line may be negative."""
    X, y = line(1500)
    again = ks.KitchenSinkRegressor(model.law_, loss="poisson").fit(X, np.maximum(y, 0.0))
    assert model.law_.trend is not None
    assert again.law_.trend is None
    np.testing.assert_allclose(again.predict(X).mean(), y.mean(), rtol=0.02)
