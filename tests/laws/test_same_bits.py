"""The same seed gives the same bits, for every number of threads and every budget of memory."""

import re
import warnings

import numpy as np
import pytest

import kitchensinks as ks
from tests.catalogue import build
from tests.laws.budget_job import opened, write

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


# Direct fits: of each kind of sums, and of each source of rows.
DIRECT = {
    "path": {},
    "float32": {"dtype": "float32"},
    "given ridge": {"alpha": 1e-4},
    "in a ball": {"constraint": ks.SupBall(20.0)},
    "weights": {"weights": True},
    "fast products": {"basis": ks.Stumps(), "fit_intercept": False},
    "filled bins": {"basis": ks.Binning(gamma=0.003), "n_components": 10, "solver": "direct"},
    "hadamard": {"basis": ks.Fourier(projection="hadamard", form="paired"), "n_components": 30},
    "float32 rows": {"source": "array"},
    "sparse rows": {"source": "sparse", "standardize": False},
    "frame": {"source": "frame"},
    "parquet": {"source": "parquet"},
    "csv": {"source": "csv"},
    "npy": {"source": "npy"},
    "svm": {"source": "svm"},
}


def direct(name, budget, folder):
    options = {"n_components": 60, "random_state": 0, "n_jobs": 2, **DIRECT[name]}
    rows, targets, weights = X, Y, None
    if "source" in options:
        rows, targets = opened(options.pop("source"), folder, len(X))
    if options.pop("weights", False):
        weights = 0.5 + np.arange(len(X)) % 7
    model = build(ks.KitchenSinkRegressor, memory_budget=budget, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, targets, sample_weight=weights)
    assert str(model.plan_).startswith("direct in the features")
    return model


@pytest.mark.parametrize("name", cases(DIRECT, ["float32", "weights", "csv", "filled bins"]))
def test_budgets_change_no_bit_of_direct_fits(name, tmp_path):
    """From the smallest that works on, which is named."""
    if DIRECT[name].get("source") in ("parquet", "csv", "npy", "svm"):
        write(tmp_path, len(X))
    with pytest.raises(ValueError, match=r"cannot hold two blocks|The bins") as refusal:
        direct(name, "250kB", tmp_path)
    smallest = re.search(r"memory_budget='(\d+MB)'", str(refusal.value))[1]
    assert smallest in ("2MB", "3MB")
    one = direct(name, smallest, tmp_path)
    for budget in ("7MB", "50MB", "5GB", None):
        other = direct(name, budget, tmp_path)
        for what in ("weights", "intercept"):
            found, wanted = (getattr(model.model_, what) for model in (other, one))
            np.testing.assert_array_equal(found, wanted)
        assert (other.alpha_, other.gap_) == (one.alpha_, one.gap_)
