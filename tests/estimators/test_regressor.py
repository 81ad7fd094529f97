"""The standard deviation of predictions, and the shapes of targets."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge

import kitchensinks as ks
from kitchensinks.fitting import sparse
from kitchensinks.fitting.settings import Settings
from kitchensinks.problem.losses import get_loss
from tests.catalogue import build

ROWS, VALUES = load_diabetes(return_X_y=True)


def posterior(model, X, y, Xt):
    """Bayesian ridge, noise included: noise σ², prior σ²/(αΣw) on β, flat on b."""
    features = np.asarray(model.law_.features.features(X), dtype=float)
    others = np.asarray(model.law_.features.features(Xt), dtype=float)
    mean = features.mean(axis=0) if model.fit_intercept else np.zeros(features.shape[1])
    total = len(X)
    system = (features - mean).T @ (features - mean) + model.alpha_ * total * np.eye(len(mean))
    inverse = np.linalg.inv(system)
    freedom = np.trace(inverse @ (features - mean).T @ (features - mean)) + model.fit_intercept
    residual = y - model.predict(X)
    noise = np.sum(residual**2, axis=0) / (total - freedom)
    leverage = np.einsum("ij,jk,ik->i", others - mean, inverse, others - mean)
    variance = 1.0 + leverage + model.fit_intercept / total
    return np.sqrt(np.multiply.outer(variance, noise))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n_rows", "n_components"), [(300, 40), (60, 100)])
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_deviation_is_the_bayesian_one(outputs, n_rows, n_components, intercept):
    X, y = ROWS[:n_rows], VALUES[:n_rows]
    if outputs == 2:
        y = np.column_stack([y, y[::-1] ** 2])
    model = ks.KitchenSinkRegressor(
        ks.Fourier(), n_components=n_components, alpha=1e-3, fit_intercept=intercept, random_state=0
    ).fit(X, y)
    mean, deviation = model.predict(ROWS[300:], return_std=True)
    assert mean.shape == deviation.shape == (142, *y.shape[1:])
    np.testing.assert_allclose(deviation, posterior(model, X, y, ROWS[300:]), rtol=1e-6)


def test_bayesian_ridge_of_scikit_learn():
    X, y = ROWS[:300], VALUES[:300] - VALUES[:300].mean()
    model = ks.KitchenSinkRegressor(
        ks.Fourier(), n_components=30, alpha=1.0, fit_intercept=False, random_state=0
    )
    model.fit(X, y)
    features = model.law_.features.features(X)
    peer = BayesianRidge(fit_intercept=False, tol=1e-10, max_iter=5000).fit(features, y)
    # Its precisions of noise and weights give the ridge: lambda/alpha = α·Σw.
    model.set_params(alpha=peer.lambda_ / peer.alpha_ / len(y)).fit(X, y)
    others = model.law_.features.features(ROWS[300:])
    mean, deviation = peer.predict(others, return_std=True)
    got_mean, got_deviation = model.predict(ROWS[300:], return_std=True)
    np.testing.assert_allclose(got_mean, mean, rtol=1e-6)
    # The noise is estimated at its fixed point, as BayesianRidge does with flat priors.
    np.testing.assert_allclose(got_deviation, deviation, rtol=1e-3)


def test_without_a_ridge_nothing_is_known_outside_of_the_span_of_the_rows():
    """The deviation was least there, because that part of a row was left out."""
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=60, alpha=0.0, random_state=0)
    _, deviation = model.fit(ROWS[:20], VALUES[:20]).predict(ROWS[:40], return_std=True)
    assert np.isfinite(deviation[:20]).all()
    assert np.isinf(deviation[20:]).all()


def test_the_deviation_covers_as_it_should():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(2000, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=2000)
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=100, random_state=0).fit(
        X[:1000], y[:1000]
    )
    mean, deviation = model.predict(X[1000:], return_std=True)
    assert 0.65 < np.mean(np.abs(y[1000:] - mean) < deviation) < 0.72
    assert 0.93 < np.mean(np.abs(y[1000:] - mean) < 2.0 * deviation) < 0.97
    far = model.predict([[30.0]], return_std=True)[1]
    assert far > deviation.max()


def test_sample_weights_of_two_are_two_rows():
    weights = np.full(len(VALUES), 2.0)
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=30, alpha=1e-2, random_state=0)
    model.fit(ROWS, VALUES, sample_weight=weights)
    deviation = model.predict(ROWS, return_std=True)[1]
    model.fit(np.vstack([ROWS, ROWS]), np.append(VALUES, VALUES))
    np.testing.assert_allclose(model.predict(ROWS, return_std=True)[1], deviation, rtol=1e-8)


@pytest.mark.parametrize("n_components", [20, 2 * len(ROWS)])
def test_a_model_file_of_a_direct_fit_says_where_its_deviations_are(n_components, tmp_path):
    """It advised a direct fit where there had been one."""
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components, random_state=0).fit(ROWS, VALUES)
    ks.save(model, tmp_path / "model.sinks")
    with pytest.raises(ValueError, match=r"model files do not hold.*fit again, or use a pickle"):
        ks.load(tmp_path / "model.sinks").predict(ROWS, return_std=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "huber"}, "return_std needs loss='squared'"),
        ({"constraint": ks.L2Ball(1.0)}, "return_std needs.*constraint=L2Ball"),
        ({"solver": "conjugate"}, "does not form.*solver='direct'"),
        ({"solver": ks.Solver("stochastic", max_iter=2)}, "does not form.*solver='direct'"),
    ],
)
def test_fits_without_a_deviation_say_so(options, message):
    model = build(ks.KitchenSinkRegressor, n_components=20, alpha=1e-3, random_state=0, **options)
    model.fit(ROWS, VALUES)
    with pytest.raises(ValueError, match=message):
        model.predict(ROWS, return_std=True)


def test_shapes_of_targets():
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=10, random_state=0)
    assert model.fit(ROWS, VALUES).predict(ROWS).shape == (442,)
    assert model.fit(ROWS, VALUES[:, None]).predict(ROWS).shape == (442, 1)
    assert model.fit(ROWS, np.tile(VALUES[:, None], 3)).predict(ROWS).shape == (442, 3)
    with pytest.raises(ValueError, match=r"outputs of sizes 1e-200 to .*fit them one by one"):
        model.fit(ROWS, np.column_stack([VALUES, np.full(442, 1e-200)]))


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_a_quantile_is_above_its_share_of_the_targets(tau):
    model = ks.KitchenSinkRegressor(
        ks.Fourier(), n_components=30, loss=ks.losses.Quantile(tau), alpha=1e-4, random_state=0
    ).fit(ROWS, VALUES)
    assert np.mean(model.predict(ROWS) > VALUES) == pytest.approx(tau, abs=0.06)


def test_huber_is_not_moved_by_outliers():
    y = VALUES.copy()
    y[::20] += 1e5
    robust = ks.KitchenSinkRegressor(
        ks.Fourier(), n_components=30, loss="huber", alpha=1e-2, random_state=0
    )
    squared = ks.KitchenSinkRegressor(ks.Fourier(), n_components=30, alpha=1e-2, random_state=0)
    assert robust.fit(ROWS, y).score(ROWS, VALUES) > 0.3
    assert squared.fit(ROWS, y).score(ROWS, VALUES) < 0.0


def spread_rows(n_rows, seed):
    """Rows whose targets spread more the farther the first column is from zero."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1.0, 1.0, size=(n_rows, 3))
    noise = (0.2 + np.abs(rows[:, 0])) * rng.normal(size=n_rows)
    return rows, np.sin(4.0 * rows[:, 1]) + noise


