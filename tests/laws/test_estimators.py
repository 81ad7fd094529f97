"""Laws over every loss: order and copies of rows, weights, units of the targets, hard cases."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning

import kitchensinks as ks
from tests.catalogue import build

CLASSIFIERS = ["squared", "hinge", "squared_hinge", "logistic", "exponential"]
REGRESSORS = ["squared", "huber", "quantile"]
DEVIANCES = ["poisson", "gamma", "tweedie"]
ALL = [*((ks.KitchenSinkClassifier, loss) for loss in CLASSIFIERS)]
ALL += [(ks.KitchenSinkRegressor, loss) for loss in [*REGRESSORS, *DEVIANCES]]
EVERY = pytest.mark.parametrize(("kind", "loss"), ALL, ids=lambda v: getattr(v, "__name__", v))


def data(kind, n_rows=90):
    load = load_breast_cancer if kind is ks.KitchenSinkClassifier else load_diabetes
    X, y = load(return_X_y=True)
    return X[:n_rows], y[:n_rows]


def estimator(kind, loss, **options):
    options = {"n_components": 25, "alpha": 1e-2, "random_state": 0, "tol": 1e-8, **options}
    return build(kind, loss=loss, max_iter=5000, **options)


def scores(model, X):
    return model.model_.scores(np.asarray(X, dtype=np.float64))


def same(model, other, X, rel=1e-5):
    mine, theirs = scores(model, X), scores(other, X)
    np.testing.assert_allclose(mine, theirs, atol=rel * max(1e-300, np.abs(theirs).max()), rtol=0)


@EVERY
@pytest.mark.parametrize("alpha", [1e-2, "auto"])
def test_the_order_of_rows_does_not_matter(kind, loss, alpha):
    X, y = data(kind)
    order = np.random.default_rng(0).permutation(len(y))
    model = estimator(kind, loss, alpha=alpha).fit(X, y)
    other = estimator(kind, loss, alpha=alpha).fit(X[order], y[order])
    same(model, other, X)
    if kind is ks.KitchenSinkClassifier:
        np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-4)


@EVERY
@pytest.mark.parametrize("alpha", [1e-2, "auto"])
def test_copies_of_rows_are_weights(kind, loss, alpha):
    X, y = data(kind)
    copies = np.random.default_rng(0).integers(0, 3, len(y))
    model = estimator(kind, loss, alpha=alpha).fit(X, y, sample_weight=copies.astype(float))
    other = estimator(kind, loss, alpha=alpha)
    other.fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    same(model, other, X)
    if kind is ks.KitchenSinkClassifier:
        np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-4)


@EVERY
def test_copies_of_rows_are_weights_beyond_the_sample_that_sets_gamma(kind, loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 2))
    y = 1.0 + (X[:, 0] + X[:, 1] ** 2 > 1)
    model = estimator(kind, loss, n_components=10).fit(X, y, sample_weight=np.full(2500, 2.0))
    other = estimator(kind, loss, n_components=10).fit(
        np.vstack([X, X])[::-1], np.append(y, y)[::-1]
    )
    assert model.basis_.gamma == pytest.approx(other.basis_.gamma, rel=1e-12)
    same(model, other, X)


@EVERY
def test_rows_without_weight_are_no_rows(kind, loss):
    X, y = data(kind)
    weights = np.ones(len(y))
    weights[::5] = 0.0
    wild = X.copy()
    wild[::5] *= 100.0
    same(
        estimator(kind, loss).fit(wild, y, sample_weight=weights),
        estimator(kind, loss).fit(X[weights > 0], y[weights > 0]),
        X,
    )


@EVERY
def test_weights_of_any_size(kind, loss):
    X, y = data(kind)
    own = np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    model = estimator(kind, loss).fit(X, y, sample_weight=own)
    for size in (1e-200, 1e200):
        same(estimator(kind, loss).fit(X, y, sample_weight=size * own), model, X)
    for size in (1e-60, 1e60):
        narrow = estimator(kind, loss, dtype="float32", tol=1e-4)
        same(narrow.fit(X, y, sample_weight=size * own), model, X, 3e-2)


@pytest.mark.parametrize("loss", REGRESSORS)
@pytest.mark.parametrize("size", [-3.0, 1e-5, 1e6, 1e300, 1e-300])
def test_predictions_scale_with_the_targets(loss, size):
    X, y = data(ks.KitchenSinkRegressor)
    y = y / np.abs(y).max()
    # The quantile loss is of degree one: its ridge scales against it. A negative size turns the
    # median into itself.
    alpha = 1e-2 / abs(size) if loss == "quantile" else 1e-2
    if not 1e-300 < alpha < 1e300:
        alpha = "auto"
    start = estimator(ks.KitchenSinkRegressor, loss, alpha="auto" if alpha == "auto" else 1e-2)
    model = estimator(ks.KitchenSinkRegressor, loss, alpha=alpha)
    expected, got = start.fit(X, y).predict(X), model.fit(X, size * y).predict(X)
    # Ridge and level of a quantile are found by rough fits.
    close = 3e-2 if loss == "quantile" and alpha == "auto" else 1e-4
    np.testing.assert_allclose(got / size, expected, atol=close * np.abs(expected).max())
    assert np.isfinite(got).all()
    assert np.isfinite(model.alpha_)
    if loss == "squared":
        _, deviation = model.predict(X, return_std=True)
        assert (deviation > 0).all()
        assert np.isfinite(deviation).all()
        np.testing.assert_allclose(deviation / abs(size), start.predict(X, return_std=True)[1])
        for alpha in (1e-3, "auto"):
            narrow = ks.KitchenSinkRegressor(
                ks.Fourier(), n_components=20, solver=ks.Solver(dtype="float32"), alpha=alpha
            )
            assert np.isfinite(narrow.fit(X, size * y).predict(X)).all()


@pytest.mark.parametrize("loss", DEVIANCES)
@pytest.mark.parametrize("size", [1e-5, 3.0, 1e6, 1e200])
def test_means_scale_with_the_targets(loss, size):
    """The deviance of targets s·y is s**degree times that of y, and so is its ridge."""
    X, y = data(ks.KitchenSinkRegressor)
    start = estimator(ks.KitchenSinkRegressor, loss).fit(X, y)
    alpha = 1e-2 * size**start.loss_.degree
    model = estimator(ks.KitchenSinkRegressor, loss, alpha=alpha).fit(X, size * y)
    np.testing.assert_allclose(model.predict(X) / size, start.predict(X), rtol=1e-4)
    assert model.alpha_ == pytest.approx(alpha)
    assert model.objective_ == pytest.approx(start.objective_ * alpha / 1e-2, rel=1e-6)
    chosen = [
        estimator(ks.KitchenSinkRegressor, loss, alpha="auto", tol=1e-5).fit(X, s * y)
        for s in (1.0, size)
    ]
    np.testing.assert_allclose(chosen[1].predict(X) / size, chosen[0].predict(X), rtol=1e-2)


@pytest.mark.parametrize("loss", REGRESSORS)
def test_a_constant_added_to_the_targets_is_added_to_the_predictions(loss):
    X, y = data(ks.KitchenSinkRegressor)
    loss = {"huber": ks.losses.Huber(50.0)}.get(loss, loss)
    model = estimator(ks.KitchenSinkRegressor, loss).fit(X, y)
    other = estimator(ks.KitchenSinkRegressor, loss).fit(X, y + 1000.0)
    np.testing.assert_allclose(other.predict(X) - 1000.0, model.predict(X), atol=0.02)


EQUAL = [(loss, value) for loss in REGRESSORS for value in (0.0, 7.0, 1e300, -1e-300)]
EQUAL += [(loss, value) for loss in DEVIANCES for value in (7.0, 1e300, 1e-300)]


@pytest.mark.parametrize(("loss", "value"), EQUAL)
@pytest.mark.parametrize("alpha", [1e-2, "auto", 0.0])
def test_equal_targets_are_predicted(loss, alpha, value):
    X, _ = data(ks.KitchenSinkRegressor)
    model = ks.KitchenSinkRegressor(
        ks.Fourier(), n_components=25, loss=loss, alpha=alpha, random_state=0
    )
    model.fit(X, np.full(len(X), value))
    np.testing.assert_allclose(model.predict(2.0 * X), value, rtol=1e-6)


def hard_rows(case, kind):
    X, y = data(kind)
    if case == "duplicated columns":
        return np.hstack([X, X, X[:, :1]]), y
    if case == "constant columns":
        return np.hstack([X[:, :3], np.ones((len(X), 2)), np.full((len(X), 1), 1e9)]), y
    if case == "all columns constant":
        return np.ones((len(X), 3)), y
    if case == "duplicated rows":
        return np.repeat(X[:9], 10, axis=0), np.repeat(y[[0, 19, 20, 21, 22, 46, 47, 48, 49]], 10)
    if case == "two rows":
        return X[[0, 19]], y[[0, 19]]
    if case == "three rows":
        return X[[0, 19, 20]], y[[0, 19, 20]]
    return X[:, :1] * 1e100, y


# Every pair of a number of features (fewer and more than rows), a precision and a ridge.
SETTINGS = [(12, None, 1e-2), (150, None, "auto"), (12, "float32", "auto"), (150, "float32", 1e-2)]


@EVERY
@pytest.mark.parametrize(
    "case",
    [
        "duplicated columns",
        "constant columns",
        "all columns constant",
        "duplicated rows",
        "two rows",
        "three rows",
        "large entries",
    ],
)
def test_hard_rows(case, kind, loss):
    X, y = hard_rows(case, kind)
    for n_components, dtype, alpha in SETTINGS:
        model = build(
            kind, n_components=n_components, loss=loss, alpha=alpha, dtype=dtype, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        assert np.isfinite(scores(model, X)).all()
        assert np.isfinite(model.alpha_sup_norm_)
        if kind is ks.KitchenSinkClassifier:
            chance = model.predict_proba(X)
            np.testing.assert_allclose(chance.sum(axis=1), 1.0)
            assert (model.classes_[chance.argmax(axis=1)] == model.predict(X)).all()


def test_few_equal_rows_cannot_be_held_out():
    X = np.ones((4, 2))
    with pytest.raises(ValueError, match="too few different ones among these 4"):
        build(ks.KitchenSinkRegressor, loss="huber").fit(X, [1.0, 2.0, 3.0, 4.0])
    model = build(ks.KitchenSinkClassifier, loss="hinge", alpha=0.01).fit(X, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="too few rows to calibrate"):
        model.predict_proba(X)


@pytest.mark.parametrize("loss", [*REGRESSORS, *DEVIANCES])
def test_one_row(loss):
    model = ks.KitchenSinkRegressor(
        ks.Fourier(), n_components=10, loss=loss, alpha=1e-3, random_state=0
    )
    model.fit([[1.0, 2.0]], [5.0])
    np.testing.assert_allclose(model.predict([[1.0, 2.0], [3.0, 4.0]]), 5.0, rtol=1e-6)
    if loss == "squared":
        assert np.isfinite(model.predict([[1.0, 2.0]], return_std=True)[1]).all()
        model.set_params(alpha="auto").fit([[1.0, 2.0]], [5.0])
        np.testing.assert_allclose(model.predict([[3.0, 4.0]]), 5.0)


@EVERY
def test_sparse_rows_are_dense_rows(kind, loss):
    X, y = data(kind)
    X = np.where(np.median(X, axis=0) < X, X, 0.0)
    forms = itertools.cycle([sparse.csr_matrix, sparse.csr_array, sparse.csc_array])
    bases = (None, ks.ReLU(), ks.Stumps("quantile"), ks.Binning())
    # Half of the losses standardize for each basis.
    first = ALL.index((kind, loss)) % 2
    for place, (basis, kinds) in enumerate(zip(bases, forms, strict=False)):
        options = {"basis": basis, "standardize": (place + first) % 2 == 0, "tol": 1e-3}
        model = estimator(kind, loss, **options).fit(X, y)
        other = estimator(kind, loss, **options).fit(kinds(X), y)
        got, size = other.model_.scores(sparse.csr_array(X)), np.abs(scores(model, X)).max()
        np.testing.assert_allclose(got, scores(model, X), atol=1e-3 * size)
        assert other.predict(kinds(X)).shape == y.shape


def test_multi_output_is_each_output_by_itself():
    X, y = load_wine(return_X_y=True)
    targets = np.column_stack([y, X[:, 0], 1e6 * X[:, 1]])
    for loss in ("squared", "quantile"):
        for constraint in (None, ks.L2Ball(0.5)):
            options = {"loss": loss, "constraint": constraint, "alpha": 1e-6, "tol": 1e-7}
            options |= {"n_components": 20, "random_state": 0, "max_iter": 20000}
            if constraint is not None:
                targets = targets[:, :2]
            model = build(ks.KitchenSinkRegressor, **options).fit(X, targets)
            for k in range(targets.shape[1]):
                alone = build(ks.KitchenSinkRegressor, **options).fit(X, targets[:, k])
                spread = targets[:, k].std()
                got = np.abs(model.predict(X)[:, k] - alone.predict(X)).max()
                assert got < (1e-6 if loss == "squared" else 0.05) * spread
