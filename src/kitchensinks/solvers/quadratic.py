"""The exact step in the K outer weights, from one eigen-decomposition of the Gram.

    argmin over β in a ball:   ½ c·β'Gβ - h'β + alpha·‖β‖²

Squared loss is this problem itself; every other loss solves a sequence of them, in which only c
and h change, so that one factorisation G = V diag(s) V' serves them all.
"""

from typing import Any

import numpy as np
from scipy.linalg import cho_solve, eigh
from scipy.sparse import eye_array

from kitchensinks.problem.constraints import Constraint, L2Ball, SupBall, penalty_conjugate
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import NormalEquations
from kitchensinks.problem.problem import NEGLIGIBLE, Solution, certified_gap
from kitchensinks.solvers.cholesky import definite, lower_factor, ridge_solve


class FactoredGram:
    """G = V diag(s) V' with s clipped at zero, for any number of quadratic steps.

    Off-diagonal entries whose norm is below the share `negligible` of the largest diagonal one are
    taken for zeros: solvers that certify their result may leave them out, and need no
    decomposition in coordinates that have one (those of `dual.Span`).
    """

    #: Curvature along a step stays within this factor of the mean curvature.
    trust = 5.0
    #: V, dense, or a sparse permutation where the Gram is diagonal
    vectors: Any

    def __init__(self, gram: Array, negligible: float = 0.0) -> None:
        self.gram = gram
        if negligible and np.linalg.norm(np.tril(gram, -1)) <= negligible * gram.diagonal().max():
            order = np.argsort(gram.diagonal())
            values = gram.diagonal()[order]
            self.vectors = eye_array(len(gram), format="csr")[:, order]
        else:
            # The faster driver asks for 2K² numbers of workspace, which 32-bit LAPACK can count
            # only so far.
            driver = "evd" if len(gram) < 32_000 else "evr"
            values, self.vectors = eigh(gram, driver=driver, check_finite=False)
        #: the least eigenvalue before clipping: what is below zero is rounding of the Gram
        self.lowest = float(values[0])
        self.values: Array = np.maximum(values, 0.0)
        #: the largest eigenvalue
        self.largest = float(self.values.max())
        #: eigenvalues below this are rounding errors of the largest one
        self.rounding = self.largest * len(gram) * np.finfo(float).eps
        self.trace = float(np.trace(gram))

    def apply(self, weights: Array) -> Array:
        """G·weights."""
        return np.asarray(self.gram @ weights)

    def solve(
        self,
        curvature: Array,
        linear: Array,
        alpha: float | Array,
        constraint: Constraint | None = None,
        accuracy: float = 0.0,
        near: Array | None = None,
    ) -> Array:
        """The minimiser for each column of `linear` (K, outputs), with c in `curvature` (outputs,).

        `alpha` is one number, or one for each output.
        Where the problem is singular (alpha = 0) it is the minimiser of least norm: directions of
        zero eigenvalue are left out. `accuracy` is the gap allowed inside a sup-norm ball, above
        rounding; all else is exact. `near` (K, outputs): where the Gram has negative eigenvalues,
        which are rounding, a step in a sup-norm ball is made convex about these weights.
        """
        rotated = self.vectors.T @ linear
        ridge = np.broadcast_to(2.0 * np.asarray(alpha), curvature.shape)
        spectrum = curvature * self.values[:, None] + ridge
        rounding = curvature * self.rounding
        if isinstance(constraint, L2Ball):
            spectrum += ball_multipliers(spectrum, rotated, constraint.radius, rounding)
        kept = spectrum > rounding
        coordinates = np.divide(rotated, spectrum, out=np.zeros_like(rotated), where=kept)
        weights = np.asarray(self.vectors @ coordinates)
        if isinstance(constraint, SupBall):
            for column in range(linear.shape[1]):
                if np.abs(weights[:, column]).max() <= constraint.radius:
                    continue
                hessian, pull = curvature[column] * self.gram, linear[:, column]
                hessian[np.diag_indices_from(hessian)] += ridge[column]
                if near is not None and self.lowest < 0.0:
                    convex = -2.0 * curvature[column] * self.lowest
                    hessian[np.diag_indices_from(hessian)] += convex
                    pull = pull + convex * near[:, column]
                weights[:, column] = _box_minimiser(hessian, pull, constraint.radius, accuracy)
        return weights if constraint is None else constraint.project(weights)


