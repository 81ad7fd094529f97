"""Squared loss: the ridge path with leave-one-out, one Cholesky for a given ridge, or a ball."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpocon, dpotrs, dtrtri

from kitchensinks.fitting.space import (
    CALIBRATION_ROWS,
    Fit,
    Settings,
    Space,
    gram_noise,
    spectrum_facts,
    sum_moments,
    warn_noise,
)
from kitchensinks.losses import Array
from kitchensinks.moments import Moments, NormalEquations
from kitchensinks.rows.keys import lowest_keys
from kitchensinks.solvers import Solution, solve_squared
from kitchensinks.solvers.path import RidgePath, alpha_grid


def fit_squared(
    space: Space,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    calibrate: bool,
    moments: Moments | None = None,
) -> Fit:
    """Sum, solve, and look once more at the rows for leave-one-out where that is asked for.

    The features are made anew for the second look: that costs a tenth of it, and keeping them
    would cost all the memory that the sums save.
    """
    if moments is None:
        moments = sum_moments(space.fresh, targets, weights, space.shift, settings)
    fit, path = solve_moments(moments, settings, space, targets, weights)
    if calibrate:
        fit.unseen = left_out_sample(space, path, targets, weights, fit.alpha, settings.keys)
    fit.moments = moments if space.span is None else None
    fit.span = space.span
    fit.weights, fit.intercept = space.lift(fit.weights, fit.intercept)
    return fit


def solve_moments(
    moments: Moments,
    settings: Settings,
    space: Space | None = None,
    targets: Array | None = None,
    weights: Array | None = None,
) -> tuple[Fit, "RidgePath | CholeskyFit"]:
    """Squared loss from sums. With the rows at hand α="auto" is leave-one-out, else generalised."""
    equations = moments.normal_equations(settings.fit_intercept)
    trace = float(np.trace(equations.gram))
    dtype = np.dtype(np.float32) if space is None else space.dtype
    noise = gram_noise(dtype, trace, moments.count)
    if settings.alpha == "auto":
        path = RidgePath(equations, settings.fit_intercept)
        # A negative eigenvalue is rounding, and shows how large it is.
        noise = max(noise, -2.0 * path.factored.lowest)
        grid = alpha_grid(trace)
        alphas = grid[grid >= noise] if (grid >= noise).any() else grid[-1:]
        if space is not None and targets is not None:
            settings.progress("leave-one-out over the ridge path")
            errors = path.leave_one_out(space.fresh(), targets, weights, alphas)
        else:
            errors = path.generalised_error(alphas)
        spread = np.where(equations.squares > 0, equations.squares, 1.0)
        alpha = float(alphas[np.argmin((errors / spread).mean(axis=1))])
        fit = _eigen_fit(equations, alpha, settings, path)
        fit.alphas, fit.alpha_errors, fit.noise = alphas, errors, noise
        return fit, path
    alpha = float(settings.alpha)
    warn_noise(alpha, noise)
    if settings.constraint is None and alpha > 0.0:
        solved = CholeskyFit.solve(equations, alpha, settings)
        if solved is not None:
            solved.fit.noise = noise
            return solved.fit, solved
    path = RidgePath(equations, settings.fit_intercept)
    fit = _eigen_fit(equations, alpha, settings, path)
    fit.noise = noise
    return fit, path


def _eigen_fit(
    equations: NormalEquations, alpha: float, settings: Settings, path: RidgePath
) -> Fit:
    solution = solve_squared(
        gram=equations.gram,
        cross=equations.cross,
        mean=equations.mean,
        target_mean=equations.target,
        target_variance=equations.squares,
        alpha=alpha,
        constraint=settings.constraint,
        factored=path.factored,
        tol=settings.tol,
    )
    facts = spectrum_facts(path.factored.values, alpha, path.factored.rounding)
    solution = solution._replace(solver="direct (eigen-decomposition)")
    errors = equations.errors(solution.weights)
    return Fit(solution.weights, solution.intercept, alpha, solution, errors=errors, **facts)


@dataclass
class CholeskyFit:
    """Squared loss with a given ridge, by one Cholesky factorisation."""

    fit: Fit
    factor: Array
    equations: NormalEquations
    fit_intercept: bool

    @classmethod
    def solve(
        cls, equations: NormalEquations, alpha: float, settings: Settings
    ) -> "CholeskyFit | None":
        """None where G + αI is not positive definite to rounding: the eigenvalues then decide."""
        shifted = np.array(equations.gram, order="F")
        diagonal = np.diag_indices_from(shifted)
        if alpha <= len(shifted) * np.finfo(float).eps * float(shifted[diagonal].max()):
            return None
        shifted[diagonal] += alpha
        one_norm = float(np.abs(shifted).sum(axis=0).max())
        try:
            factor = cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        weights = np.asarray(dpotrs(factor, equations.cross, lower=1)[0])
        gradient = 2.0 * (equations.cross - equations.gram @ weights - alpha * weights)
        errors = equations.errors(weights)
        objective = float(np.sum(errors + alpha * np.sum(weights**2, axis=0)))
        gap = float(np.sum(gradient**2)) / (4.0 * alpha)
        limit = settings.tol * max(objective, 1e-12 * float(equations.squares.sum()))
        solution = Solution(
            weights=weights,
            intercept=equations.intercept(weights),
            objective=objective,
            gap=gap,
            iterations=1,
            passes=1,
            converged=gap <= limit,
            solver="direct (Cholesky)",
        )
        reciprocal, _ = dpocon(factor, one_norm, uplo="L")
        inverse, _ = dtrtri(factor, lower=1)
        # Σ s/(s + α) = K − α·tr (G + αI)⁻¹, and that trace is ‖L⁻¹‖².
        freedom = len(factor) - alpha * float(np.vdot(inverse, inverse))
        condition = 1.0 / reciprocal if reciprocal > 0 else math.inf
        fit = Fit(
            weights,
            solution.intercept,
            alpha,
            solution,
            condition=condition,
            freedom=freedom,
            errors=errors,
        )
        return cls(fit, factor, equations, settings.fit_intercept)

    def left_out(
        self, features: Any, targets: Array, weights: Array | None, alphas: Array
    ) -> Array:
        """As RidgePath.left_out, for the one α of this fit."""
        centred = (features - self.equations.mean).astype(np.float64)
        half = solve_triangular(self.factor, centred.T, lower=True, check_finite=False)
        leverage = np.einsum("ij,ij->j", half, half) + self.fit_intercept
        copy = 1.0 if weights is None else np.minimum(weights, 1.0)
        left = np.maximum(1.0 - leverage * copy / self.equations.weight, 1e-7)[:, None]
        scores = centred @ self.fit.weights + self.equations.target
        return np.asarray((targets - (targets - scores) / left)[:, None, :])


def left_out_sample(
    space: Space,
    path: "RidgePath | CholeskyFit",
    targets: Array,
    weights: Array | None,
    alpha: float,
    keys: Callable[[], np.ndarray],
) -> tuple[np.ndarray, Array]:
    """Leave-one-out scores of a bounded sample of rows: (which rows, scores)."""
    chosen = np.arange(space.n_rows)
    if space.n_rows > CALIBRATION_ROWS:
        chosen = np.flatnonzero(lowest_keys(keys(), weights, CALIBRATION_ROWS))
    own = None if weights is None else weights[chosen]
    left = path.left_out(space.pick(chosen), targets[chosen], own, np.array([alpha]))
    return chosen, left[:, 0, :]
