"""When an estimator learns the law of its features, and when it takes that of the papers."""

import math
import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from kitchensinks.estimators.transform import check_basis
from kitchensinks.features.bases import Basis
from kitchensinks.features.frozen import Frozen
from kitchensinks.law import Adapt, Adaptation, Task, Trial, adaptable, check_adapt, choose
from kitchensinks.tables.memory import memory_budget

# With fewer rows there is too little to hold out; with more columns a batch would not fit.
FEWEST_ROWS, MOST_COLUMNS = 400, 5000
# Components of the plain path where none are given.
PLAIN_COMPONENTS = 1000
# What leaves the choice of the features open.
_NO_CHOICE = {
    "basis": None,
    "n_components": None,
    "constraint": None,
    "solver": "auto",
    "standardize": True,
}
# What a learned law sets.
LEARNED = ("adaptation_", "feature_importances_")


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
    if estimator.adapt is False:
        return None
    given = check_adapt(estimator.adapt)
    if given is not None or _is_auto(estimator.basis):
        return given or Adapt()
    return None if _choices(estimator) else Adapt()


def _choices(estimator: Any) -> list[str]:
    """What was chosen about the features."""
    given = {name: getattr(estimator, name) for name in _NO_CHOICE}
    return [f"{name}={given[name]!r}" for name, none in _NO_CHOICE.items() if given[name] != none]


def no_law(estimator: Any, name: str) -> str:
    """Why an estimator has no `name`, which a learned law sets, and what to do."""
    kind = type(estimator).__name__
    if "frozen_" not in vars(estimator):
        return f"This {kind} has no {name}: it is not fitted. Call fit."
    why = vars(estimator).get("_plain")
    if why is None:
        chosen = ["adapt=False"] if estimator.adapt is False else _choices(estimator)
        chosen = chosen or ["in an older version"]
        why = f"That was chosen ({', '.join(chosen)}): leave it out, or give adapt='ard'"
    text = f"This {kind} has no {name}: its law was not learned, the plain fit ran. {why}."
    if name == "feature_importances_":
        text += " sklearn.inspection.permutation_importance works with any model."
    return text


def adapted(
    estimator: Any, batch: Any, dtype: Any, stream: bool
) -> tuple[Frozen, Any, Adaptation] | None:
    """What was learned, and the bins of the rows or None; None where the plain path runs.

    Why it runs is kept as `_plain`.
    """
    settings = wanted(estimator)
    if settings is None:
        return None
    asked = estimator.adapt is not None or _is_auto(estimator.basis)
    basis = None if estimator.basis is None or _is_auto(estimator.basis) else estimator.basis
    reason = _refusal(estimator, batch)
    if reason is None:
        found = _learned(estimator, batch, settings, basis, dtype, stream)
        if not isinstance(found, str):
            return found
        reason = found, True
    estimator._plain, matters = reason
    if asked or matters:
        warnings.warn(
            f"{estimator._plain}: the plain fit with {plain_basis(estimator)!r} ran instead of one "
            "with a learned law. Give adapt=False to agree.",
            stacklevel=5,
        )
    return None


def _learned(
    estimator: Any, batch: Any, settings: Adapt, basis: Basis | None, dtype: Any, stream: bool
) -> tuple[Frozen, Any, Adaptation] | str:
    """What was learned, or why nothing was."""
    given = estimator.n_components
    # Where all targets of the pool are the same, their unit is 0.
    with np.errstate(invalid="ignore"):
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
    data = task.data
    if not all(np.ptp(data.targets[part], axis=0).any() for part in (data.fitted, data.held)):
        return (
            "Too few targets differ from the others to learn from some of them and hold others out"
        )
    level = np.average(data.targets[data.fitted], axis=0, weights=data.weights_of(data.fitted))
    mean = data.error(level[None, :])
    task.note("mean", "the targets' mean alone", len(data.fitted), mean)
    # Other losses and a given ridge are fitted in one stage.
    stages = estimator.loss_.name == "squared" and estimator.alpha == "auto" and not stream
    found = choose(task, dtype, stream, basis, stages and basis is None)
    own = data.weights_of(data.held)
    held = float(len(data.held)) if own is None else own.sum() ** 2 / (own**2).sum()
    return _chance(task.trials[1:], mean, held) or found


def _chance(trials: list[Trial], mean: float, held: float) -> str | None:
    """Whether the best trial is ahead of the mean by no more than chance, in words.

    Where there is nothing to find, a trial lowers the error of m held-out rows by χ²/m of it (one
    degree of freedom), and the best of N by about 2·log(N)/m; unequal weights w count as
    m = (Σw)²/Σw² rows.
    """
    errors = [one.error for one in trials if one.stage != "map"]
    if not errors:
        return None
    least = min(errors)
    if least < (1.0 - 2.0 * math.log(len(errors)) / held) * mean:
        return None
    return (
        f"Nothing that was tried is clearly better on {held:.0f} held-out rows than the mean of "
        f"the targets (squared error {least:.4f} against {mean:.4f}, in units of their variance)"
    )


def _refusal(estimator: Any, batch: Any) -> tuple[str, bool] | None:
    """Why the law cannot be learned, and whether that matters to someone who chose nothing."""
    n_rows, n_inputs = batch.rows.shape
    counted = n_rows if batch.weights is None else int(np.count_nonzero(batch.weights))
    if counted < FEWEST_ROWS:
        return f"There are {counted} rows, and a law is learned from {FEWEST_ROWS} or more", True
    if n_inputs > MOST_COLUMNS:
        return (
            f"There are {n_inputs} columns, and scales are learned for at most {MOST_COLUMNS}",
            True,
        )
    own = batch.targets if batch.weights is None else batch.targets[batch.weights > 0]
    if not np.ptp(own, axis=0).any():
        return "The targets are constant, so that nothing can be learned from them", False
    if not adaptable(plain_basis(estimator)):
        return (
            f"The law of {plain_basis(estimator)!r} cannot be learned, only those of Binning, "
            "Fourier, ReLU, Sigmoid, Maxout, Custom and Union of these",
            True,
        )
    return None
