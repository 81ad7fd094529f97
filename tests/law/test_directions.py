"""Average gradient outer products: against exact gradients, and as a law."""

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.features.frozen import Frozen
from kitchensinks.law import Learned, Request
from kitchensinks.law.directions import directions, gradient_products, turned
from kitchensinks.law.learned import EFFORTS
from kitchensinks.law.maps import mapped
from kitchensinks.law.task import LearningRows
from kitchensinks.problem.targets import Batch


@pytest.mark.parametrize("form", ["phase", "paired"])
def test_products_are_those_of_the_exact_gradient(form):
    rng = np.random.default_rng(0)
    frozen = Frozen(None, ks.Fourier(gamma=0.3, form=form), 0, 3, 40, np.dtype(np.float64))
    weights, rows = rng.normal(size=(frozen.n_columns, 2)), rng.normal(size=(25, 3))
    omega = np.asarray(frozen.draw.theta["directions"])
    if form == "phase":
        angle = rows @ omega.T + frozen.draw.theta["phase"]
        slope = -np.sqrt(2) * frozen.scale * np.sin(angle)
    else:
        angle = rows @ omega.T
        both = np.stack([-np.sin(angle), np.cos(angle)], axis=2)
        slope = np.sqrt(2) * frozen.scale * both.reshape(len(rows), -1)
        omega = np.repeat(omega, 2, axis=0)
    gradients = np.einsum("ik,kj,ko->ijo", slope, omega, weights)
    expected = np.einsum("ijo,iko->jk", gradients, gradients) / len(rows)
    np.testing.assert_allclose(gradient_products(frozen, weights, rows), expected, rtol=1e-4)


BASES = [
    ks.Fourier(gamma=0.3),
    ks.Fourier(gamma=0.3, form="paired", projection="orthogonal"),
    ks.Fourier(gamma=0.3, projection="hadamard"),
    ks.ReLU(gamma=1.0),
    ks.Sigmoid("tanh", gamma=0.5),
    ks.Sigmoid("logistic", gamma=0.5),
    ks.Sigmoid("erf", gamma=0.5),
    ks.Maxout(),
]


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_products_of_any_basis_predict_small_steps(basis):
    """A step e changes f by ∇f·e: the mean square of the changes is e'Ge."""
    rng = np.random.default_rng(0)
    frozen = Frozen(None, basis, 0, 3, 60, np.dtype(np.float64))
    weights, rows = rng.normal(size=(frozen.n_columns, 2)), rng.normal(size=(400, 3))
    found = gradient_products(frozen, weights, rows)
    for step in 1e-5 * rng.normal(size=(4, 3)):
        change = (frozen.draw.scaled_features(rows + step) - frozen.features(rows)) @ weights
        expected = np.mean(np.sum(change**2, axis=1))
        np.testing.assert_allclose(step @ found @ step, expected, rtol=2e-3)


def test_directions_are_scaled_to_one():
    products = np.diag([4.0, 1.0, 0.0])
    np.testing.assert_allclose(directions(products, None), [1.0, 0.5, 1e-6])
    turned = directions(products, 2)
    np.testing.assert_allclose(np.abs(turned), [[1, 0], [0, 0.5], [0, 0]], atol=1e-12)
    np.testing.assert_array_equal(directions(np.zeros((2, 2)), None), 1.0)


