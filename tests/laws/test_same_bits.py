"""The same seed gives the same bits, for every number of threads and every budget of memory."""

import warnings

import numpy as np
import pytest

import kitchensinks as ks
from tests.catalogue import build

RNG = np.random.default_rng(0)
# More than one block of rows.
X = RNG.normal(size=(6000, 4))
Y = np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.3 * RNG.normal(size=6000)
FITS = {
    "direct": {},
    "direct, float32": {"dtype": "float32"},
    "direct, given ridge": {"alpha": 1e-4},
    "direct in a ball": {"constraint": ks.SupBall(20.0)},
    "span": {"n_components": 300, "rows": 200},
    "conjugate": {"solver": "conjugate", "alpha": 1e-4},
    "blocks": {"solver": "blocks", "alpha": 1e-2},
    "stochastic": {"solver": "stochastic", "alpha": 1e-3, "max_iter": 1},
    "gram": {"loss": "huber", "alpha": 1e-3},
    "coordinates": {"loss": "quantile", "alpha": 1e-2},
    "sparse": {"basis": ks.Binning(), "n_components": 30, "alpha": 1e-3},
    "growth": {"n_components": "auto", "rows": 1500},
    "learned": {"basis": ks.Learned(effort="quick"), "n_components": None, "rows": 2000},
}


def fitted(name, **more):
    options = {"n_components": 60, "random_state": 0, **FITS[name], **more}
    n_rows = options.pop("rows", 6000)
    model = build(ks.KitchenSinkRegressor, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X[:n_rows], Y[:n_rows])


def same(one, other):
    np.testing.assert_array_equal(one.model_.weights, other.model_.weights)
    np.testing.assert_array_equal(one.predict(X[:500]), other.predict(X[:500]))
    np.testing.assert_array_equal(one.alpha_, other.alpha_)


QUICK = ("direct", "gram", "coordinates", "sparse")


def cases(names, quick):
    return [pytest.param(name, marks=[] if name in quick else [pytest.mark.slow]) for name in names]


@pytest.mark.parametrize("name", cases(FITS, QUICK))
def test_threads_and_runs_change_no_bit(name):
    one = fitted(name, n_jobs=1)
    for count in (2, 3):
        same(fitted(name, n_jobs=count), one)


DIRECT = [name for name in FITS if name.startswith("direct")]


@pytest.mark.parametrize("name", cases(DIRECT, ["direct, float32"]))
def test_budgets_change_no_bit_of_direct_fits(name):
    """Blocks end where the sizes say, as long as the budget is four of them."""
    one = fitted(name, memory_budget="32MB", n_jobs=2)
    for budget in ("50MB", "300MB", "5GB", None):
        same(fitted(name, memory_budget=budget, n_jobs=2), one)
