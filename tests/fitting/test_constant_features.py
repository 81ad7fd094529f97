"""Features that are constant, or all but: the mean is predicted, and no certificate is false."""

import warnings

import numpy as np
import pytest

import kitchensinks as ks

BASES = [None, ks.Fourier(), ks.ReLU(), ks.Stumps(), ks.Binning(), ks.Sigmoid()]
N_ROWS = 401


def targets(seed=0):
    return 5.0 + np.random.default_rng(seed).normal(size=N_ROWS)


WEIGHTS = np.random.default_rng(1).uniform(0.1, 2.0, N_ROWS)
CONSTANT = [
    (0.0, np.float64, None),
    (7.3, np.float32, WEIGHTS),
    (7.3, np.float64, WEIGHTS),
    (-1e3, np.float32, None),
    (-1e3, np.float64, WEIGHTS),
]


@pytest.mark.parametrize("n_components", [50, 450])
@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_constant_rows_predict_the_mean(basis, n_components):
    y = targets()
    for value, dtype, weights in CONSTANT:
        rows = np.full((N_ROWS, 3), value, dtype)
        model = ks.KitchenSinkRegressor(basis, n_components, random_state=0)
        model.fit(rows, y, sample_weight=weights)
        mean, case = np.average(y, weights=weights), f"{value} in {dtype.__name__}"
        np.testing.assert_allclose(model.predict(rows), mean, rtol=1e-6, err_msg=case)


@pytest.mark.parametrize(
    ("alpha", "basis"),
    [
        ("auto", ks.Fourier(gamma=1.0)),
        ("auto", ks.ReLU(gamma=1.0)),
        (1e-20, ks.Fourier(gamma=1.0)),
        (1e-30, ks.ReLU(gamma=1.0)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spread", [1e-16, 1e-12, 1e-8, 1e-7, 1e-6, 1e-5, 1e-3])
@pytest.mark.parametrize("n_components", [50, 450])
def test_the_certificate_is_of_the_predictions_that_are_served(
    alpha, n_components, spread, dtype, basis
):
    """The objective of the predictions is at most `gap_` above the optimum, which is below var(y).

    Rows that differ by no more than rounding, or by a little more.
    """
    rng = np.random.default_rng(0)
    rows, y = 1.0 + spread * rng.normal(size=(N_ROWS, 3)), targets()
    solver = ks.Solver(dtype=dtype)
    model = ks.KitchenSinkRegressor(
        basis, n_components, alpha=alpha, standardize=False, solver=solver, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, y)
    # In another order, so that blocks of features are rounded in another way.
    order = rng.permutation(N_ROWS)[:200]
    predicted = np.concatenate(
        [model.predict(rows[order]), model.predict(np.delete(rows, order, 0))]
    )
    own = np.concatenate([y[order], np.delete(y, order)])
    served = np.mean((own - predicted) ** 2)
    assert served <= 1.01 * y.var() + 2.0 * model.gap_
    if alpha == "auto":
        assert served <= 1.01 * y.var()
        assert model.converged_
