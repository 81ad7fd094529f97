"""Leave-one-out, generalised cross-validation and the choice of the ridge, by refitting."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import kitchensinks as ks
from kitchensinks.solvers.path import alpha_grid
from tests.catalogue import build

ROWS, VALUES = load_diabetes(return_X_y=True)
ROWS, VALUES = ROWS[:60], VALUES[:60]


def features_of(model, X):
    return np.asarray(model.law_.features.features(X))


def ridge(features, targets, weights, penalty, intercept):
    """argmin Σw(y − zβ − b)² + penalty·‖β‖², by least squares on stacked rows."""
    n_rows, size = features.shape
    root = np.sqrt(weights)[:, None]
    ones = np.full((n_rows, 1), float(intercept))
    top = root * np.hstack([features, ones])
    bottom = np.hstack([np.sqrt(penalty) * np.eye(size), np.zeros((size, 1))])
    right = np.vstack([root * targets, np.zeros((size, targets.shape[1]))])
    return np.linalg.lstsq(np.vstack([top, bottom]), right, rcond=None)[0]


def leave_one_out(model, X, targets, weights, alpha):
    """Σw·e²/Σw where e_i is the error without row i; everything else is frozen."""
    features = features_of(model, X)
    total, errors = weights.sum(), np.zeros(targets.shape[1])
    for i in range(len(X)):
        rest = weights.copy()
        rest[i] = 0.0
        found = ridge(features, targets, rest, alpha * total, model.fit_intercept)
        score = np.append(features[i], float(model.fit_intercept)) @ found
        errors += weights[i] * (targets[i] - score) ** 2
    return errors / total


WEIGHTS = {
    "none": None,
    "whole": np.random.default_rng(0).integers(0, 4, 60).astype(float),
    "fractions": np.random.default_rng(1).uniform(0.0, 2.0, 60),
}


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_components", [20, 90])
@pytest.mark.parametrize("kind", WEIGHTS)
def test_the_path_is_leave_one_out_by_refitting(kind, n_components, intercept):
    weights = WEIGHTS[kind]
    targets = np.column_stack([VALUES, ROWS[:, 2] * 1000.0 + VALUES[::-1]])
    model = ks.KitchenSinkRegressor(
        ks.Fourier(),
        n_components=n_components,
        fit_intercept=intercept,
        solver=ks.Solver(dtype="float64"),
        random_state=0,
    ).fit(ROWS, targets, sample_weight=weights)
    own = np.ones(60) if weights is None else weights
    for place in (4, 9, 14):
        alpha = model.alphas_[place]
        direct = leave_one_out(model, ROWS, targets, own, alpha)
        np.testing.assert_allclose(model.alpha_errors_[place], direct, rtol=1e-6)


def test_the_choice_is_the_least_error_summed_over_scaled_outputs():
    targets = np.column_stack([VALUES, 1e4 * ROWS[:, 3]])
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=30, random_state=0).fit(
        ROWS, targets
    )
    spread = targets.var(axis=0)
    assert model.alpha_ == model.alphas_[np.argmin((model.alpha_errors_ / spread).mean(axis=1))]
    fixed = ks.KitchenSinkRegressor(
        ks.Fourier(), n_components=30, random_state=0, alpha=model.alpha_
    )
    np.testing.assert_allclose(fixed.fit(ROWS, targets).predict(ROWS), model.predict(ROWS))


@pytest.mark.parametrize("class_weight", [None, {0: 3.0, 1: 0.25, 2: 1.0}, "balanced"])
def test_class_weights_leave_rows_out_whole(class_weight):
    X, y = load_wine(return_X_y=True)
    X, y = X[::3], y[::3]
    copies = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
    model = ks.KitchenSinkClassifier(
        ks.Fourier(),
        n_components=15,
        class_weight=class_weight,
        solver=ks.Solver(dtype="float64"),
        random_state=0,
    ).fit(X, y, sample_weight=copies)
    one = np.ones(3) if model.state_.targets.factors is None else model.state_.targets.factors
    targets = 2.0 * np.eye(3)[y] - 1.0
    for place in (6, 12):
        alpha = model.alphas_[place]
        direct = leave_one_out(model, X, targets, copies * one[y], alpha)
        np.testing.assert_allclose(model.alpha_errors_[place], direct, rtol=1e-6)


@pytest.mark.parametrize("n_components", [20, 150])
def test_stacking_rows_is_doubling_weights(n_components):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:70], y[:70]
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=n_components, random_state=0)
    twice = ks.KitchenSinkClassifier(ks.Fourier(), n_components=n_components, random_state=0)
    twice.fit(np.vstack([X, X]), np.append(y, y))
    model.fit(X, y, sample_weight=np.full(70, 2.0))
    np.testing.assert_allclose(model.alpha_errors_, twice.alpha_errors_, rtol=1e-6)
    assert model.alpha_ == pytest.approx(twice.alpha_)
    np.testing.assert_allclose(model.predict_proba(X), twice.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("class_weight", [None, {0: 8.0, 1: 2.0}])
@pytest.mark.parametrize("intercept", [True, False])
def test_generalised_cross_validation(intercept, class_weight):
    """n·RSS/(n − tr H)², with H computed row by row; Golub, Heath and Wahba (1979)."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:90], y[:90]
    model = ks.KitchenSinkClassifier(
        ks.Fourier(),
        n_components=25,
        fit_intercept=intercept,
        class_weight=class_weight,
        solver=ks.Solver(dtype="float64"),
        random_state=0,
    )
    model.freeze(X, y).partial_fit(X, y)
    # Where no rows are remembered, as where the sums of several machines were merged.
    model.state_ = replace(model.state_, sample=None)
    weights = np.ones(90) if class_weight is None else np.array([8.0, 2.0])[y]
    features = features_of(model, X)
    if intercept:
        features = features - np.average(features, axis=0, weights=weights)
    targets = 2.0 * y - 1.0
    targets = targets - intercept * np.average(targets, weights=weights)
    for place in (8, 14):
        alpha = model.alphas_[place]
        root = np.sqrt(weights / weights.sum())
        z = root[:, None] * features
        hat = z @ np.linalg.solve(z.T @ z + alpha * np.eye(25), z.T)
        residual = root * targets - hat @ (root * targets)
        direct = residual @ residual / (1.0 - (np.trace(hat) + intercept) / 90) ** 2
        assert model.alpha_errors_[place, 0] == pytest.approx(direct, rel=1e-8)
    assert model.alpha_ == model.alphas_[np.argmin(model.alpha_errors_)]


def test_facts_of_the_gram():
    for options in ({"alpha": 1e-4}, {"alpha": "auto"}, {"alpha": 0.0}):
        model = build(ks.KitchenSinkRegressor, n_components=20, random_state=0, **options)
        model.fit(ROWS, VALUES)
        z = features_of(model, ROWS)
        values = np.linalg.eigvalsh(np.cov(z.T, bias=True))
        spectrum = values + model.alpha_
        assert model.effective_dimension_ == pytest.approx(np.sum(values / spectrum), rel=1e-6)
        # One-norm estimate for Cholesky: within the usual factor.
        ratio = model.condition_number_ / (spectrum[-1] / spectrum[0])
        assert 0.9 < ratio < 20.0


def test_a_ridge_below_the_noise_of_a_float32_gram_warns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=50, alpha=1e-12, random_state=0)
    with pytest.warns(UserWarning, match="rounding error of the Gram"):
        model.fit(X, X[:, 0])
    assert model.alpha_ < model.gram_noise_


def test_the_grid_covers_ten_powers_of_ten():
    grid = alpha_grid(2.0)
    assert grid[-1] / grid[0] == pytest.approx(1e10)
