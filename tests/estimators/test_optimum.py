"""Every loss with every penalty and ball, through the estimators, against an independent solver.

The problem is written out from the documentation: features φ of the fitted draw, f = b + Σ β φ/√K,
Σw·loss/Σw + alpha·‖β‖², |α_k| ≤ C/K on features divided by their bound, Σc² ≤ R² on raw features.
"""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.svm import LinearSVC

import kitchensinks as ks
from kitchensinks.problem.losses import Huber, Quantile
from tests.problems import least_objective

K = 25
PENALTIES = {
    "ridge": {"alpha": 1e-3},
    "box": {"constraint": ks.SupBall(8.0)},
    "ball": {"constraint": ks.L2Ball(0.6)},
    "ridge+box": {"alpha": 1e-3, "constraint": ks.SupBall(8.0)},
}
CLASSIFIERS = ["squared", "hinge", "squared_hinge", "logistic", "exponential"]
REGRESSORS = {"squared": "squared", "huber": Huber(40.0), "quantile": Quantile(0.8)}


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:150], y[:150]


def raw_features(model, X):
    """φ(x; θ_k), unscaled, in float64."""
    rows = (X - model.scaler_.mean) / model.scaler_.scale
    return np.asarray(model.model_.draw.astype(np.float64).features(rows))


def optimum(model, X, targets, weights):
    """The least objective, by an interior-point method; targets in units of one."""
    size = len(model.model_.weights)
    # The weights are the coefficients c of the raw features: β = c·√K.
    ball, factor = model.constraint, 1.0
    if isinstance(ball, ks.SupBall):
        factor = size * model.model_.draw.bound
    shares, alpha = weights / weights.sum(), model.alpha_ * size
    given = raw_features(model, X), model.loss_, targets, shares, alpha
    return least_objective(*given, ball, model.fit_intercept, factor)


def reached(model, X, targets, weights):
    """The objective at the fitted weights, from predictions alone."""
    scores = model.model_.scores(X)
    shares = weights / weights.sum()
    values = model.loss_.value(targets, scores)
    return float(np.sum(shares @ values) + model.alpha_ * np.sum(model.model_.weights**2))


def check(model, X, targets, weights):
    least = optimum(model, X, targets, weights)
    got = reached(model, X, targets, weights)
    assert model.converged_
    assert got == pytest.approx(model.objective_, rel=1e-6, abs=1e-12)
    assert abs(got - least) <= 1e-4 * abs(least) + 1e-9
    # The gap bounds the distance, up to what the conic solver itself is off by.
    assert got - least <= model.gap_ + 1e-6 * abs(least) + 1e-9
    raw = model.model_.weights * model.model_.draw.scale
    if isinstance(model.constraint, ks.SupBall):
        assert model.alpha_sup_norm_ <= model.constraint.radius / K * (1 + 1e-9)
        assert model.alpha_sup_norm_ == pytest.approx(model.model_.draw.bound * np.abs(raw).max())
    if isinstance(model.constraint, ks.L2Ball):
        assert (np.linalg.norm(raw, axis=0) <= model.constraint.radius * (1 + 1e-9)).all()


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", CLASSIFIERS)
def test_two_classes(loss, penalty, intercept):
    X, y = cancer()
    weights = np.random.default_rng(0).uniform(0.0, 2.0, len(y)) * (np.arange(len(y)) % 7 > 0)
    model = ks.KitchenSinkClassifier(
        ks.Fourier(gamma=0.02),
        K,
        loss,
        fit_intercept=intercept,
        random_state=0,
        solver=ks.Solver(tol=5e-5, max_iter=2000),
        **PENALTIES[penalty],
    ).fit(X, y, sample_weight=weights)
    check(model, X, 2.0 * y[:, None] - 1.0, weights)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", CLASSIFIERS)
def test_several_classes(loss, penalty):
    X, y = load_wine(return_X_y=True)
    X, y = X[::2], y[::2]
    model = ks.KitchenSinkClassifier(
        ks.Sigmoid(gamma=0.1),
        K,
        loss,
        random_state=1,
        solver=ks.Solver(tol=5e-5, max_iter=4000),
        **PENALTIES[penalty],
    ).fit(X, y)
    hot = np.eye(3)[y]
    targets = hot if loss == "logistic" else 2.0 * hot - 1.0
    check(model, X, targets, np.ones(len(y)))


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", REGRESSORS)
def test_regression_in_the_units_of_its_targets(loss, penalty, intercept):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:150], y[:150]
    both = np.column_stack([y, 300.0 - y[::-1]])
    options = dict(PENALTIES[penalty])
    if "constraint" in options:
        options["constraint"] = ks.SupBall(2e3) if "box" in penalty else ks.L2Ball(150.0)
    model = ks.KitchenSinkRegressor(
        ks.Fourier(gamma=0.02),
        K,
        REGRESSORS[loss],
        fit_intercept=intercept,
        random_state=0,
        solver=ks.Solver(tol=5e-5, max_iter=2000),
        **options,
    ).fit(X, both)
    check(model, X, both, np.ones(len(y)))


