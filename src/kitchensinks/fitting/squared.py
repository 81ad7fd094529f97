"""Squared loss: the ridge path with leave-one-out, one Cholesky for a given ridge, or a ball."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import eigvalsh, solve_triangular
from scipy.linalg.lapack import dlange, dpocon

from kitchensinks.fitting.refine import (
    Pass,
    added,
    negligible,
    refined,
    residual_sums,
    summing_error,
)
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.sizes import gram_noise
from kitchensinks.fitting.space import (
    Factored,
    Fit,
    LeftOut,
    TrainingSet,
    spectrum_facts,
    warn_noise,
)
from kitchensinks.numerics.arrays import Arrays, DType, Matrix
from kitchensinks.numerics.choices import strongest_least
from kitchensinks.numerics.products import solve_lower
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import Moments, NormalEquations, ridge_freedom
from kitchensinks.problem.problem import Solution
from kitchensinks.solvers.cholesky import lower_factor, ridge_factor
from kitchensinks.solvers.dual import Span
from kitchensinks.solvers.path import (
    Leaving,
    RidgePath,
    alpha_grid,
    freedom_left,
    least_freedom,
    scores_without,
)
from kitchensinks.solvers.quadratic import direct_solution, solve_squared
from kitchensinks.tables.arrays import densify

# Rounding units by which a feature times its weight is off in a prediction: feature, weight and
# product are each rounded, and functions are computed to a few units.
_SERVED_UNITS = 4.0


def fit_squared(training: TrainingSet, moments: Moments) -> Fit:
    """Solve, with a second pass over the rows for leave-one-out where alpha is chosen.

    The second pass makes the features again: that is a tenth of its cost, and keeping them would
    cost the memory that the sums save.
    """
    settings, space = training.settings, training.space
    errors = partial(_leave_one_out, training)
    fit = solve_moments(moments, settings, space.dtype, errors, settings.summed, space.span)
    if space.span is None:
        fit.moments = moments
        sums = partial(_residual_sums, training)
        return without_rounding(fit, moments, settings, space.dtype, sums)
    span, within = space.span, fit.left_out
    if within is not None:
        fit.left_out = lambda features, *rest: within(span.place(features)[0], *rest)
    fit.span = span
    fit.freedom = span.freedom(fit.alpha)
    equations = _equations(fit, moments, settings)
    squares = span.squares(training.shares)
    lifted, kind = space.lift(fit.solution), span.rows.dtype
    fit.solution = as_served(lifted, equations, kind, settings.tol, squares=squares)
    return fit


def _equations(fit: Fit, moments: Moments, settings: Settings) -> NormalEquations:
    """The normal equations of a fit, which its factor has where there is one."""
    if fit.factored is not None:
        return fit.factored.equations
    return moments.normal_equations(settings.fit_intercept)


def without_rounding(
    fit: Fit, moments: Moments, settings: Settings, dtype: DType, sums: Pass
) -> Fit:
    """The fit, refined by residuals of its rows where rounding of the sums may matter.

    dtype: of the features; sums: a pass over the rows that adds up residuals.
    """
    if settings.constraint is not None or fit.alpha <= 0.0:
        return fit
    equations = _equations(fit, moments, settings)
    noise = gram_noise(dtype, float(np.trace(equations.gram)), equations.count)
    more = summing_error(fit.solution, equations, fit.alpha, noise)
    if negligible(more, fit.solution, equations, settings.tol):
        return fit
    # The factor of a fit on a cluster has stayed there.
    solved = cholesky_fit(equations, fit.alpha, settings) if fit.factored is None else fit
    if solved is not None and solved.factored is not None:
        found = refined(fit, solved.factored, settings, sums)
        if found is not None:
            fit.solution = as_served(found, equations, dtype, settings.tol)
    return fit


def _residual_sums(
    training: TrainingSet, equations: NormalEquations, weights: Array
) -> list[Array]:
    def of_block(rows: slice, features: Matrix) -> list[Array]:
        return residual_sums(features, *training.part(rows), equations, weights)

    return added(block for _, block in training.space.fresh(work=of_block))


def solve_given(training: TrainingSet) -> Solution:
    """The solution for the rows of a space, with a given ridge."""
    return solve_moments(training.sums(), training.settings, training.space.dtype).solution


def solve_moments(
    moments: Moments,
    settings: Settings,
    dtype: DType,
    errors: Callable[["RidgeCandidates"], Array] | None = None,
    summed: DType | None = None,
    span: Span | None = None,
) -> Fit:
    """Squared loss from sums over features of a dtype, or over coordinates in a span.

    errors: of candidates on rows, (alphas, outputs), by which α="auto" is chosen; None: by
    generalised cross-validation. summed: the dtype of the products, where it is another.
    """
    if settings.alpha == "auto":
        found = RidgeCandidates.of(moments, settings, dtype, span, summed)
        known = found.path.generalised_error(found.alphas) if errors is None else errors(found)
        return found.best(known, settings)
    equations = moments.normal_equations(settings.fit_intercept)
    noise = gram_noise(summed or dtype, float(np.trace(equations.gram)), moments.count)
    alpha = float(settings.alpha)
    warn_noise(alpha, noise)
    solved = None
    if settings.constraint is None and alpha > 0.0:
        solved = cholesky_fit(equations, alpha, settings)
    if solved is None:
        solved = _eigen_fit(RidgePath(equations, settings.fit_intercept), alpha, settings)
    solved.noise = noise
    more = summing_error(solved.solution, equations, alpha, noise)
    solved.solution = as_served(solved.solution, equations, dtype, settings.tol, more)
    return solved


@dataclass(frozen=True)
class RidgeCandidates:
    """The ridge path of some sums: its strengths above the rounding error of the Gram, and that.

    dtype: of the features; summing: the rounding error of their products.
    """

    path: RidgePath
    alphas: Array
    noise: float
    dtype: DType
    summing: float

    @classmethod
    def of(
        cls,
        moments: Moments,
        settings: Settings,
        dtype: DType,
        span: Span | None = None,
        summed: DType | None = None,
    ) -> "RidgeCandidates":
        """The path of sums, as `solve_moments` has them."""
        equations = moments.normal_equations(settings.fit_intercept)
        trace = float(np.trace(equations.gram))
        path = RidgePath(equations, settings.fit_intercept)
        # A negative eigenvalue is rounding, and shows how large it is.
        summing = gram_noise(summed or dtype, trace, moments.count)
        noise = max(summing, -2.0 * path.factored.lowest)
        length = trace + float(equations.mean @ equations.mean)
        if settings.fit_intercept:
            # Products about a shift far from the mean are rounded before the mean is taken off.
            offset = moments.first / moments.weight
            noise = max(noise, 4.0 * np.finfo(float).eps * float(offset @ offset))
        served = dtype
        if span is not None:
            length, served = length + float(span.mean @ span.mean), span.rows.dtype
        least = max(noise, least_ridge(length, served))
        alphas = alpha_grid(trace)
        if alphas[-1] < least:
            # The features are constant up to rounding: a ridge of their own size leaves the mean.
            alphas = np.array([max(length, least)])
        return cls(path, alphas[alphas >= least], noise, dtype, summing)

    def best(self, errors: Array, settings: Settings) -> Fit:
        """The fit of least error, relative to each output's spread; errors (alphas, outputs)."""
        equations = self.path.equations
        spread = np.where(equations.squares > 0, equations.squares, 1.0)
        place = strongest_least((errors / spread).mean(axis=1), self.alphas)
        alpha = float(self.alphas[place])
        fit = _eigen_fit(self.path, alpha, settings)
        fit.alphas, fit.alpha_errors, fit.noise = self.alphas, errors, self.noise
        more = summing_error(fit.solution, equations, alpha, self.summing)
        fit.solution = as_served(fit.solution, equations, self.dtype, settings.tol, more)
        return fit