def minimise_quadratic(
    hessian: Array,
    point: Array,
    gradient: Array,
    alpha: float,
    constraint: Constraint | None,
    accuracy: float,
    eps: float,
) -> Array:
    """argmin over β in the ball of ½ δ'Hδ + gradient·δ + alpha·‖β‖² with δ = β - point (K,).

    `eps` is the rounding of the numbers that H was summed from: its share of the trace goes onto
    the diagonal, and in a sup-norm ball as much as H needs to be positive definite. δ = 0 is the
    minimiser where it was one before.
    """
    shifted = hessian.copy()
    diagonal = np.diag_indices_from(shifted)
    shifted[diagonal] += max(1e-14, 0.1 * eps) * float(np.trace(hessian)) + np.finfo(float).tiny
    if isinstance(constraint, SupBall):
        shifted = definite(shifted)
    linear = shifted @ point - gradient
    if isinstance(constraint, L2Ball):
        one = np.ones(1)
        return FactoredGram(shifted).solve(one, linear[:, None], alpha, constraint)[:, 0]
    if isinstance(constraint, SupBall):
        shifted[diagonal] += 2.0 * alpha
        return _box_minimiser(shifted, linear, constraint.radius, accuracy)
    return ridge_solve(shifted, 2.0 * alpha, linear)


def ball_multipliers(spectrum: Array, rotated: Array, radius: float, rounding: Array) -> Array:
    """`_ball_multiplier` of each column."""
    columns = zip(spectrum.T, rotated.T, rounding, strict=True)
    return np.array([_ball_multiplier(s, r, radius, least) for s, r, least in columns])


def _ball_multiplier(spectrum: Array, rotated: Array, radius: float, rounding: float) -> float:
    """The m >= 0 for which ‖rotated/(spectrum + m)‖ = radius, or 0 where the ball is not active.

    Newton on 1/norm, which is nearly linear in m, in a shrinking bracket (Moré and Sorensen 1983).
    """
    kept = spectrum > rounding
    if np.linalg.norm(rotated[kept] / spectrum[kept]) <= radius:
        return 0.0
    size = float(np.linalg.norm(rotated))
    low, high = max(0.0, size / radius - float(spectrum.max())), size / radius
    multiplier = max(low, 1e-12 * high)
    for _ in range(100):
        shifted = spectrum + multiplier
        weights = rotated / shifted
        norm = float(np.linalg.norm(weights))
        if abs(norm - radius) <= 1e-14 * radius or high - low <= 1e-16 * high:
            break
        low, high = (multiplier, high) if norm > radius else (low, multiplier)
        multiplier += (norm / radius - 1.0) * norm**2 / float(weights @ (weights / shifted))
        if not low < multiplier < high:
            multiplier = 0.5 * (low + high)
    return multiplier


