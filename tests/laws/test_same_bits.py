"""The same seed gives the same bits, for every number of threads and every budget of memory."""

import re
import warnings

import numpy as np
import pytest

import kitchensinks as ks
from tests.catalogue import build

RNG = np.random.default_rng(0)
X = RNG.normal(size=(9000, 4))
Y = np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.3 * RNG.normal(size=9000)
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
    "growth": {"n_components": "auto"},
    "learned": {"basis": ks.Learned(effort="quick"), "n_components": None, "rows": 2000},
}


def fitted(name, **more):
    options = {"n_components": 60, "random_state": 0, **FITS[name], **more}
    n_rows = options.pop("rows", 9000)
    model = build(ks.KitchenSinkRegressor, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X[:n_rows], Y[:n_rows])


def same(one, other):
    np.testing.assert_array_equal(one.model_.weights, other.model_.weights)
    np.testing.assert_array_equal(one.predict(X[:500]), other.predict(X[:500]))
    np.testing.assert_array_equal(one.alpha_, other.alpha_)


@pytest.mark.parametrize("name", FITS)
def test_threads_and_runs_change_no_bit(name):
    one = fitted(name, n_jobs=1)
    for count in (2, 3):
        same(fitted(name, n_jobs=count), one)


@pytest.mark.parametrize("name", [name for name in FITS if name.startswith(("direct", "growth"))])
def test_budgets_change_no_bit_of_direct_fits(name):
    """Blocks end where the sizes say, as long as the budget is four of them."""
    one = fitted(name, memory_budget="32MB", n_jobs=2)
    for budget in ("50MB", "300MB", "5GB", None):
        same(fitted(name, memory_budget=budget, n_jobs=2), one)


def test_a_budget_too_small_for_a_block_names_the_smallest_that_works():
    for basis, count in ((ks.Fourier(), 400), (ks.Stumps(), 300), (ks.Sigmoid(), 900)):
        model = build(ks.KitchenSinkRegressor, basis, n_components=count, random_state=0)
        with pytest.raises(ValueError, match="cannot hold one block of") as refusal:
            model.set_params(solver__memory_budget="50kB").fit(X, Y)
        smallest = re.search(r"memory_budget='(\d+MB)'", str(refusal.value))[1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.set_params(solver__memory_budget=smallest).fit(X, Y)
        assert np.isfinite(model.predict(X)).all()
