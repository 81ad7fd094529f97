"""The data sets of the studies, cached between cells; subsamples, scaling and errors."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kitchensinks.papers import datasets
from kitchensinks.papers.datasets import Dataset

# Where the least error is not reached, a search of bandwidths ends after so many.
_MOST_FACTORS = 24


@lru_cache(maxsize=2)
def load(name: str, **options: Any) -> Dataset:
    """`datasets.load`, with the last two sets kept."""
    return datasets.load(name, **options)


def part(data: Dataset, n_train: int | None, n_test: int | None = None, seed: int = 0) -> Dataset:
    """A subsample of at most `n_train` and `n_test` rows in their order; None keeps all rows."""
    rng = np.random.default_rng(seed)
    train, test = (
        slice(None)
        if count is None or count >= len(targets)
        else np.sort(rng.choice(len(targets), count, replace=False))
        for count, targets in ((n_train, data.y_train), (n_test, data.y_test))
    )
    return replace(
        data,
        X_train=data.X_train[train],
        y_train=data.y_train[train],
        X_test=data.X_test[test],
        y_test=data.y_test[test],
    )


def inner_split(data: Dataset, share: float, most: int | None = None, seed: int = 0) -> Dataset:
    """Training rows alone, at most so many: a `share` of them takes the place of the test rows."""
    some = part(data, most, 1, seed)
    held = np.random.default_rng(seed).uniform(size=len(some.y_train)) < share
    return replace(
        some,
        X_train=some.X_train[~held],
        y_train=some.y_train[~held],
        X_test=some.X_train[held],
        y_test=some.y_train[held],
    )


def best_factor(
    error: Callable[[float], float], first: Sequence[float], step: float = 2.0
) -> float:
    """The factor of least error; the search goes on by `step` while the best one is at an end.

    >>> best_factor(lambda factor: (factor - 20) ** 2, [1.0, 2.0])
    16.0
    """
    found = {factor: error(factor) for factor in first}
    while len(found) < _MOST_FACTORS:
        best = min(found, key=found.__getitem__)
        beyond = {min(found): best / step, max(found): best * step}
        if best not in beyond:
            return best
        found[beyond[best]] = error(beyond[best])
    return min(found, key=found.__getitem__)


def percent_wrong(predicted: np.ndarray, targets: np.ndarray) -> float:
    """100 × the share of wrong classes."""
    return 100.0 * float(np.mean(predicted != targets))


def standardised(rows: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Rows minus the column means of `like`, over its deviations; constant columns are centred."""
    deviation = like.std(axis=0)
    return np.asarray((rows - like.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


def evidence(*models: Any) -> dict[str, Any]:
    """What fits of a cell say of their optimum: the largest gap (None where one has none), and
    whether all solvers converged. Nothing for models of other libraries.
    """
    states = [model.state_ for model in models if hasattr(model, "state_")]
    if not states:
        return {}
    found = [state.fitted.evidence for state in states]
    gap = max(float(one.gap) for one in found)
    return {
        "gap": gap if np.isfinite(gap) else None,
        "converged": all(bool(one.converged) for one in found),
    }


def fit_quietly(model: Any, rows: np.ndarray, targets: np.ndarray) -> Any:
    """Fit without the warning of an iteration limit, which some studies set on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(rows, targets)
