"""Held-out error for every prefix of K, and the K that n_components="auto" chooses."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import kitchensinks as ks
from kitchensinks.fitting.growth import Prefixes
from kitchensinks.problem.moments import NormalEquations
from tests.catalogue import build

ROWS, VALUES = load_diabetes(return_X_y=True)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("basis", [ks.Fourier(gamma=0.05), ks.Fourier(gamma=0.05, form="paired")])
def test_every_prefix_is_the_fit_on_that_many_features(basis, intercept):
    targets = np.column_stack([VALUES, VALUES[::-1] / 10.0])
    model = ks.KitchenSinkRegressor(
        basis, 60, alpha=1e-3, fit_intercept=intercept, random_state=0
    ).fit(ROWS[:300], targets[:300])
    path = model.k_path(ROWS[300:], targets[300:])
    np.testing.assert_array_equal(path.counts, np.arange(1, 61))
    for k in (1, 7, 30, 60):
        refit = ks.KitchenSinkRegressor(
            basis, k, alpha=1e-3 * 60 / k, fit_intercept=intercept, random_state=0
        ).fit(ROWS[:300], targets[:300])
        error = np.mean((refit.predict(ROWS[300:]) - targets[300:]) ** 2)
        assert path.squared_errors[k - 1] == pytest.approx(error, rel=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
def test_weights_of_a_prefix_solve_its_own_equations(intercept):
    model = ks.KitchenSinkRegressor(
        ks.Fourier(gamma=0.05), 50, alpha=1e-3, fit_intercept=intercept, random_state=0
    ).fit(ROWS, VALUES)
    equations = model.moments_.normal_equations(intercept)
    prefixes = Prefixes(equations, 1e-3)
    for k in (1, 20, 50):
        shifted = equations.gram[:k, :k] + 1e-3 * np.eye(k)
        expected = np.linalg.solve(shifted, equations.cross[:k])
        np.testing.assert_allclose(prefixes.weights(k), expected, rtol=1e-8)


def test_a_certificate_bounds_how_far_the_weights_of_a_prefix_are_from_the_optimum():
    rng = np.random.default_rng(0)
    rows, targets, alpha = rng.normal(size=(80, 12)), rng.normal(size=(80, 3)), 0.05
    gram = rows.T @ rows / 80
    equations = NormalEquations(
        weight=80.0,
        mean=np.zeros(12),
        target=np.zeros(3),
        gram=gram,
        cross=rows.T @ targets / 80,
        squares=np.sum(targets**2, axis=0) / 80,
        copies=1.0,
        count=80,
    )
    prefixes = Prefixes(equations, alpha)
    for k in (1, 5, 12):

        def objective(weights, own=rows[:, :k]):
            return np.sum((targets - own @ weights) ** 2) / 80 + alpha * np.sum(weights**2)

        best = np.linalg.solve(gram[:k, :k] + alpha * np.eye(k), equations.cross[:k])
        found, gap = prefixes.certified(prefixes.weights(k))
        assert found == pytest.approx(objective(best), rel=1e-10)
        assert 0 <= gap < 1e-12
        for size in (1e-3, 1.0, 30.0):
            other = best + size * rng.normal(size=best.shape)
            found, gap = prefixes.certified(other)
            assert found == pytest.approx(objective(other), rel=1e-10)
            assert gap >= found - objective(best)
            # Along an eigenvector of the Gram, with eigenvalue λ, it is excess·(λ + α)/α.
            most = 1.0 + np.linalg.eigvalsh(gram[:k, :k])[-1] / alpha
            assert gap <= most * (found - objective(best)) * (1 + 1e-6)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_class_errors_of_prefixes(load):
    X, y = load(return_X_y=True)
    X, Xt, y, yt = X[::2], X[1::2], y[::2], y[1::2]
    basis = ks.Sigmoid(gamma=0.1)
    model = ks.KitchenSinkClassifier(basis, 40, alpha=1e-3, random_state=0).fit(X, y)
    path = model.k_path(Xt, yt)
    for k in (1, 10, 40):
        refit = ks.KitchenSinkClassifier(basis, k, alpha=1e-3 * 40 / k, random_state=0).fit(X, y)
        assert path.class_errors[k - 1] == pytest.approx(1.0 - refit.score(Xt, yt), abs=1e-12)


def test_a_path_of_grids():
    X, y = load_wine(return_X_y=True)
    model = ks.KitchenSinkClassifier(ks.Binning(gamma=0.002), 10, alpha=1e-3, random_state=0)
    model.fit(X, y)
    path = model.k_path(X, y)
    assert len(path.counts) == 10
    assert path.class_errors[-1] == pytest.approx(1.0 - model.score(X, y))


def wave(n_rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n_rows, 2))
    return X, np.sin(6.0 * X[:, 0]) * np.cos(4.0 * X[:, 1]) + 0.05 * rng.normal(size=n_rows)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_auto_grows_until_it_does_not_pay(dtype):
    X, y = wave(1500, 0)
    Xt, yt = wave(1000, 1)
    model = ks.KitchenSinkRegressor(
        ks.Fourier(gamma=2.0), "auto", random_state=0, solver=ks.Solver(dtype=dtype)
    )
    model.fit(X, y)
    path = model.k_path_
    assert path.n_components == model.n_components_ == model.model_.draw.n_components
    assert path.n_components in path.tried
    assert path.tried[0] == 256
    assert path.reason
    assert len(path.counts) == len(path.squared_errors) == path.tried[-1]
    assert path.class_errors is None
    assert np.isfinite(path.squared_errors).all()
    # The curve falls from hopeless to about the noise.
    assert path.squared_errors[0] > 5 * path.squared_errors[-1]
    assert np.mean((model.predict(Xt) - yt) ** 2) < 1.5 * 0.05**2
    # The sums that growth left over are those of a fit at that K.
    alone = ks.KitchenSinkRegressor(
        model.basis_, model.n_components_, random_state=0, solver=ks.Solver(dtype=dtype)
    ).fit(X, y)
    allowed = 1e-6 if dtype == "float64" else 0.03
    assert np.abs(alone.predict(Xt) - model.predict(Xt)).max() < allowed


def test_auto_with_classes_weights_and_other_losses(monkeypatch):
    monkeypatch.setattr("kitchensinks.fitting.growth.MOST_COMPONENTS", 300)
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:300], y[:300]
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    for options in (
        {"class_weight": "balanced"},
        {"loss": "hinge", "alpha": 1e-3},
        {"constraint": ks.L2Ball(2.0)},
        {"basis": ks.Fourier(form="paired"), "fit_intercept": False},
    ):
        model = build(ks.KitchenSinkClassifier, n_components="auto", random_state=0, **options)
        model.fit(X, y, sample_weight=weights)
        path = model.k_path_
        assert path.class_errors.shape == path.counts.shape
        assert path.class_errors[-1] < 0.25
        assert path.class_errors[-1] <= path.class_errors[0]
        assert model.score(X, y) > 0.9


def test_the_curve_is_the_held_out_error_of_refits():
    """At K = 256 the curve is the error on the held-out fifth of a fit on the rest."""
    X, y = wave(600, 0)
    model = ks.KitchenSinkRegressor(
        ks.Fourier(gamma=2.0), "auto", random_state=0, solver=ks.Solver(dtype="float64")
    )
    path = model.fit(X, y).k_path_
    from kitchensinks.tables.keys import hold_out, row_keys

    held = hold_out(row_keys(X, 0), None, 0.2)
    assert held.sum() == 120
    assert len(path.counts) == path.tried[-1]
    best = path.squared_errors[path.tried[-1] - 1]
    # It is the least over the ridges tried: refits on a grid come near it.
    errors = [
        np.mean(
            (
                ks.KitchenSinkRegressor(
                    ks.Fourier(gamma=2.0), path.tried[-1], alpha=alpha, random_state=0
                )
                .fit(X[~held], y[~held])
                .predict(X[held])
                - y[held]
            )
            ** 2
        )
        for alpha in 10.0 ** np.arange(-8.0, 0.0)
    ]
    assert best == pytest.approx(min(errors), rel=0.1)


def test_what_cannot_grow_says_so():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="n_components='auto' needs dense features"):
        ks.KitchenSinkClassifier(ks.Binning(), "auto").fit(X, y)
    with pytest.raises(ValueError, match="too few different ones"):
        ks.KitchenSinkRegressor(ks.Fourier(), n_components="auto").fit([[1.0]], [2.0])
    hinge = ks.KitchenSinkClassifier(ks.Fourier(), n_components=20, loss="hinge", alpha=1e-3).fit(
        X, y
    )
    with pytest.raises(ValueError, match="k_path needs the sums of a squared-loss fit"):
        hinge.k_path(X, y)
