"""Features that coincide are fitted once: the same problem, for every loss it applies to."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.fitting import run
from tests.catalogue import build


def table(n_rows=500):
    """Numbers with ties, two 0/1 columns and a constant one."""
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            np.round(rng.normal(size=(n_rows, 2)), 1),
            rng.random((n_rows, 2)) < 0.3,
            np.ones(n_rows),
        ]
    )
    y = X[:, 0] * (X[:, 2] - 0.5) + 0.3 * rng.normal(size=n_rows)
    return X, y


def both(monkeypatch, model, X, y, weights=None):
    """The model fitted as it is, and with every feature by itself."""
    condensed = model.fit(X, y, sample_weight=weights)
    with monkeypatch.context() as patch:
        patch.setattr(run, "condense", lambda *_: None)
        plain = type(model)(**model.get_params(deep=False)).fit(X, y, sample_weight=weights)
    return condensed, plain


CLASSES = ["squared", "hinge", "squared_hinge", "logistic", "exponential"]
EVERY = [(ks.KitchenSinkClassifier, loss) for loss in CLASSES]
EVERY += [(ks.KitchenSinkRegressor, loss) for loss in ["squared", "huber", "quantile"]]


@pytest.mark.parametrize(("kind", "loss"), EVERY)
@pytest.mark.parametrize(
    ("options", "weighted"),
    [({"alpha": 1e-3}, True), ({"constraint": ks.L2Ball(5.0)}, False)],
    ids=str,
)
def test_the_same_fit(monkeypatch, kind, loss, options, weighted):
    X, y = table()
    y = y if kind is ks.KitchenSinkRegressor else y > 0
    weights = np.random.default_rng(1).integers(0, 3, len(y)) if weighted else None
    model = build(
        kind, ks.Stumps(), 200, loss=loss, tol=1e-7, max_iter=3000, random_state=0, **options
    )
    condensed, plain = both(monkeypatch, model, X, y, weights)
    assert condensed.model_.weights.shape == plain.model_.weights.shape == (200, 1)
    np.testing.assert_allclose(condensed.objective_, plain.objective_, rtol=1e-5)
    if "alpha" in options:  # in a ball alone the minimiser need not be unique
        ours, theirs = condensed.model_.scores(X), plain.model_.scores(X)
        np.testing.assert_allclose(ours, theirs, atol=3e-3 * np.abs(theirs).max())
    if loss == "squared":
        np.testing.assert_allclose(condensed.model_.weights, plain.model_.weights, atol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_same_choice_of_ridge_and_the_same_sums(monkeypatch, fit_intercept):
    X, y = table()
    model = ks.KitchenSinkClassifier(
        ks.Stumps(),
        200,
        solver=ks.Solver(dtype="float64"),
        fit_intercept=fit_intercept,
        random_state=0,
    )
    condensed, plain = both(monkeypatch, model, X, y > 0)
    assert "moments_" not in vars(condensed)
    np.testing.assert_allclose(condensed.alpha_errors_, plain.alpha_errors_, rtol=1e-6)
    np.testing.assert_allclose(condensed.predict_proba(X), plain.predict_proba(X), atol=1e-6)
    ours, theirs = condensed.moments_, plain.moments_.about(condensed.moments_.shift)
    np.testing.assert_allclose(np.tril(ours.gram), np.tril(theirs.gram), atol=1e-9)
    np.testing.assert_allclose(ours.cross, theirs.cross, atol=1e-9)
    more = np.random.default_rng(5).normal(size=(40, 5))
    for one in (condensed, plain):
        one.partial_fit(more, more[:, 0] > 0)
    np.testing.assert_allclose(condensed.model_.weights, plain.model_.weights, atol=1e-7)


def test_a_sup_ball_bounds_every_weight_by_itself(monkeypatch):
    X, y = table()
    model = ks.KitchenSinkRegressor(ks.Stumps(), 200, constraint=ks.SupBall(2.0), random_state=0)
    condensed, plain = both(monkeypatch, model, X, y)
    np.testing.assert_array_equal(condensed.model_.weights, plain.model_.weights)
    assert condensed.alpha_sup_norm_ <= 2.0 / 200 * (1 + 1e-9)


def test_few_rows_and_little_memory_do_not_matter_where_few_features_differ():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 8)) < 0.5).astype(float)
    y = X[:, 0] != X[:, 1]
    for options in ({"n_components": 400}, {"n_components": 2000, "memory_budget": "20MB"}):
        model = build(ks.KitchenSinkClassifier, ks.Stumps(), random_state=0, **options).fit(X, y)
        assert model.solver_.startswith("direct")
        assert len(model.state_.sums.groups.first) <= 10
        # Neither probabilities nor the effective dimension need the sums of all features.
        model.predict_proba(X)
        assert 0.0 < model.effective_dimension_ <= 8.0
        assert "moments" not in vars(model.state_)


def test_threads_may_ask_at_the_same_time():
    X, y = table()
    model = ks.KitchenSinkClassifier(ks.Stumps(), 300, random_state=0).fit(X, y > 0)
    with ThreadPoolExecutor(4) as pool:
        sums = list(pool.map(lambda _: model.moments_.weight, range(8)))
    assert sums == [500.0] * 8