def least_ridge(length: float, dtype: DType) -> float:
    """The least ridge whose weights features of this mean squared length can carry.

    Weights of a ridge α are as long as σ/(2√α) for targets of deviation σ, and each feature z is
    rounded by ε·|z|: below (100·ε)²·E‖z‖² predictions could move by more than σ/200.
    """
    return (100.0 * float(np.finfo(dtype).eps)) ** 2 * length


def as_served(
    solution: Solution,
    equations: NormalEquations,
    dtype: DType,
    tol: float,
    more: float = 0.0,
    squares: Array | None = None,
) -> Solution:
    """With what rounding of features of a dtype may add to the squared error, in objective and gap.

    With d = Σ_k r_k·|β_k|, r the size of each feature's rounding, that is d² and, with the
    residuals of n rows, 2d·√(objective/n), because rows are rounded independently. Sums over the
    rows do not show it: rows to be predicted are rounded in another way than rows that were summed.
    more: what else may be added to the distance from the optimum. squares (K,): E z² of each
    feature, where the equations are about others.
    """
    squares = equations.feature_squares if squares is None else squares
    rounded = _SERVED_UNITS * float(np.finfo(dtype).eps) * np.sqrt(squares)
    sizes = rounded @ np.abs(solution.weights)
    residual = np.sqrt(max(solution.objective, 0.0) / max(1, equations.count))
    served = float(np.sum(sizes**2) + 2.0 * sizes.sum() * residual)
    objective, gap = solution.objective + served, solution.gap + served + more
    close = negligible(served + more, solution, equations, tol)
    return solution._replace(objective=objective, gap=gap, converged=solution.converged and close)