@pytest.mark.parametrize("basis", [ks.Fourier(), ks.Binning()], ids=repr)
def test_an_interval_of_quantiles_covers_rows_to_come(basis):
    """With a learned law, whose weights alone would leave out more than a tenth."""
    X, y = spread_rows(1500, 0)
    rows, targets = spread_rows(4000, 1)
    low, high = (
        ks.KitchenSinkRegressor(
            ks.Learned(basis, effort="quick"), loss=ks.losses.Quantile(tau), random_state=0
        )
        .fit(X, y)
        .predict(rows)
        for tau in (0.05, 0.95)
    )
    assert 0.87 <= np.mean((targets >= low) & (targets <= high)) <= 0.93


@pytest.mark.parametrize(("loss", "alike"), [("quantile", True), ("huber", False)])
def test_the_fit_that_sets_a_level_is_as_close_as_the_last_one(loss, alike):
    """Ridges of other losses are compared by rougher fits."""
    settings = Settings(get_loss(loss), "auto", None, True, 1e-3, 200, "auto", 0)
    assert (sparse._rough(settings) == settings) == alike


@pytest.mark.parametrize("tau", [0.05, 0.5])
def test_a_level_that_was_set_on_held_out_rows_is_certified(tau):
    X, y = spread_rows(600, 0)
    given = {"loss": ks.losses.Quantile(tau), "random_state": 0, "n_components": 200}
    model = ks.KitchenSinkRegressor(ks.Fourier(gamma=3.0), **given).fit(X, y)
    exact = ks.KitchenSinkRegressor(
        ks.Fourier(gamma=3.0), alpha=model.alpha_, solver=ks.Solver(tol=1e-6), **given
    ).fit(X, y)
    value = ks.losses.Quantile(tau).value(y, model.predict(X)).mean()
    value += model.alpha_ * np.sum(model.model_.weights**2)
    assert model.objective_ == pytest.approx(value, rel=1e-5)
    assert exact.objective_ - 1e-9 <= model.objective_ <= exact.objective_ + model.gap_ + 1e-9
    if tau == 0.05:
        # The fit follows its own rows: of others more are below.
        assert np.mean(y < model.predict(X)) < tau
