"""What a sample of rows suggests, against refits, and dimensions that are known."""

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.features.bases.leverage import eigen
from kitchensinks.papers import planning


def test_leave_one_out_is_that_of_refits():
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(25, 2)), rng.normal(size=(25, 2))
    features = ks.Fourier(gamma=0.3).draw(0, 2, 40).scaled_features(rows)
    alpha, squares = 0.05, []
    for i in range(25):
        kept = np.arange(25) != i
        # The ridge of the whole fit stays as it is: α·n, and not α·(n − 1).
        centre, level = features[kept].mean(axis=0), targets[kept].mean(axis=0)
        own = features[kept] - centre
        weights = np.linalg.solve(
            own.T @ own + alpha * 25 * np.eye(40), own.T @ (targets[kept] - level)
        )
        squares.append((targets[i] - level - (features[i] - centre) @ weights) ** 2)
    centred = features - features.mean(axis=0)
    values, vectors = eigen(centred @ centred.T / 25)
    found = planning.left_out_error(values, vectors, targets - targets.mean(axis=0), alpha)
    assert found == pytest.approx(np.mean(squares), rel=1e-9)
    gram = features @ features.T
    np.testing.assert_allclose(planning._centred(gram), centred @ centred.T, atol=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_intrinsic_dimension_of_cubes_in_more_columns(dimension):
    rng = np.random.default_rng(0)
    turned = np.linalg.qr(rng.normal(size=(8, 8)))[0][:dimension]
    rows = rng.uniform(size=(2000, dimension)) @ turned
    assert planning.intrinsic_dimension(rows) == pytest.approx(dimension, rel=0.12)
    again = np.concatenate([rows, rows[:500]])
    assert planning.intrinsic_dimension(again) == pytest.approx(
        planning.intrinsic_dimension(rows), rel=1e-6
    )
    assert planning.intrinsic_dimension(rows[:3]) == 0.0


def test_rows_of_a_grid_have_a_plan():
    grid = np.argwhere(np.ones((12, 12))).astype(float)
    assert planning.intrinsic_dimension(grid) == 2.0
    assert planning.intrinsic_dimension(np.arange(500.0)[:, None]) == 1.0
    assert planning.plan(ks.Fourier(gamma=0.5), grid, grid[:, 0]).intrinsic == 2.0


def target(rows):
    return np.sin(2 * rows[:, 0]) + rows[:, 1] ** 2


def test_the_plan_is_near_the_best_fit():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-2, 2, size=(2400, 2))
    y = target(rows) + 0.3 * rng.normal(size=2400)
    found = planning.plan(ks.Fourier(gamma=0.5), rows[:400], y[:400], n_rows=2000)
    assert found.dimension >= planning.plan(ks.Fourier(gamma=0.5), rows[:400], y[:400]).dimension
    assert found.components < found.enough
    errors = {}
    for name, count, alpha in (("planned", found.components, found.alpha), ("best", 1000, "auto")):
        model = ks.KitchenSinkRegressor(
            ks.Fourier(gamma=0.5), count, alpha=alpha, standardize=False, random_state=1
        ).fit(rows[:2000], y[:2000])
        errors[name] = np.mean((model.predict(rows[2000:]) - y[2000:]) ** 2)
    assert errors["planned"] < 1.05 * errors["best"]


def test_laws_of_decay_name_their_rate():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, size=(300, 1))
    smooth = planning.plan(ks.Fourier(gamma=0.5), rows, rows[:, 0])
    assert (smooth.law, smooth.risk_exponent) == ("subexponential", 1.0)
    rough = planning.plan(ks.Fourier("laplacian", gamma=2.0), rows, rows[:, 0])
    # The Laplacian kernel of one column has eigenvalues like i^(-2).
    assert rough.law == "polynomial"
    assert rough.decay.polynomial.rate == pytest.approx(2.0, abs=0.2)
    assert rough.risk_exponent == pytest.approx(0.5, abs=0.03)


def test_a_table_of_categories_alone_has_a_plan():
    """Its rows are all equally far from their two nearest ones."""
    rng = np.random.default_rng(0)
    rows = np.hstack([np.eye(3)[rng.integers(3, size=100)] for _ in range(2)])
    found = planning.plan(ks.Fourier(gamma=0.5), rows, rows[:, 0] + 0.1 * rng.normal(size=100))
    assert found.intrinsic == rows.shape[1]
    assert found.components > 0


def test_sparse_bases_are_refused():
    with pytest.raises(ValueError, match="dense"):
        planning.plan(ks.Binning(), np.ones((60, 2)), np.ones(60))