@pytest.mark.parametrize("rank", [None, 1])
def test_the_law_finds_what_matters(rank, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 6))
    along = (X[:, 0] + X[:, 1]) / np.sqrt(2)
    y = np.sin(3 * along) + 0.05 * rng.normal(size=800)
    learned = ks.Learned(law="agop", seconds=0.1, rank=rank)
    model = ks.KitchenSinkRegressor(learned, random_state=0).fit(X[:600], y[:600])
    assert model.feature_importances_[:2].sum() > 0.8
    assert model.score(X[600:], y[600:]) > (0.9 if rank == 1 else 0.5)
    assert model.scaler_.width == (1 if rank == 1 else 6)
    ks.save(model, tmp_path / "model")
    np.testing.assert_array_equal(ks.load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.parametrize("kind", ["classes", pytest.param("numbers", marks=pytest.mark.slow)])
def test_wide_tables_learn_directions(kind, tmp_path):
    """Two directions of 120 matter, none of them along a column."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 120))
    along = X @ rng.normal(size=(120, 2)) / np.sqrt(120)
    y = np.sin(along[:, 0]) + along[:, 1] ** 2 / 2
    y = np.digitize(y, [0.0, 1.0]) if kind == "classes" else y
    make = ks.KitchenSinkClassifier if kind == "classes" else ks.KitchenSinkRegressor
    model = make(ks.Learned(seconds=0.3), random_state=0).fit(X[:2000], y[:2000])
    scales = make(ks.Learned(ks.Fourier(kernel="laplacian"), seconds=0.3), random_state=0)
    scales.fit(X[:2000], y[:2000])
    assert model.law_.record.map.startswith("slopes-turned")
    assert 1 - model.score(X[2000:], y[2000:]) < 0.9 * (1 - scales.score(X[2000:], y[2000:]))
    assert model.feature_importances_.shape == (120,)
    assert "turned along their slopes" in repr(model.law_)
    ks.save(model, tmp_path / "model")
    np.testing.assert_array_equal(ks.load(tmp_path / "model").predict(X), model.predict(X))


def test_rows_are_turned_by_spread_and_slopes():
    """A turn R makes the metric RR': it is Σ² for spread, and Σ^½·G·Σ^½ for both."""
    rng = np.random.default_rng(0)
    X = (
        rng.normal(size=(900, 6))
        @ np.diag([3.0, 2.0, 1.0, 1.0, 0.5, 0.5])
        @ rng.normal(size=(6, 6))
    )
    task = LearningRows(Batch(X, np.sin(X[:, :1])), Request(seed=0), Learned())
    slopes, spread, both = turned(task, ("common",))
    assert [found.map for found in (slopes, spread, both)] == [
        "slopes-turned common",
        "spread-turned common",
        "spread and slopes-turned common",
    ]
    rows = mapped(task, "common").apply(task.pool[len(task.held) :], np.float64)
    own = np.cov(rows, rowvar=False)
    values, vectors = np.linalg.eigh(own)
    root = (vectors * np.sqrt(values)) @ vectors.T

    def metric(found):
        product = found.warp.rotation @ found.warp.rotation.T
        return product / np.trace(product)

    for found, expected in ((spread, own @ own), (both, root @ metric(slopes) @ root)):
        np.testing.assert_allclose(metric(found), expected / np.trace(expected), atol=1e-3)


@pytest.mark.parametrize("basis", [ks.Fourier(gamma=0.3), ks.Maxout()], ids=repr)
def test_a_weight_counts_as_copies_of_a_row(basis):
    rng = np.random.default_rng(0)
    frozen = Frozen(None, basis, 0, 3, 20, np.dtype(np.float64))
    weights, rows = rng.normal(size=(20, 2)), rng.normal(size=(30, 3))
    own = rng.integers(1, 4, 30)
    found = gradient_products(frozen, weights, rows, own.astype(float))
    expected = gradient_products(frozen, weights, np.repeat(rows, own, axis=0))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_rows_without_weight_to_speak_of_do_not_turn_the_others():
    rng = np.random.default_rng(0)
    X = np.zeros((1200, 6))
    X[::2, :3], X[1::2, 3:] = rng.normal(size=(600, 3)), rng.normal(size=(600, 3))
    weights = np.where(np.arange(1200) % 2 == 0, 1.0, 1e-6)
    task = LearningRows(Batch(X, np.sin(X[:, :1]), weights), Request(seed=0), Learned())
    spread = next(found for found in turned(task, ("common",)) if "spread-" in found.map)
    assert np.sum(spread.warp.rotation[3:] ** 2) < 1e-6 * np.sum(spread.warp.rotation**2)


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("count", [1, 40])
@pytest.mark.parametrize("basis", [None, ks.Binning(), ks.Fourier()], ids=repr)
def test_components_that_are_asked_for_are_taken(basis, count, monkeypatch):
    monkeypatch.setitem(EFFORTS, "default", EFFORTS["default"]._replace(few=200))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4))
    model = ks.KitchenSinkRegressor(ks.Learned(basis), count, random_state=0)
    model.fit(X, np.sin(X[:, 0]))
    assert model.n_components_ == count
    assert f"{count} components were asked for" in model.law_.record.reason