def _box_minimiser(hessian: Array, linear: Array, radius: float, accuracy: float) -> Array:
    """argmin of ½ x'Hx - h'x over |x_k| <= radius, by a primal-dual interior-point method.

    Mehrotra's predictor and corrector (Nocedal and Wright, section 16.6); a dozen Cholesky
    factorisations whatever the condition of H, where projected Newton took a hundred. Stops once
    radius·‖g‖₁ + g·x, the Fenchel gap of the quadratic at its gradient g, is below `accuracy`.
    """
    diagonal = np.diag_indices_from(hessian)
    # Of the bounds x <= radius and -x <= radius.
    sign = np.array([[1.0], [-1.0]])
    point, image = np.zeros_like(linear), np.zeros_like(linear)
    multiplier = np.maximum(sign * linear, 0.0) + np.abs(linear).mean()
    for _ in range(100):
        gradient = image - linear
        gap = radius * np.abs(gradient).sum() + gradient @ point
        rounding = 1e-13 * (point @ image + np.abs(linear) @ np.abs(point))
        if gap <= max(accuracy, rounding):
            break
        slack = np.maximum(radius - sign * point, 1e-15 * radius)
        barrier = hessian.copy()
        barrier[diagonal] += np.sum(multiplier / slack, axis=0)
        factor = lower_factor(barrier), True
        # Predictor: straight at the border.
        step = -cho_solve(factor, gradient, check_finite=False)
        change = multiplier * (sign * step / slack - 1.0)
        length = min(_room(slack, -sign * step), _room(multiplier, change))
        closeness = np.sum(multiplier * slack)
        reached = np.sum((multiplier + length * change) * (slack - length * sign * step))
        aim = (reached / closeness) ** 3 * closeness / (2 * len(point))
        # Corrector: towards a point inside, with the predictor's curvature.
        target = (aim + sign * change * step) / slack
        pull = -np.sum(sign * target, axis=0) - gradient
        step = cho_solve(factor, pull, check_finite=False)
        change = target + multiplier * (sign * step / slack - 1.0)
        length = min(_room(slack, -sign * step), _room(multiplier, change))
        point = point + length * step
        multiplier = multiplier + length * change
        image = hessian @ point
    return point


def _room(size: Array, move: Array) -> float:
    """The longest step up to 1 that keeps size + step·move above zero, with a little to spare."""
    shrink = float(np.max(-move / size))
    return min(1.0, 0.995 / shrink) if shrink > 0.0 else 1.0


def solve_squared(
    equations: NormalEquations,
    *,
    alpha: float = 0.0,
    constraint: Constraint | None = None,
    factored: FactoredGram | None = None,
    tol: float = 1e-6,
) -> Solution:
    """Squared loss in closed form, from sums alone: no pass over the rows.

    minimise squares - 2β'cross + β'·gram·β + alpha·‖β‖² over the ball, for each output.

    The gap is R(β) + R*(v) - v·β with v = 2·(cross - gram·β), the Fenchel gap at the slopes of the
    loss. With neither penalty nor ball it is ¼ v'G⁺v, the exact distance to the least objective.

    >>> one, zero = np.ones((1, 1)), np.zeros(1)
    >>> equations = NormalEquations(1.0, zero, one, zero, 2 * one, np.array([5.0]), 1.0, 1)
    >>> solution = solve_squared(equations, alpha=1.0)
    >>> solution.weights, solution.objective, solution.converged
    (array([[1.]]), 3.0, True)
    """
    gram, cross = equations.gram, equations.cross
    factored = FactoredGram(gram) if factored is None else factored
    twice = np.full(cross.shape[1], 2.0)
    weights = factored.solve(twice, 2.0 * cross, alpha, constraint)
    image = gram @ weights
    ridge = alpha * np.sum(weights**2, axis=0)
    loss = equations.squares - np.sum(weights * (2.0 * cross - image), axis=0)
    objective = float(np.sum(np.maximum(loss, 0.0) + ridge))
    pull = 2.0 * (cross - image)
    if constraint is None:
        rotated = factored.vectors.T @ (pull - 2.0 * alpha * weights)
        spectrum = factored.values if alpha == 0.0 else np.full_like(factored.values, alpha)
        kept = spectrum > (factored.rounding if alpha == 0.0 else 0.0)
        gap = float(np.sum(rotated[kept] ** 2 / (4.0 * spectrum[kept, None])))
    else:
        conjugate = penalty_conjugate(pull, alpha, constraint)
        gap = certified_gap(float(np.sum(conjugate + ridge - np.sum(pull * weights, axis=0))))
    return direct_solution(equations, weights, objective, gap, tol, "eigen-decomposition")


def direct_solution(
    equations: NormalEquations, weights: Array, objective: float, gap: float, tol: float, way: str
) -> Solution:
    """Weights that a factorisation gave, with their certificate."""
    return Solution(
        weights=weights,
        intercept=equations.intercept(weights),
        objective=objective,
        gap=gap,
        iterations=1,
        passes=0,
        converged=gap <= tol * max(objective, NEGLIGIBLE * float(equations.squares.sum())),
        solver=f"direct ({way})",
    )
