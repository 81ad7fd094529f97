"""Prediction intervals: which residuals they are made of, what they cover, where there are none."""

import math
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

import kitchensinks as ks
from kitchensinks.fitting.calibration import Residuals

ROWS, VALUES = load_diabetes(return_X_y=True)
COVERAGE = 0.8


def noisy(n_rows, seed=0):
    """A smooth function with noise of a skewed distribution."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n_rows, 3))
    noise = random.exponential(size=n_rows) - 1.0
    return rows, 1e3 + 10.0 * (np.sin(2 * rows[:, 0]) + rows[:, 1] * rows[:, 2] + 0.5 * noise)


def fourier(**given):
    options = {"n_components": 40, "random_state": 0} | given
    return ks.KitchenSinkRegressor(ks.Fourier(), **options)


FITS = {
    "path": lambda: fourier(),
    "Cholesky": lambda: fourier(alpha=1e-3),
    "span": lambda: fourier(n_components=2000, alpha=1e-3),
    "conjugate": lambda: fourier(solver="conjugate", alpha=1e-3),
    "ball": lambda: fourier(constraint=ks.L2Ball(5e3)),
    "huber": lambda: fourier(loss="huber"),
    "quantile": lambda: fourier(loss="quantile", alpha=1e-3),
    "bins": lambda: ks.KitchenSinkRegressor(ks.Binning(), n_components=60, random_state=0),
    "bins, ridge": lambda: ks.KitchenSinkRegressor(
        ks.Binning(), n_components=60, alpha=1e-3, random_state=0
    ),
    "stochastic": lambda: fourier(solver=ks.Solver("stochastic", max_iter=40), alpha=1e-4),
    "learned": lambda: ks.KitchenSinkRegressor(ks.Learned(effort="quick"), random_state=0),
}


def fitted(name, *given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FITS[name]().fit(*given)


@pytest.mark.parametrize("name", FITS)
def test_intervals_cover_their_share_of_new_targets(name):
    rows, values = noisy(6000)
    model = fitted(name, rows[:2500], values[:2500])
    levels = np.array([0.5, COVERAGE, 0.95])
    lower, upper = model.predict_interval(rows[2500:], levels)
    inside = ((lower <= values[2500:, None]) & (values[2500:, None] <= upper)).mean(axis=0)
    # 3500 new rows and some 500 residuals leave a standard error of two points.
    np.testing.assert_allclose(inside, levels, atol=0.06)
    # The ends are quantiles, which do not cross.
    assert (np.diff(lower, axis=1) <= 0).all()
    assert (np.diff(upper, axis=1) >= 0).all()
    one = model.predict_interval(rows[2500:], COVERAGE)
    np.testing.assert_array_equal(one.lower, lower[:, 1])
    np.testing.assert_array_equal(one.upper, upper[:, 1])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n_rows", "n_components"), [(120, 30), (60, 100)])
def test_residuals_are_those_of_fits_without_each_row(n_rows, n_components, intercept):
    X, y = ROWS[:n_rows], VALUES[:n_rows]
    model = fourier(n_components=n_components, alpha=1e-2, fit_intercept=intercept).fit(X, y)
    features = np.asarray(model.law_.features.features(X), dtype=float)
    left_out = []
    for row in range(n_rows):
        others = np.arange(n_rows) != row
        # What is fixed is Σw·α, the ridge of scikit-learn.
        peer = Ridge(alpha=model.alpha_ * n_rows, fit_intercept=intercept)
        peer.fit(features[others], y[others])
        left_out.append(y[row] - peer.predict(features[[row]])[0])
    residuals = np.sort(left_out)
    place = math.ceil((1 + COVERAGE) / 2 * (n_rows + 1))
    lower, upper = model.predict_interval(ROWS[-5:], COVERAGE)
    mean = model.predict(ROWS[-5:])
    np.testing.assert_allclose(upper - mean, residuals[place - 1], rtol=1e-6)
    np.testing.assert_allclose(lower - mean, residuals[n_rows - place], rtol=1e-6)


def test_held_out_residuals_are_a_split_conformal_prediction():
    """Over many splits of one table, the share of new targets inside is the coverage at least."""
    random = np.random.default_rng(0)
    inside = []
    for _ in range(2000):
        values = random.standard_cauchy(size=40)
        low, high = Residuals.of(values[:39, None], None).offsets(0.9)
        inside.append(low[0] <= values[39] <= high[0])
    assert abs(np.mean(inside) - 0.9) < 4 * math.sqrt(0.09 / 2000)


def test_copies_and_weights_are_alike():
    X, y = ROWS[:150], VALUES[:150]
    weights = np.random.default_rng(0).integers(0, 4, size=150)
    one = fourier(alpha=1e-3).fit(X, y, sample_weight=weights)
    two = fourier(alpha=1e-3).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        one.predict_interval(ROWS[150:]), two.predict_interval(ROWS[150:]), rtol=1e-6
    )


def test_several_outputs_have_their_own_intervals():
    Y = np.column_stack([VALUES, 100.0 * VALUES[::-1]])
    model = fourier(alpha=1e-3).fit(ROWS, Y)
    lower, upper = model.predict_interval(ROWS[:7], [0.5, 0.9])
    assert lower.shape == upper.shape == (7, 2, 2)
    for output in range(2):
        alone = fourier(alpha=1e-3).fit(ROWS, Y[:, output]).predict_interval(ROWS[:7], 0.9)
        np.testing.assert_allclose(lower[:, output, 1], alone.lower, rtol=1e-6)
        np.testing.assert_allclose(upper[:, output, 1], alone.upper, rtol=1e-6)


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("name", FITS)
def test_intervals_survive(name, tmp_path):
    rows, values = noisy(600)
    model = fitted(name, rows, values)
    found = model.predict_interval(rows[:9])
    ks.save(model, tmp_path / "model.sinks")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = clone(model).fit(rows, values)
    for other in (pickle.loads(pickle.dumps(model)), ks.load(tmp_path / "model.sinks"), again):
        np.testing.assert_array_equal(other.predict_interval(rows[:9]), found)


def test_batches_and_merges_have_the_intervals_of_one_fit():
    rows, values = noisy(900)
    whole = fourier(alpha=1e-3).freeze(rows, values)
    parts = pickle.loads(pickle.dumps(whole)), pickle.loads(pickle.dumps(whole))
    whole.partial_fit(rows, values)
    parts[0].partial_fit(rows[:400], values[:400])
    merged = parts[0].merge(parts[1].partial_fit(rows[400:], values[400:]))
    np.testing.assert_allclose(
        merged.predict_interval(rows[:9]), whole.predict_interval(rows[:9]), rtol=1e-6
    )
    fit = fourier(alpha=1e-3).fit(rows, values)
    np.testing.assert_allclose(
        fit.predict_interval(rows[:9]), whole.predict_interval(rows[:9]), rtol=1e-6
    )


@pytest.mark.parametrize("options", [{}, {"loss": "huber", "alpha": 1e-3}])
def test_fits_of_partitions_have_intervals(options):
    da = pytest.importorskip("dask.array")
    rows, values = noisy(900)
    X, y = da.from_array(rows, chunks=(300, 3)), da.from_array(values, chunks=300)
    model = fourier(**options).fit(X, y)
    lower, upper = model.predict_interval(rows)
    assert 0.84 < np.mean((lower <= values) & (values <= upper)) < 0.97
    with pytest.raises(ValueError, match="not supported for Dask"):
        model.predict_interval(X)


@pytest.mark.parametrize("coverage", [0.0, 1.0, -1, 1.5, math.nan, [0.5, 2.0]])
def test_coverages_that_make_no_sense(coverage):
    with pytest.raises(ValueError, match="need a number between 0 and 1"):
        fourier().fit(ROWS, VALUES).predict_interval(ROWS, coverage)


def test_too_few_rows_for_a_coverage_say_how_many_it_needs():
    model = fourier(alpha=1e-2).fit(ROWS[:19], VALUES[:19])
    assert model.predict_interval(ROWS[:1], 0.9).lower.shape == (1,)
    with pytest.raises(ValueError, match=r"coverage=0.95 needs the residuals of 39 rows.*0.9 at"):
        model.predict_interval(ROWS, 0.95)


def test_fits_without_residuals_say_so():
    rows, values = noisy(300)
    blocks = fourier(solver="blocks", alpha=1e-3).fit(rows, values)
    with pytest.raises(ValueError, match=r"a fit by block coordinate descent .* has none"):
        blocks.predict_interval(rows)
    ball = fourier(constraint=ks.L2Ball(1e3)).freeze(rows, values).partial_fit(rows, values)
    with pytest.raises(ValueError, match=r"constraint=L2Ball"):
        ball.predict_interval(rows)


def test_stochastic_intervals_are_of_rows_that_were_not_fitted():
    # More features than rows fit noise exactly in the end: its residuals would be near zero.
    random = np.random.default_rng(0)
    rows, noise = random.normal(size=(1200, 5)), random.normal(size=1200)
    model = ks.KitchenSinkRegressor(ks.Fourier(), 1000, solver="stochastic", random_state=0)
    lower, upper = model.fit(rows[:300], noise[:300]).predict_interval(rows[300:], COVERAGE)
    inside = ((lower <= noise[300:]) & (noise[300:] <= upper)).mean()
    assert abs(inside - COVERAGE) < 0.08


def test_a_coverage_that_is_text_is_shown_as_such():
    rows, values = noisy(60)
    model = fitted("path", rows, values)
    with pytest.raises(ValueError, match=r"coverage='0\.9': need a number between 0 and 1"):
        model.predict_interval(rows, "0.9")
