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
NAMES = {"adult": "adult-onehot"}


def synthetic(name: str, n_rows: int, seed: int) -> tuple[Any, Any]:
    """Rows and labels of one of the four sets in the plane."""
    rows, labels = getattr(ks.datasets, f"make_{name}")(n_rows, random_state=seed)
    return rows, labels


@lru_cache(maxsize=2)
def real(name: str, n_train: int | None, n_test: int | None = None, seed: int = 0) -> Dataset:
    return part(load(NAMES.get(name, name)), n_train, n_test, seed)


def classifier(
    name: str, basis: str, gamma: float, count: int, seed: int, solver: ks.Solver
) -> ks.KitchenSinkClassifier:
    """Hinge loss for two classes, logistic for more, ‖c‖₂ ≤ 1000 (plane) or 10,000 (real sets).

    Pixels are left as they are; the columns of adult and covtype are standardised.
    """
    return ks.KitchenSinkClassifier(
        BASES[basis](gamma=gamma),
        count,
        loss="logistic" if name in ("mnist", "covtype") else "hinge",
        constraint=ks.L2Ball(1000.0 if name in SYNTHETIC else 10_000.0),
        standardize=name in ("adult", "covtype"),
        solver=solver,
        random_state=seed,
    )


def middle(name: str, basis: str, rows: np.ndarray) -> float:
    """The bandwidth by the median heuristic, the centre of a screening grid."""
    return float(BASES[basis]().resolve(_some(name, rows)).gamma)


def mean_square(name: str, basis: str, gamma: float, rows: np.ndarray) -> float:
    """The mean squared length of the features of a row: plain descent on a loss of curvature one is
    stable with steps up to two over it."""
    return float(BASES[basis](gamma=gamma).kernel(_some(name, rows)).diagonal().mean())


def _some(name: str, rows: np.ndarray) -> np.ndarray:
    """A thousand rows as a fit sees them."""
    some = rows[:1000].astype(np.float64)
    return standardised(some, some) if name in ("adult", "covtype") else some
