"""Data and models common to the comparisons of Fourier and ReLU features (thesis, 3.7)."""

from functools import lru_cache
from typing import Any

import numpy as np

import kitchensinks as ks
from kitchensinks.papers.datasets import Dataset
from kitchensinks.papers.experiments.data import load, part, standardised

BASES = {"Fourier": ks.Fourier, "ReLU": ks.ReLU}
SYNTHETIC = ("sine", "strips", "square", "checkboard")
REAL = ("adult", "mnist", "covtype")
# Sets whose columns are standardised.
SCALED = ("adult", "covtype")


def synthetic(name: str, n_rows: int, seed: int) -> tuple[Any, Any]:
    """Rows and labels of one of the four sets in the plane."""
    rows, labels = getattr(ks.datasets, f"make_{name}")(n_rows, random_state=seed)
    return rows, labels


@lru_cache(maxsize=2)
def real(name: str, n_train: int | None, n_test: int | None = None, seed: int = 0) -> Dataset:
    return part(load("adult-onehot" if name == "adult" else name), n_train, n_test, seed)


def classifier(
    name: str, solver: ks.Solver, basis: Any = None, count: int | None = None, seed: int = 0
) -> ks.KitchenSinkClassifier:
    """Hinge loss for two classes, logistic for more, ‖c‖₂ ≤ 1000 (plane) or 10,000 (real sets).

    Without a basis, rows are features that are made already, and divided by √K: `Linear` multiplies
    by it. Pixels are left as they are; the columns of adult and covtype are standardised. Algorithm
    2 has no intercept. With one, steps as long as ReLU features allow would not be stable for it:
    it is a feature of length one beside features of length 1/3 on MNIST.
    """
    return ks.KitchenSinkClassifier(
        ks.Linear() if basis is None else basis,
        count,
        loss="logistic" if name in ("mnist", "covtype") else "hinge",
        constraint=ks.L2Ball(_radius(name)),
        fit_intercept=False,
        standardize=basis is not None and name in SCALED,
        solver=solver,
        random_state=seed,
    )


def _radius(name: str) -> float:
    return 1000.0 if name in SYNTHETIC else 10_000.0


def middle(name: str, basis: str, rows: np.ndarray) -> float:
    """The bandwidth by the median heuristic, the centre of a screening grid."""
    return float(BASES[basis]().resolve(seen(name, rows[:1000])).gamma)


def mean_square(name: str, basis: str, gamma: float, rows: np.ndarray) -> float:
    """The mean squared length of the features of a row: plain descent on a loss of curvature one is
    stable with steps up to two over it."""
    some = seen(name, rows[:1000])
    return float(BASES[basis](gamma=gamma).kernel(some).diagonal().mean())


def seen(name: str, rows: np.ndarray) -> np.ndarray:
    rows = rows.astype(np.float64)
    return standardised(rows, rows) if name in SCALED else rows
