"""A linear model as a basis."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

import kitchensinks as ks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 7)) * np.arange(1, 8)
Y = X @ RNG.normal(size=7) + RNG.normal(size=120)


@pytest.mark.parametrize("n_rows", [5, 120])
def test_the_fit_is_a_ridge_regression_on_standardised_columns(n_rows):
    rows, targets, alpha = X[:n_rows], Y[:n_rows], 0.03
    model = ks.KitchenSinkRegressor(ks.Linear(), alpha=alpha, random_state=0).fit(rows, targets)
    assert model.n_components_ == X.shape[1]
    scaler = StandardScaler().fit(rows)
    # Ridge has a sum of squares where ours is a mean.
    ridge = Ridge(alpha=alpha * n_rows).fit(scaler.transform(rows), targets)
    np.testing.assert_allclose(model.predict(rows), ridge.predict(scaler.transform(rows)))


def test_the_first_draws_are_every_column_once():
    for seed in range(5):
        columns = ks.Linear().draw(seed, n_inputs=7, n_components=14).theta["column"]
        assert sorted(columns[:7]) == sorted(columns[7:]) == list(range(7))


def test_sparse_rows_are_taken_as_they_are():
    rows = np.where(X > 0, X, 0.0)
    fits = [
        ks.KitchenSinkRegressor(ks.Linear(), alpha=0.1, standardize=False, random_state=0)
        for _ in range(2)
    ]
    dense, held = fits[0].fit(rows, Y), fits[1].fit(sparse.csr_array(rows), Y)
    np.testing.assert_allclose(held.predict(sparse.csr_array(rows)), dense.predict(rows))


def test_gradients_are_those_of_the_linear_function():
    draw = ks.Linear().draw(3, n_inputs=7, n_components=5)
    slopes, directions = draw.slopes(X)
    step = np.zeros(7)
    step[draw.theta["column"][2]] = 0.5
    change = draw.scaled_features(X + step) - draw.scaled_features(X)
    np.testing.assert_allclose(change, slopes * (directions @ step))
