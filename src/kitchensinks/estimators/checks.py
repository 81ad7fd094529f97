"""Parameters of the estimators: an error that names the one that makes no sense."""

import math
import numbers
from typing import Any

from kitchensinks.estimators.transform import check_basis, check_dtype
from kitchensinks.features.bases.base import check_count, check_positive
from kitchensinks.fitting import check_solver
from kitchensinks.law import check_adapt
from kitchensinks.numerics.threads import check_jobs
from kitchensinks.problem.constraints import Constraint
from kitchensinks.problem.losses import LOSSES, Loss
from kitchensinks.tables.memory import memory_budget


def check_parameters(estimator: Any, loss: Loss) -> None:
    """Everything that can be said without looking at the rows."""
    settings = check_adapt(estimator.adapt)
    given = None
    if not (isinstance(estimator.basis, str) and estimator.basis == "auto"):
        given = check_basis(estimator.basis)
        given.check()
    if settings is not None and settings.law == "agop" and given is not None and given.sparse:
        raise ValueError(
            f"adapt={estimator.adapt!r} takes gradients, and {estimator.basis!r} has none: give "
            "adapt='ard', or a basis without bins."
        )
    if estimator.n_components is not None:
        check_components(estimator.n_components)
    check_alpha(estimator.alpha)
    constraint = estimator.constraint
    if constraint is not None and not isinstance(constraint, Constraint):
        raise TypeError(f"constraint={constraint!r}: need ks.SupBall(C), ks.L2Ball(R) or None.")
    check_solver(estimator.solver, loss, estimator.alpha, constraint)
    if estimator.solver == "stochastic" and estimator.n_components == "auto":
        raise ValueError("solver='stochastic' cannot choose K: give n_components a number.")
    if given is not None and given.selects and estimator.n_components == "auto":
        raise ValueError(f"{given!r} selects a set of K features: give n_components a number.")
    check_positive("tol", estimator.tol, ", the relative gap at which solvers stop")
    check_count("max_iter", estimator.max_iter)
    if estimator.dtype is not None:
        check_dtype(estimator.dtype)
    memory_budget(estimator.memory_budget)
    check_jobs(estimator.n_jobs)


def check_components(n_components: Any) -> None:
    if isinstance(n_components, str):
        if n_components != "auto":
            raise ValueError(
                f"n_components={n_components!r}: need a whole number of 1 or more, or 'auto'."
            )
        return
    check_count("n_components", n_components)


def check_alpha(alpha: Any) -> None:
    if isinstance(alpha, str) and alpha == "auto":
        return
    number = isinstance(alpha, numbers.Real) and not isinstance(alpha, bool)
    if not (number and math.isfinite(alpha) and alpha >= 0):
        raise ValueError(
            f"alpha={alpha!r}: need a finite number of 0 or more, or 'auto' to choose it."
        )


def check_loss(loss: Any, task: str) -> Loss:
    """The loss object, if it fits the task."""
    names = ", ".join(
        name for name, one in LOSSES.items() if task in one.tasks and name != "multinomial"
    )
    if loss == "multinomial":
        raise ValueError("loss='multinomial': use loss='logistic', which is it for many classes.")
    if isinstance(loss, str) and loss in LOSSES:
        loss = LOSSES[loss]
    if isinstance(loss, type) and issubclass(loss, Loss):
        raise ValueError(f"loss={loss.__name__}: need an instance, such as {loss.__name__}().")
    if not isinstance(loss, Loss):
        raise ValueError(f"loss={loss!r}: need one of {names}.")
    if task not in loss.tasks:
        raise ValueError(f"loss={loss.name!r} does not fit {task}: need one of {names}.")
    return loss
