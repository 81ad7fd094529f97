"""When an estimator learns the law of its features, and when it takes that of the papers."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from kitchensinks.adapt import Adapt, Adaptation, Task, adaptable, check_adapt, choose
from kitchensinks.bases import Basis
from kitchensinks.features import Frozen
from kitchensinks.rows.memory import memory_budget
from kitchensinks.transform import check_basis

# With fewer rows there is too little to hold out; with more columns a batch would not fit.
FEWEST_ROWS, MOST_COLUMNS = 500, 5000
# Components of the plain path where none are given.
PLAIN_COMPONENTS = 1000


def plain_basis(estimator: Any) -> Basis:
    """The basis given, or the one that the plain path takes."""
    return check_basis(None if _is_auto(estimator.basis) else estimator.basis)


def plain_components(estimator: Any) -> int | str:
    given = estimator.n_components
    return PLAIN_COMPONENTS if given is None else given


def _is_auto(basis: Any) -> bool:
    return isinstance(basis, str) and basis == "auto"


def wanted(estimator: Any) -> Adapt | None:
    """The settings of adaptation: asked for, or the default where no choice was made."""
    given = check_adapt(estimator.adapt)
    if given is not None or _is_auto(estimator.basis):
        return given or Adapt()
    no_choice = (
        estimator.basis is None
        and estimator.n_components is None
        and estimator.constraint is None
        and estimator.selection is None
        and estimator.solver == "auto"
        and estimator.standardize
    )
    return Adapt() if no_choice else None


def adapted(
    estimator: Any, batch: Any, dtype: Any, stream: bool
) -> tuple[Frozen, Any, Adaptation] | None:
    """What was learned, and the bins of the rows or None; None where the plain path runs."""
    settings = wanted(estimator)
    if settings is None:
        return None
    asked = estimator.adapt is not None or _is_auto(estimator.basis)
    reason = _refusal(estimator, batch)
    if reason is not None:
        text, matters = reason
        if asked or matters:
            warnings.warn(
                f"{text}: the plain fit with {plain_basis(estimator)!r} ran instead of one with a "
                "learned law. Give a basis and adapt=None to agree.",
                stacklevel=5,
            )
        return None
    given = estimator.n_components
    task = Task(
        batch.rows,
        batch.targets,
        batch.weights,
        estimator._seed(),
        settings,
        estimator._progress,
        memory_budget(estimator.memory_budget),
        None if given == "auto" else given,
        is_classifier(estimator),
    )
    if task.unit == 0.0:
        # All but a few rows, which are not in the pool, have the same target.
        return None
    basis = None if estimator.basis is None or _is_auto(estimator.basis) else estimator.basis
    # Other losses and a given ridge are fitted in one stage.
    stages = estimator.loss_.name == "squared" and estimator.alpha == "auto" and not stream
    return choose(task, dtype, stream, basis, stages and basis is None)


def _refusal(estimator: Any, batch: Any) -> tuple[str, bool] | None:
    """Why the law cannot be learned, and whether that matters to someone who chose nothing."""
    n_rows, n_inputs = batch.rows.shape
    counted = n_rows if batch.weights is None else int(np.count_nonzero(batch.weights))
    if counted < FEWEST_ROWS:
        return f"There are {counted} rows, and a law is learned from {FEWEST_ROWS} or more", False
    if n_inputs > MOST_COLUMNS:
        return f"There are {n_inputs} columns, and scales are learned for {MOST_COLUMNS}", True
    own = batch.targets if batch.weights is None else batch.targets[batch.weights > 0]
    if not np.ptp(own, axis=0).any():
        return "The targets are constant, so that nothing can be learned from them", False
    if not adaptable(plain_basis(estimator)):
        return f"{plain_basis(estimator)!r} does not change with the scales of the columns", True
    return None
