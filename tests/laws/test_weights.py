"""Laws of weights and of leave-one-out: a common factor changes nothing, copies are weights."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import Ridge, RidgeClassifierCV, RidgeCV

import kitchensinks as ks
from kitchensinks.problem.moments import Moments
from kitchensinks.problem.targets import TargetSizes
from tests.catalogue import build

X, Y = load_diabetes(return_X_y=True)
X_CLASSES, CLASSES = load_breast_cancer(return_X_y=True)
X_CLASSES = (X_CLASSES - X_CLASSES.mean(axis=0)) / X_CLASSES.std(axis=0)
FACTORS = [2.0, 3.0, 1e-3]
ALPHAS = np.logspace(-6, 3, 10)


def fitted(way, kind, rows, targets, weights):
    """A fit with alpha="auto" by one of the ways to give rows."""
    if way == "stacked layers":
        kinds = {
            ks.KitchenSinkRegressor: ks.StackedSinksRegressor,
            ks.KitchenSinkClassifier: ks.StackedSinksClassifier,
        }
        model = kinds[kind](n_components=40, random_state=0)
        return model.fit(rows, targets, sample_weight=weights)
    model = kind(ks.Fourier(), 400 if way == "span" else 60, random_state=0)
    if way in ("features", "span"):
        return model.fit(rows, targets, sample_weight=weights)
    model.freeze(rows, targets, sample_weight=weights)
    for part in range(3):
        model.partial_fit(rows[part::3], targets[part::3], sample_weight=weights[part::3])
    return model


@pytest.mark.parametrize("way", ["features", "span", "batches", "stacked layers"])
@pytest.mark.parametrize("kind", [ks.KitchenSinkRegressor, ks.KitchenSinkClassifier])
@pytest.mark.parametrize("equal", [True, False])
def test_a_factor_of_all_weights_changes_nothing(equal, kind, way):
    numbers = kind is ks.KitchenSinkRegressor
    rows, targets = (X[:300], Y[:300]) if numbers else (X_CLASSES[:300], CLASSES[:300])
    weights = np.ones(300) if equal else np.random.default_rng(0).uniform(0.3, 3.0, 300)
    one = fitted(way, kind, rows, targets, weights)
    for factor in FACTORS:
        other = fitted(way, kind, rows, targets, factor * weights)
        if way != "stacked layers":
            assert other.alpha_ == pytest.approx(one.alpha_, rel=1e-6)
        for method in ["predict"] if numbers else ["decision_function", "predict_proba"]:
            if hasattr(one, method):
                expected, got = getattr(one, method)(rows), getattr(other, method)(rows)
                np.testing.assert_allclose(got, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_those_of_the_rows_with_weight(dtype):
    rng = np.random.default_rng(0)
    features, targets = rng.normal(size=(1000, 3)).astype(dtype), rng.normal(size=(1000, 2))
    weights = np.ones(1000)
    targets[5], weights[5] = 1e20, 0.0
    kept = weights > 0
    moments = Moments.zeros(np.zeros(3), 2)
    got = moments.sums_of(slice(None), features.copy(), targets, weights).cross
    expected = moments.sums_of(kept, features[kept], targets, weights).cross
    np.testing.assert_allclose(got, expected, atol=1e-3 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("fill", [1e20, 9.97e36])
@pytest.mark.parametrize("way", ["features", "batches", "stacked layers"])
def test_targets_without_weight_may_be_fill_values(way, fill):
    targets, weights = Y[:300].copy(), np.ones(300)
    weights[7] = 0.0
    expected = fitted(way, ks.KitchenSinkRegressor, X[:300], targets, weights).predict(X[300:])
    targets[7] = fill
    got = fitted(way, ks.KitchenSinkRegressor, X[:300], targets, weights).predict(X[300:])
    np.testing.assert_allclose(got, expected, rtol=1e-4)


def test_fill_values_are_outside_of_what_a_loss_allows_and_leave_the_mean_alone():
    targets, weights = np.abs(Y[:300]), np.ones(300)
    targets[7], weights[7] = -9999.0, 0.0
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20, loss="poisson", random_state=0)
    assert (model.fit(X[:300], targets, sample_weight=weights).predict(X[300:]) > 0).all()
    sizes = TargetSizes.of(np.array([1e-10, 3e-10, 1e300]), np.array([1.0, 1.0, 0.0]))
    assert sizes.mean == pytest.approx(2e-10)


def test_a_row_without_weight_shifts_no_other_of_a_stream():
    rows, weights = X[:300].copy(), np.ones(300)
    weights[7] = 0.0
    alphas = [1e-3, 1.0]
    expected = ks.StreamingRidgeCV(alphas).fit(rows, Y[:300], sample_weight=weights).coef_
    rows[7] = 1e12
    got = ks.StreamingRidgeCV(alphas).fit(rows, Y[:300], sample_weight=weights).coef_
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("way", ["features", "span", "batches", "stacked layers"])
def test_weights_of_two_predict_as_well_as_none(way):
    weights = np.full(300, 2.0)
    model = fitted(way, ks.KitchenSinkRegressor, X[:300], Y[:300], weights)
    assert model.score(X[300:], Y[300:]) > 0.4


@pytest.mark.parametrize("kind", ["arrays", "blocks", "one-shot", "few rows"])
@pytest.mark.parametrize("factor", [1.0, *FACTORS])
def test_streaming_ridges_agree_with_scikit_learn_for_weights_of_any_size(factor, kind):
    count = 40 if kind == "few rows" else 300
    directions = np.random.default_rng(1).normal(size=(30, 60))
    for ours, theirs, rows, targets in (
        (ks.StreamingRidgeCV, RidgeCV, X[:, np.arange(30) % 10] * 20.0, Y),
        (ks.StreamingRidgeClassifierCV, RidgeClassifierCV, X_CLASSES, CLASSES),
    ):
        rows, targets = np.tanh(rows[:count] @ directions / 5.0), targets[:count]
        weights = np.random.default_rng(0).uniform(0.3, 3.0, count)
        # scikit-learn's alphas are in the units of Σw.
        model = ours(factor * ALPHAS)
        if kind in ("arrays", "few rows"):
            model.fit(rows, targets, sample_weight=factor * weights)
        else:
            parts = (slice(0, 100), slice(100, 300))
            blocks = [(rows[part], targets[part], factor * weights[part]) for part in parts]
            model.fit(iter(blocks) if kind == "one-shot" else blocks)
        peer = theirs(ALPHAS).fit(rows, targets, sample_weight=weights)
        if kind == "one-shot":
            # Generalised cross-validation: the alpha may be the next one.
            assert abs(np.log10(model.alpha_ / (factor * peer.alpha_))) < 1.5
        else:
            assert model.alpha_ == pytest.approx(factor * peer.alpha_)
            np.testing.assert_allclose(model.coef_, np.squeeze(peer.coef_), rtol=1e-4, atol=1e-6)


def test_the_choice_is_that_of_ridge_cv_on_the_same_features():
    weights = np.random.default_rng(0).integers(1, 6, 300).astype(float)
    model = build(ks.KitchenSinkRegressor, n_components=60, dtype="float64", random_state=0)
    model.fit(X[:300], Y[:300], sample_weight=weights)
    features = np.asarray(model.law_.features.features(X))
    peer = RidgeCV(model.alphas_ * weights.sum()).fit(features[:300], Y[:300], weights)
    assert model.alpha_ * weights.sum() == pytest.approx(peer.alpha_)
    np.testing.assert_allclose(model.predict(X), peer.predict(features), rtol=1e-5)


# -- few rows: every error of the path is that of refits, or is not known --------------------


def brute_force(features, targets, alphas):
    """Mean squared errors of rows left out, each by fits of its own to the others."""
    n_rows, errors = len(features), []
    for place in range(n_rows):
        rest = np.arange(n_rows) != place
        middle, level = features[rest].mean(axis=0), targets[rest].mean()
        left, sizes, right = np.linalg.svd(features[rest] - middle, full_matrices=False)
        part, new = left.T @ (targets[rest] - level), right @ (features[place] - middle)
        # The sum of squares has one row less, and the product alpha·Σw is held fixed.
        scores = [level + new @ (sizes / (sizes**2 + alpha * n_rows) * part) for alpha in alphas]
        errors.append(targets[place] - np.array(scores))
    return np.mean(np.square(errors), axis=0)


def test_the_fits_of_each_row_left_out_are_those_of_scikit_learn():
    features, targets = np.tanh(X[:25] @ np.random.default_rng(0).normal(size=(10, 40))), Y[:25]
    errors = []
    for place in range(25):
        rest = np.arange(25) != place
        model = Ridge(25 * 1e-3, solver="svd").fit(features[rest], targets[rest])
        errors.append(targets[place] - model.predict(features[place : place + 1])[0])
    expected = np.mean(np.square(errors))
    assert brute_force(features, targets, [1.0, 1e-3])[1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n_components", [15, 24, 200])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("draw", range(3))
def test_leave_one_out_is_exact_for_few_rows_or_not_known(draw, dtype, n_components):
    rng = np.random.default_rng(draw)
    rows = rng.normal(size=(25, 10))
    targets = rows[:, 0] + rng.normal(size=25)
    model = build(ks.KitchenSinkRegressor, n_components=n_components, dtype=dtype, random_state=0)
    model.fit(rows, targets)
    features = np.asarray(model.law_.features.features(rows), dtype=np.float64)
    direct = brute_force(features, targets, model.alphas_)
    known = np.isfinite(model.alpha_errors_[:, 0])
    assert known.sum() >= 5
    tolerance = 1e-3 if dtype == "float64" else 3e-2
    np.testing.assert_allclose(model.alpha_errors_[known, 0], direct[known], rtol=tolerance)
    assert direct[np.flatnonzero(model.alphas_ == model.alpha_)[0]] <= 1.01 * direct[known].min()
    # What is not known is not where the best is.
    assert direct.min() >= 0.98 * direct[known].min()
