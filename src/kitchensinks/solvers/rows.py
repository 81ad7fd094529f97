"""Smooth losses with a ridge, on sparse features with fewer rows than columns: L-BFGS by rows.

The gradient in the weights is a combination of the rows, and L-BFGS from a multiple of the identity
never leaves their span (Random bases, section IV). With features centred by w,

    β = Z'γ,   u = Kγ + level,   K = ZZ',   gradient = Z'r,   r = w∘loss'(u) + 2αγ,

so that inner products of weights are those of their coefficients, γ'Kγ', and every vector that
L-BFGS keeps has the length of the rows. An iteration is one product with K, for the gradient; the
scores of every step are known before it is taken. The Fenchel gap is r'Kr/(4α) where Σ w loss'(u)
is zero: it is certified once that is small enough.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from kitchensinks.problem.design import ProductDesign
from kitchensinks.problem.losses import Array
from kitchensinks.problem.problem import Callback, Problem, Solution, certificate, certified_gap
from kitchensinks.solvers.intercept import best_shift
from kitchensinks.solvers.needs import Needs
from kitchensinks.solvers.smooth import COUPLING, ENOUGH, MANY_COLUMNS, MEMORY, SHORT

# Halvings of a step at most: a shorter one is zero up to rounding.
_HALVINGS = 40

# Problems that the method solves; others are refused before the first pass.
NEEDS = Needs("L-BFGS by rows", smooth=True, ridge=True, ball=False)


class _Vector(NamedTuple):
    """Weights Z'·coefficients and a level, the score of the mean row; image is K·coefficients."""

    coefficients: Array
    image: Array
    level: Array

    def plus(self, length: Array | float, other: "_Vector") -> "_Vector":
        return _Vector(*(a + length * b for a, b in zip(self, other, strict=True)))


# A step, the change of the gradient along it, and 1 over their inner product.
_Pair = tuple[_Vector, _Vector, Array]


def solve_by_rows(
    problem: Problem,
    *,
    tol: float = 1e-4,
    max_iter: int = 200,
    callback: Callback | None = None,
    start: Array | None = None,
) -> tuple[Solution, Array]:
    """Minimise a smooth loss to a relative gap of `tol`, with the coefficients γ of the solution.

    start (rows, outputs): the first coefficients, such as those of another ridge. The gaps that the
    callback sees are estimates; that of the solution is certified.
    """
    NEEDS.check(problem)
    first_pass = problem.design.passes
    span = _Span(problem)
    # Each vector has an image beside its coefficients.
    many = 2 * problem.design.n_rows > MANY_COLUMNS
    pairs: deque[_Pair] = deque(maxlen=SHORT if many else MEMORY)
    first = np.zeros(problem.targets.shape) if start is None else start * span.fitted[:, None]
    point = span.vector(first)
    point = point._replace(level=best_shift(problem, point.image))
    gradient, objective = span.gradient(point), span.objective(point)
    iteration, aim = 0, tol
    while True:
        total = float(objective.sum())
        gap = float(span.inner(gradient, gradient, level=False).sum()) / (4.0 * problem.alpha)
        if callback is not None:
            callback(iteration, total, gap)
        solution, moved = None, None
        if problem.close_enough(total, gap, aim):
            solution, aim = span.solution(point, tol), 0.5 * aim
            if solution.converged:
                break
        if iteration < max_iter:
            step = span.step(point, gradient, pairs)
            moved = span.search(point, step, objective, span.inner(gradient, step))
        if moved is None:
            solution = solution or span.solution(point, tol)
            break
        iteration += 1
        following = span.gradient(moved)
        taken, change = moved.plus(-1.0, point), following.plus(-1.0, gradient)
        bend = span.inner(taken, change)
        inverse = np.divide(1.0, bend, out=np.zeros_like(bend), where=bend > 1e-300)
        pairs.append((taken, change, inverse))
        point, gradient, objective = moved, following, span.objective(moved)
    passes = problem.design.passes - first_pass
    return solution._replace(iterations=iteration, passes=passes), point.coefficients


