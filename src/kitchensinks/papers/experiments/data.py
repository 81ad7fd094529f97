"""The data sets of the studies, cached between cells; subsamples, scaling and errors."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.space import TrainingSet
from kitchensinks.papers import datasets
from kitchensinks.papers.datasets import Dataset
from kitchensinks.problem.problem import certificate, certified_gap
from kitchensinks.problem.targets import Batch

# Where the least error is not reached, a search of bandwidths ends after so many.
_MOST_FACTORS = 24


@lru_cache(maxsize=2)
def load(name: str, **options: Any) -> Dataset:
    """`datasets.load`, with the last two sets kept."""
    return datasets.load(name, **options)


def part(data: Dataset, n_train: int | None, n_test: int | None = None, seed: int = 0) -> Dataset:
    """A subsample of at most `n_train` and `n_test` rows in their order; None keeps all rows."""
    rng = np.random.default_rng(seed)
    chosen: dict[str, Any] = {}
    for name, count in (("train", n_train), ("test", n_test)):
        rows, targets = getattr(data, f"X_{name}"), getattr(data, f"y_{name}")
        if count is not None and count < len(targets):
            places = np.sort(rng.choice(len(targets), count, replace=False))
            chosen |= {f"X_{name}": rows[places], f"y_{name}": targets[places]}
    return replace(data, **chosen)


def inner_split(data: Dataset, share: float, most: int | None = None, seed: int = 0) -> Dataset:
    """Training rows alone, at most so many: a `share` of them takes the place of the test rows."""
    some = part(data, most, 1, seed)
    held = np.random.default_rng(seed).uniform(size=len(some.y_train)) < share
    rows, targets = some.X_train, some.y_train
    fitted = replace(some, X_train=rows[~held], y_train=targets[~held])
    return replace(fitted, X_test=rows[held], y_test=targets[held])


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


def error_after_fit(model: Any, data: Dataset) -> float:
    """Percent of the test rows that are wrong after a fit to the training rows."""
    fit_quietly(model, data.X_train, data.y_train)
    return percent_wrong(model.predict(data.X_test), data.y_test)


def standardised(rows: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Rows minus the column means of `like`, over its deviations; constant columns are centred."""
    deviation = like.std(axis=0)
    return np.asarray((rows - like.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


def evidence(*models: Any) -> dict[str, Any]:
    """What the fits of a cell say of their optimum: the largest gap, and whether all converged.

    None where one of them does not say: other libraries have no gap, and boosting nothing to
    converge to.
    """
    found = [_evidence(part) for model in models for part in _parts(model)]
    gaps, converged = zip(*found, strict=True)
    return {
        "gap": None if None in gaps else max(gaps),
        "converged": None if None in converged else all(converged),
    }


def certified(model: Any, rows: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Objective and Fenchel gap of a fit to these rows whose solver computes neither.

    The gap is at least the objective minus the optimum. Two passes over the rows.
    """
    state = model.state_
    settings, frozen = state.settings, state.model.frozen
    batch = Batch(rows, state.targets.encode(labels))
    training = TrainingSet.of(FeatureBlocks(rows, frozen, memory_budget=0.0), batch, settings)
    problem = training.problem(state.fitted.evidence.alpha)
    objective, gap = certificate(problem, state.model.weights, state.model.intercept)
    return {"objective": objective, "gap": certified_gap(gap)}


def _parts(model: Any) -> list[Any]:
    """The convex fits inside a pipeline, a transformation of targets or a stack of layers."""
    model = getattr(model, "regressor_", model)
    model = model[-1] if isinstance(model, Pipeline) else model
    chains = getattr(model, "chains_", None)
    return [model] if chains is None else [layer for chain in chains for layer in chain.layers]


def _evidence(model: Any) -> tuple[float | None, bool | None]:
    """Gap and convergence of one fitted model."""
    if hasattr(model, "state_"):
        own = model.state_.fitted.evidence
        return float(own.gap) if np.isfinite(own.gap) else None, bool(own.converged)
    if hasattr(model, "fit_status_"):  # LIBSVM
        return None, bool(model.fit_status_ == 0)
    if hasattr(model, "n_iter_") and hasattr(model, "max_iter"):
        return None, bool(np.max(model.n_iter_) < model.max_iter)
    return None, getattr(model, "converged_", None)


def fit_quietly(model: Any, rows: np.ndarray, targets: np.ndarray) -> Any:
    """Fit without the warning of an iteration limit, which some studies set on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(rows, targets)
