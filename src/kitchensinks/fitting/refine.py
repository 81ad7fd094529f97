"""Rounding of the sums of a direct fit: a bound on its effect, and refinement that removes it.

Products of float32 features are rounded to float32. A fit has the sums G + E and c + e in place of
those of its rows, G and c, and its weights β are off by their rounding: the gradient of the rows'
own objective is then 2(e − Eβ), so that β is ‖Eβ − e‖²/α above the optimum at most. Where that may
be more than the tolerance, residuals of the rows themselves, summed in float64, take their place:

    r = Σw(z − z̄)(y − u)/Σw − αβ,   β ← β + (G + E + αI)⁻¹r,

which is iterative refinement (Wilkinson 1963); the gap is ‖r‖²/α, without rounding of any sum.
"""

from collections.abc import Callable, Iterable
from functools import reduce

import numpy as np

from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.space import Factored, Fit
from kitchensinks.numerics.arrays import Matrix
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import NormalEquations
from kitchensinks.problem.problem import NEGLIGIBLE, Solution
from kitchensinks.solvers.quadratic import direct_solution
from kitchensinks.tables.arrays import block_slices

# A pass over all rows that adds up `residual_sums`, for some equations and weights.
Pass = Callable[[NormalEquations, Array], list[Array]]

# The largest E in directions that matter, in units of `gram_noise` (measured: up to 60, for ReLU
# features; 10 for bounded ones).
_WORST_NOISE = 60.0
# Most steps; each lowers the error by the ratio of E and α.
_STEPS = 5
# Rows whose features are made float64 at a time: few enough to stay in cache.
_PIECE = 256
# A gap of this share of the tolerance is small enough.
_ENOUGH = 0.1


def summing_error(
    solution: Solution, equations: NormalEquations, alpha: float, noise: float
) -> float:
    """The most that rounding of the sums adds to the distance from the optimum, ‖Eβ − e‖²/α.

    noise: `gram_noise`. e is as large as E times a vector of length √(Σw(y − ȳ)²/Σw / tr G).
    """
    trace = float(np.trace(equations.gram))
    if not (alpha > 0.0 and trace > 0.0):
        return 0.0
    lengths = np.linalg.norm(solution.weights, axis=0) + np.sqrt(equations.squares / trace)
    return float(np.sum((_WORST_NOISE * noise * lengths) ** 2)) / alpha


def negligible(more: float, solution: Solution, equations: NormalEquations, tol: float) -> bool:
    """Whether an error of the objective is within the tolerance."""
    scale = float(equations.squares.sum())
    return more <= tol * max(solution.objective, NEGLIGIBLE * scale)


def refined(fit: Fit, factored: Factored, settings: Settings, sums: Pass) -> Solution | None:
    """The solution by steps of refinement, or None where they do not lead to a smaller gap."""
    alpha, equations = fit.alpha, factored.equations
    best: Solution | None = None
    weights = fit.solution.weights
    for _ in range(_STEPS):
        settings.progress("residuals of the rows")
        total = sums(equations, weights)
        residual, level, errors = _residuals(total, equations, settings.fit_intercept)
        residual -= alpha * weights
        objective = float(np.sum(errors + alpha * np.sum(weights**2, axis=0)))
        gap = float(np.sum(residual**2)) / alpha
        if best is not None and not gap < best.gap:
            break
        best = direct_solution(equations, weights, objective, gap, settings.tol, "refined")
        best = best._replace(intercept=best.intercept + level)
        if negligible(gap, best, equations, _ENOUGH * settings.tol):
            break
        weights = weights + factored.solve(residual)
    return best


def added(parts: Iterable[list[Array]]) -> list[Array]:
    """Lists of arrays, added one by one; there is at least one list."""
    return reduce(lambda some, more: [a + b for a, b in zip(some, more, strict=True)], parts)


def residual_sums(
    features: Matrix, targets: Array, own: Array | None, equations: NormalEquations, weights: Array
) -> list[Array]:
    """Of a block of rows, with their weights `own`, in float64 and with r = y − u: the sums of
    (z − z̄)r, r, r² and z − z̄."""

    def of_piece(part: slice) -> list[Array]:
        centred = features[part].astype(np.float64)
        centred -= equations.mean
        residual = targets[part] - equations.target - centred @ weights
        weighted = residual if own is None else own[part, None] * residual
        first = centred.sum(axis=0) if own is None else own[part] @ centred
        return [centred.T @ weighted, weighted.sum(0), np.sum(weighted * residual, 0), first]

    return added(map(of_piece, block_slices(features.shape[0], _PIECE)))


def _residuals(
    total: list[Array], equations: NormalEquations, fit_intercept: bool
) -> tuple[Array, Array, Array]:
    """Σw(z − z̄)(y − u)/Σw, the mean of y − u, and Σw(y − u)²/Σw about it."""
    cross, level, squares, first = (one / equations.weight for one in total)
    if not fit_intercept:
        return cross, np.zeros_like(level), squares
    return cross - np.outer(first, level), level, squares - level**2