class _Span:
    """A problem in the coefficients of its rows."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.shares = problem, problem.row_weights[:, None]
        if not isinstance(problem.design, ProductDesign):
            raise TypeError(f"{NEEDS.solver} needs sparse features in memory.")
        self.design, self.fitted = problem.design, problem.row_weights > 0.0
        # z·m of each row, for the mean m.
        self.means = self.design.inner(self.shares, self.fitted) * problem.fit_intercept
        self.diagonal = float(np.mean(problem.diagonal))

    def vector(self, coefficients: Array, level: Array | float = 0.0) -> _Vector:
        """A vector with its product with the centred K.

        Multiples of w are weights of zero. Coefficients that sum to zero are kept: they are small,
        and the same weights about the mean of other rows, where another fit starts from them.
        """
        total = coefficients.sum(axis=0)
        if self.problem.fit_intercept:
            coefficients = coefficients - self.shares * total
        image = self.design.inner(coefficients, self.fitted)
        if self.problem.fit_intercept:
            image -= self.means[:, 0] @ coefficients
        return _Vector(coefficients, image, np.broadcast_to(level, total.shape))

    def inner(self, one: _Vector, two: _Vector, level: bool = True) -> Array:
        found = np.einsum("ij,ij->j", one.coefficients, two.image)
        found = found + one.level * two.level if level else found
        return found if self.problem.loss.separable else np.asarray(found.sum())

    def gradient(self, point: _Vector) -> _Vector:
        problem = self.problem
        slopes = self.shares * problem.loss.slope(problem.targets, point.image + point.level)
        level = slopes.sum(axis=0) * problem.fit_intercept
        return self.vector(slopes + 2.0 * problem.alpha * point.coefficients, level)

    def objective(self, point: _Vector) -> Array:
        loss = self.problem.mean_loss(point.image + point.level)
        return loss + self.problem.alpha * self.inner(point, point, level=False)

    def step(self, point: _Vector, gradient: _Vector, pairs: Iterable[_Pair]) -> _Vector:
        """The L-BFGS step (Nocedal and Wright, algorithm 7.4) from c·mean(diag G) + 2α."""
        problem, pairs = self.problem, list(pairs)
        curvature = problem.row_sum(problem.loss.curvature, point.image + point.level)
        floor = 1e-4 * min(problem.loss.curvature_bound, 1.0)
        curvature = np.maximum(curvature * (1.0 if problem.loss.separable else COUPLING), floor)
        move, shares = _Vector(*(-part for part in gradient)), []
        for taken, change, inverse in reversed(pairs):
            shares.append(inverse * self.inner(taken, move))
            move = move.plus(-shares[-1], change)
        scale = 1.0 / (curvature * self.diagonal + 2.0 * problem.alpha)
        move = _Vector(move.coefficients * scale, move.image * scale, move.level / curvature)
        for (taken, change, inverse), share in zip(pairs, reversed(shares), strict=True):
            move = move.plus(share - inverse * self.inner(change, move), taken)
        return move

    def search(
        self, point: _Vector, step: _Vector, objective: Array, promise: Array
    ) -> _Vector | None:
        """The point after the full step, or the first halving of each output's that keeps its
        promise; None if no length helps."""
        # Objectives that differ by rounding count as equal.
        ceiling, length = objective + 1e-14 * np.abs(objective), np.ones_like(promise)
        for _ in range(_HALVINGS):
            moved = point.plus(length, step)
            too_long = self.objective(moved) > ceiling + ENOUGH * length * promise
            if not too_long.any():
                return moved
            length = np.where(too_long, 0.5 * length, length)
        return None

    def solution(self, point: _Vector, tol: float) -> Solution:
        """The weights of a point with the best intercept, certified."""
        problem = self.problem
        weights = self.design.adjoint(point.coefficients)
        scores = self.design.scores(weights)
        intercept = best_shift(problem, scores)
        if not problem.loss.separable:
            # Adding a number to the scores of all classes changes nothing.
            intercept = intercept - float(np.mean(intercept))
        objective, gap = certificate(problem, weights, intercept)
        return Solution(
            weights=weights,
            intercept=intercept,
            objective=objective,
            gap=certified_gap(gap),
            iterations=0,
            passes=0,
            converged=problem.close_enough(objective, gap, tol),
            solver="l-bfgs by rows",
        )