def _leave_one_out(training: TrainingSet, candidates: RidgeCandidates) -> Array:
    """Leave-one-out Σw·e²/Σw of each strength and output, in a second look at the rows."""
    path, alphas = candidates.path, candidates.alphas
    training.settings.progress("leave-one-out over the ridge path")
    total = np.zeros((len(alphas), training.targets.shape[1]))
    leaving = Leaving.of(training.settings.row_keys(), training.targets, training.weights)

    def squares(rows: slice, features: Matrix) -> Array:
        own = None if leaving is None else leaving.part(rows)
        return path.left_out_squares(features, *training.part(rows), own, alphas)

    def restore(state: Arrays) -> None:
        total[...] = state["total"]

    saved = "leave-one-out", lambda: {"total": total}, restore
    for _, block in training.blocks(squares, *saved):
        total += block
    return total / path.equations.weight


def _eigen_fit(path: RidgePath, alpha: float, settings: Settings) -> Fit:
    ball, tol = settings.constraint, settings.tol
    equations, factored = path.equations, path.factored
    solution = solve_squared(equations, alpha=alpha, constraint=ball, factored=factored, tol=tol)
    facts = spectrum_facts(factored.values, alpha, factored.rounding)
    fit = Fit(alpha, solution, errors=equations.errors(solution.weights), **facts)
    if ball is not None:
        return fit

    def left_out(features: Matrix, targets: Array, leaving: Leaving | None) -> Array:
        return path.left_out(densify(features), targets, leaving, np.array([alpha]))[:, 0]

    twice = np.full(equations.cross.shape[1], 2.0)
    solve = Factored(equations, lambda residual: factored.solve(twice, 2.0 * residual, alpha))
    return replace(fit, left_out=left_out, factored=solve)


def cholesky_fit(
    equations: NormalEquations, alpha: float, settings: Settings, fitted: Array | None = None
) -> Fit | None:
    """Squared loss with a given ridge, by one Cholesky factorisation of G + αI as it is.

    None where that is not positive definite to rounding: nothing is added to the diagonal, the
    eigenvalues then decide. `fitted`: weights that leave-one-out scores should start from in
    place of its own.
    """
    largest = float(np.diagonal(equations.gram).max())
    if alpha <= len(equations.gram) * np.finfo(float).eps * largest:
        return None
    factor = ridge_factor(equations.gram, alpha)
    if factor is None:
        return None
    one_norm = float(dlange("1", equations.gram)) + alpha
    weights = solve_lower(factor, equations.cross)
    image = equations.image(weights)
    gradient = 2.0 * (equations.cross - image - alpha * weights)
    errors = equations.errors(weights, image)
    objective = float(np.sum(errors + alpha * np.sum(weights**2, axis=0)))
    gap = float(np.sum(gradient**2)) / (4.0 * alpha)
    solution = direct_solution(equations, weights, objective, gap, settings.tol, "Cholesky")
    reciprocal, _ = dpocon(factor, one_norm, uplo="L")
    return Fit(
        alpha,
        solution,
        condition=1.0 / reciprocal if reciprocal > 0 else math.inf,
        errors=errors,
        left_out=_left_out(
            factor, equations, weights if fitted is None else fitted, settings.fit_intercept
        ),
        factored=Factored(equations, lambda residual: solve_lower(factor, residual)),
    )


def effective_dimension(gram: Array, alpha: float) -> float:
    """Σ s/(s + α) over the eigenvalues s of a Gram matrix, α ≥ 0."""
    rounding = len(gram) * np.finfo(float).eps * float(np.diagonal(gram).max())
    if alpha <= rounding:
        return float(spectrum_facts(eigvalsh(gram), alpha, rounding)["freedom"])
    return ridge_freedom(lower_factor(gram, alpha), alpha)


def left_out_of(
    equations: NormalEquations, alpha: float, settings: Settings, fitted: Array | None = None
) -> LeftOut | None:
    """Leave-one-out scores of the fit that has these sums and this ridge.

    `fitted`: its weights, where the sums are those of a sample of its rows.
    """
    fit = cholesky_fit(equations, alpha, settings, fitted) if alpha > 0.0 else None
    if fit is None:
        fit = _eigen_fit(RidgePath(equations, settings.fit_intercept), alpha, settings)
    return fit.left_out


def _left_out(
    factor: Array, equations: NormalEquations, fitted: Array, fit_intercept: bool
) -> LeftOut:
    """As RidgePath.left_out, for one α, from the Cholesky factor of G + αI."""

    def left_out(features: Matrix, targets: Array, leaving: Leaving | None) -> Array:
        centred = (densify(features) - equations.mean).astype(np.float64)
        half = solve_triangular(factor, centred.T, lower=True, check_finite=False)
        leverage = np.einsum("ij,ij->j", half, half)[:, None] + fit_intercept
        own = None if leaving is None else leaving.weights
        left = freedom_left(leverage, equations.weight, own)
        left = np.maximum(left, least_freedom(centred.dtype))
        return scores_without(targets, centred @ fitted + equations.target, left, leaving)

    return left_out
