"""Labels, class weights, probabilities."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kitchensinks as ks
from tests.catalogue import build

LOSSES = ["squared", "hinge", "squared_hinge", "logistic", "exponential"]
CANCER = load_breast_cancer(return_X_y=True)


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize(
    "names",
    [
        ["no", "yes"],
        [False, True],
        [-7, 3],
        [1.0, 2.0],
        np.array(["a", "b"], dtype=object),
        np.array([10, 20], dtype=np.uint8),
        ["x", "y", "z"],
        [-1, 0, 1],
    ],
    ids=str,
)
@pytest.mark.parametrize("loss", ["squared", "hinge", "logistic"])
def test_labels_of_any_kind(names, loss):
    X, y = load_wine(return_X_y=True)
    X, y = X[y < len(names)], y[y < len(names)]
    labels = np.asarray(names)[y]
    model = ks.KitchenSinkClassifier(
        ks.Fourier(), n_components=40, loss=loss, alpha=1e-3, random_state=0
    )
    model.fit(X, labels)
    assert model.classes_.tolist() == list(names)
    assert model.classes_.dtype == labels.dtype
    assert model.predict(X).dtype == labels.dtype
    assert model.score(X, labels) > 0.95
    assert model.predict_proba(X).shape == (len(X), len(names))
    numbers = ks.KitchenSinkClassifier(
        ks.Fourier(), n_components=40, loss=loss, alpha=1e-3, random_state=0
    )
    numbers.fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), numbers.decision_function(X))


@pytest.mark.parametrize("loss", LOSSES)
def test_balanced_classes_are_weights(loss):
    X, y = CANCER
    rows = np.append(np.flatnonzero(y == 0)[:40], np.flatnonzero(y == 1))
    X, y = X[rows], y[rows]
    options = {"n_components": 20, "loss": loss, "alpha": 1e-2, "tol": 1e-6, "max_iter": 3000}
    options |= {"random_state": 0}
    factors = len(y) / (2.0 * np.bincount(y))
    balanced = build(ks.KitchenSinkClassifier, class_weight="balanced", **options).fit(X, y)
    named = build(ks.KitchenSinkClassifier, class_weight=dict(enumerate(factors)), **options).fit(
        X, y
    )
    weights = build(ks.KitchenSinkClassifier, **options).fit(X, y, sample_weight=factors[y])
    for other in (named, weights):
        np.testing.assert_allclose(
            balanced.decision_function(X), other.decision_function(X), atol=1e-3
        )
    plain = build(ks.KitchenSinkClassifier, **options).fit(X, y)
    assert balanced.score(X[y == 0], y[y == 0]) >= plain.score(X[y == 0], y[y == 0])


def known_chances(n_rows, n_classes, seed):
    """Rows whose classes have known probabilities."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n_rows, 2))
    if n_classes == 2:
        chance = 1.0 / (1.0 + np.exp(-2.5 * np.sin(3.0 * X[:, 0]) - X[:, 1]))
        chance = np.column_stack([1.0 - chance, chance])
    else:
        logits = 2.0 * np.column_stack([np.sin(3.0 * X[:, 0]), X[:, 1], np.zeros(n_rows)])
        chance = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (rng.random((n_rows, 1)) > np.cumsum(chance, axis=1)).sum(axis=1)
    return X, y, chance


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("constraint", [None, ks.L2Ball(3.0)], ids=["ridge", "ball"])
@pytest.mark.parametrize("loss", LOSSES)
def test_probabilities_are_near_the_true_ones(loss, constraint, n_classes):
    X, y, _ = known_chances(1500, n_classes, 0)
    Xt, yt, chance = known_chances(3000, n_classes, 1)
    model = ks.KitchenSinkClassifier(
        ks.Fourier(), n_components=60, loss=loss, alpha=3e-4, constraint=constraint, random_state=0
    ).fit(X, y)
    found = model.predict_proba(Xt)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (model.classes_[found.argmax(axis=1)] == model.predict(Xt)).all()
    np.testing.assert_allclose(np.exp(model.predict_log_proba(Xt)), found)
    # How far from the truth, against predicting the share of each class.
    constant = np.bincount(y) / len(y)
    # Hinge scores do not tell probabilities apart (they flatten at ±1): half of the way is fair.
    allowed = 0.5 if loss == "hinge" else 0.25
    assert np.mean((found - chance) ** 2) < allowed * np.mean((constant - chance) ** 2)
    if n_classes == 2:
        shown, said = calibration_curve(yt, found[:, 1], n_bins=5)
        assert np.abs(shown - said).max() < 0.12
    assert log_loss(yt, found) < log_loss(yt, np.tile(constant, (3000, 1))) - 0.1


@pytest.mark.parametrize("loss", LOSSES)
def test_brier_score_on_real_rows(loss):
    X, y = CANCER
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=200, loss=loss, random_state=0)
    model.fit(X[::2], y[::2])
    chance = model.predict_proba(X[1::2])[:, 1]
    assert brier_score_loss(y[1::2], chance) < 0.05
    assert log_loss(y[1::2], chance) < 0.2


def test_in_searches_and_pipelines():
    X, y = load_iris(return_X_y=True)
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=50, random_state=0)
    grid = {"classifier__basis__gamma": [0.01, 0.3], "classifier__loss": ["squared", "hinge"]}
    search = GridSearchCV(
        make_pipeline(StandardScaler(), model).set_params(
            steps=[("scale", StandardScaler()), ("classifier", model)]
        ),
        grid,
        cv=3,
    )
    assert search.fit(X, y).best_score_ > 0.9
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9


def test_threads_are_put_back():
    from threadpoolctl import threadpool_info

    before = [pool["num_threads"] for pool in threadpool_info()]
    X, y = CANCER
    for n_jobs in (1, -1, -2, 64):
        model = ks.KitchenSinkClassifier(
            ks.Fourier(), n_components=10, n_jobs=n_jobs, random_state=0
        ).fit(X, y)
        model.predict(X)
    assert before == [pool["num_threads"] for pool in threadpool_info()]


def test_verbose_tells_what_goes_on():
    X, y = CANCER
    for options in ({}, {"loss": "hinge"}, {"n_components": "auto"}, {"solver": "stochastic"}):
        options = {"n_components": 20, "random_state": 0, "max_iter": 3, "tol": 0.5, **options}
        told = []
        model = build(ks.KitchenSinkClassifier, **options)
        model.fit(X, y, verbose=lambda text, done, total, told=told: told.append(text))
        assert len(told) >= 2
