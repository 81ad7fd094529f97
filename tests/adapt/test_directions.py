"""Average gradient outer products: against exact gradients, and as a law."""

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.adapt.directions import directions, gradient_products
from kitchensinks.features import Frozen


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


@pytest.mark.parametrize("basis", [ks.Sigmoid(), ks.ReLU(gamma=1.0), ks.Maxout()])
def test_any_basis_has_products(basis):
    frozen = Frozen(None, basis.resolve(np.eye(3)), 0, 3, 20, np.dtype(np.float64))
    found = gradient_products(
        frozen, np.ones((20, 1)), np.random.default_rng(0).normal(size=(9, 3))
    )
    assert np.linalg.eigvalsh(found).min() > -1e-9
    assert np.trace(found) > 0


def test_directions_are_scaled_to_one():
    products = np.diag([4.0, 1.0, 0.0])
    np.testing.assert_allclose(directions(products, None), [1.0, 0.5, 1e-4])
    turned = directions(products, 2)
    np.testing.assert_allclose(np.abs(turned), [[1, 0], [0, 0.5], [0, 0]], atol=1e-12)
    np.testing.assert_array_equal(directions(np.zeros((2, 2)), None), 1.0)


@pytest.mark.parametrize("rank", [None, 1])
def test_the_law_finds_what_matters(rank, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 6))
    along = (X[:, 0] + X[:, 1]) / np.sqrt(2)
    y = np.sin(3 * along) + 0.05 * rng.normal(size=800)
    settings = ks.Adapt(law="agop", seconds=0.1, rank=rank)
    model = ks.KitchenSinkRegressor(adapt=settings, random_state=0).fit(X[:600], y[:600])
    assert model.feature_importances_[:2].sum() > 0.8
    assert model.score(X[600:], y[600:]) > (0.9 if rank == 1 else 0.5)
    assert model.scaler_.width == (1 if rank == 1 else 6)
    ks.save(model, tmp_path / "model")
    np.testing.assert_array_equal(ks.load(tmp_path / "model").predict(X), model.predict(X))
