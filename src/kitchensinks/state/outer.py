"""The outer weights of a fit in the units of the targets, with their evidence."""

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kitchensinks.fitting.space import Fit
from kitchensinks.numerics.warned import warn
from kitchensinks.problem.losses import Array, Loss
from kitchensinks.problem.targets import Targets
from kitchensinks.state.spec import alpha_unit


class Evidence(NamedTuple):
    """How well the weights solve the problem, in the units of the targets.

    The objective is at most `gap` above the optimum. alphas, alpha_errors: the ridge path
    that alpha was chosen from, or None; condition, freedom: of the Gram with its ridge, NaN where
    unknown; noise: the rounding error of the Gram; settled: the solver stopped on purpose, by
    another rule than the gap, None where that is not known (a file of an earlier version).
    """

    solver: str
    objective: float
    gap: float
    converged: bool
    iterations: int
    alpha: float
    alphas: Array | None = None
    alpha_errors: Array | None = None
    condition: float = math.nan
    freedom: float = math.nan
    noise: float = 0.0
    settled: bool | None = None


class Outer(NamedTuple):
    """The outer weights (columns, outputs) and intercept (outputs,) in the units of the targets."""

    weights: Array
    intercept: Array
    evidence: Evidence

    @classmethod
    def of(cls, fit: Fit, targets: Targets, loss: Loss) -> "Outer":
        unit, solution, errors = targets.score_unit, fit.solution, fit.alpha_errors
        per_alpha = alpha_unit(targets, loss)

        def in_loss_units(value: object) -> Any:
            # At most one power of the unit at a time, so that the power itself does not overflow.
            with np.errstate(over="ignore"):
                for power in (min(loss.degree, 1.0), max(loss.degree - 1.0, 0.0)):
                    value = value * targets.unit**power
            return value

        evidence = Evidence(
            solver=solution.solver,
            objective=float(in_loss_units(solution.objective)),
            gap=float(in_loss_units(solution.gap)),
            converged=solution.converged,
            iterations=max(1, solution.iterations),
            alpha=fit.alpha / per_alpha,
            alphas=None if fit.alphas is None else fit.alphas / per_alpha,
            alpha_errors=None if errors is None else in_loss_units(errors),
            condition=fit.condition,
            freedom=fit.freedom,
            noise=fit.noise,
            settled=solution.settled,
        )
        with np.errstate(over="ignore"):
            weights = solution.weights * unit
            intercept = solution.intercept * unit + targets.centre
        if not (np.isfinite(weights).all() and np.isfinite(intercept).all()):
            raise ValueError(
                f"The targets are so large (about {unit:.2g}) that weights in these units are "
                "beyond the range of float64: divide the targets by a constant."
            )
        return cls(weights, intercept, evidence)

    def in_own_units(self, targets: Targets) -> tuple[Array, Array]:
        """Weights and intercept in the units of the encoded targets."""
        unit = targets.score_unit
        return self.weights / unit, (self.intercept - targets.centre) / unit


def why_stopped(converged: bool, settled: bool | None) -> str:
    """Why the gap of a fit is not below the tolerance, in words; empty where it is, or not known.

    >>> why_stopped(False, True)
    'on purpose: more steps would hardly change the predictions, whatever the gap'
    """
    if converged or settled is None:
        return ""
    if settled:
        return "on purpose: more steps would hardly change the predictions, whatever the gap"
    return "the solver stopped before the gap was below its tolerance"


def warn_unconverged(evidence: Evidence, tol: float, max_iter: int) -> None:
    """Warn where a solver stopped before the gap was below the tolerance.

    One that stopped before `max_iter` made no progress any more: more iterations change nothing.
    """
    if not evidence.converged:
        share = evidence.gap / max(evidence.objective, 1e-300)
        gap = f"a relative gap of {share:.2g}, above tol={tol}"
        if evidence.solver.startswith("direct"):
            message = (
                f"{evidence.solver}: rounding leaves {gap}. Use solver=ks.Solver(dtype='float64') "
                "or a larger alpha."
            )
        elif evidence.iterations < max_iter:
            message = (
                f"{evidence.solver} made no progress after {evidence.iterations} iterations, with "
                f"{gap}. Use a larger alpha, or raise tol of ks.Solver to accept the fit."
            )
        else:
            stopped = f"{evidence.solver} stopped after {evidence.iterations} iterations"
            more = f"solver=ks.Solver(max_iter={10 * evidence.iterations})"
            message = f"{stopped} with {gap}. Raise max_iter ({more}), tol of ks.Solver, or alpha."
        warn(message, ConvergenceWarning)