def test_fewer_rows_than_features():
    X, y = cancer()
    X, y = X[::4], y[::4]
    for loss in CLASSIFIERS:
        for penalty in ({"alpha": 1e-2}, {"constraint": ks.L2Ball(0.3)}):
            model = ks.KitchenSinkClassifier(
                ks.Fourier(gamma=0.02),
                80,
                loss,
                random_state=0,
                solver=ks.Solver(tol=5e-5, max_iter=2000),
                **penalty,
            ).fit(X, y)
            check(model, X, 2.0 * y[:, None] - 1.0, np.ones(len(y)))


def scaled_features(model, X):
    return raw_features(model, X) * model.model_.draw.scale


def test_logistic_regression_of_scikit_learn():
    for (X, y), alpha in ((cancer(), 1e-3), (load_wine(return_X_y=True), 1e-3)):
        model = ks.KitchenSinkClassifier(
            ks.Fourier(),
            n_components=K,
            loss="logistic",
            alpha=alpha,
            solver=ks.Solver(tol=1e-7),
            random_state=0,
        ).fit(X, y)
        peer = LogisticRegression(C=1.0 / (2.0 * alpha * len(y)), tol=1e-8, max_iter=10000)
        peer.fit(scaled_features(model, X), y)
        chance = peer.predict_proba(scaled_features(model, X))
        np.testing.assert_allclose(model.predict_proba(X), chance, atol=2e-3)


def test_ridge_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
    for alpha in (1e-6, 1e-2):
        model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=K, alpha=alpha, random_state=0)
        model.fit(X, y, sample_weight=weights)
        features = scaled_features(model, X)
        peer = Ridge(alpha * weights.sum()).fit(features, y, sample_weight=weights)
        np.testing.assert_allclose(model.predict(X), peer.predict(features), rtol=1e-8)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 3.0, 2: 0.5}])
def test_ridge_classifier_of_scikit_learn(class_weight):
    X, y = load_wine(return_X_y=True)
    alpha = 1e-3
    model = ks.KitchenSinkClassifier(
        n_components=K,
        alpha=alpha,
        class_weight=class_weight,
        standardize=False,
        basis=ks.Fourier(gamma=1e-5),
        random_state=0,
    ).fit(X, y)
    features = model.model_.draw.scaled_features(X)
    count = {None: np.ones(3), "balanced": len(y) / (3 * np.bincount(y))}.get(
        class_weight if not isinstance(class_weight, dict) else 0, np.array([1.0, 3.0, 0.5])
    )
    peer = RidgeClassifier(alpha * count[y].sum(), class_weight=class_weight).fit(features, y)
    np.testing.assert_allclose(
        model.decision_function(X), peer.decision_function(features), rtol=1e-6, atol=1e-9
    )
    assert (model.predict(X) == peer.predict(features)).all()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_svc_of_scikit_learn(loss):
    X, y = cancer()
    alpha = 1e-2
    model = ks.KitchenSinkClassifier(
        ks.Fourier(),
        n_components=K,
        loss=loss,
        alpha=alpha,
        fit_intercept=False,
        solver=ks.Solver(tol=1e-6, max_iter=5000),
        random_state=0,
    ).fit(X, y)
    peer = LinearSVC(
        C=1.0 / (2.0 * alpha * len(y)), loss=loss, fit_intercept=False, tol=1e-8, max_iter=100000
    ).fit(scaled_features(model, X), y)
    np.testing.assert_allclose(
        model.decision_function(X), peer.decision_function(scaled_features(model, X)), atol=5e-3
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_ball_that_hardly_binds_stops_no_hinge_fit(dtype):
    """Rounding of float32 products, and a bound that is a straight line, are no errors."""
    rows, labels = ks.datasets.make_sine(300, random_state=0)
    for gamma in (0.05, 0.3, 3.0):
        model = ks.KitchenSinkClassifier(
            ks.Fourier(gamma=gamma),
            20,
            loss="hinge",
            constraint=ks.L2Ball(1000.0),
            standardize=False,
            random_state=0,
            solver=ks.Solver(dtype=dtype),
        ).fit(rows, labels)
        assert 0.0 <= model.gap_ <= 1e-3 * model.objective_ + 1e-12
