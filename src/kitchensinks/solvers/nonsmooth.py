"""Kinked losses, hinge and quantile: ADMM in the metric of the Gram, then Newton on what is left.

The scores are split off as u = Z·β + b and the loss is minimised in u alone, entry by entry:

    minimise   Σ w loss(y, u) + alpha·‖β‖² + (0 if δ is in the ball)   where   u = Z·β + b, δ = β.

The alternating direction method of multipliers (Boyd et al. 2011, section 3.4) with penalty ρ on
the first equation makes the β-step a ridge regression with the fixed Gram, free once factored, and
keeps the multiplier λ in the domain of the conjugate, so that λ certifies the answer. The copy δ of
the weights exists only where there is a ball. Each iteration is one traversal.

ADMM reaches a relative gap of 1e-3 in some 30 to 90 iterations and slows down after that. From
there the method of multipliers (Rockafellar 1976) goes on, one output at a time: β and b minimise
the augmented Lagrangian by semismooth Newton steps, whose Hessian needs only the few rows that are
at their kink (λ strictly inside its interval), and then λ moves. Each step is two traversals.
"""

from copy import copy
from dataclasses import replace

import numpy as np

from kitchensinks.problem.constraints import SupBall
from kitchensinks.problem.losses import Array, Kinked
from kitchensinks.problem.problem import Callback, Problem, Solution, certified_gap
from kitchensinks.solvers.cholesky import ridge_solve
from kitchensinks.solvers.implicit import ImplicitGram
from kitchensinks.solvers.intercept import best_shift
from kitchensinks.solvers.needs import Needs, kinked
from kitchensinks.solvers.quadratic import FactoredGram

# Over-relaxation: each step goes this much of the way.
RELAXATION = 1.6
# Iterations between two certificates, at which the penalties change too.
CHECK_EVERY = 5
# First penalty, relative to the loss of the best constant score.
FIRST_PENALTY = 0.1
# Residuals of scores are relative to their spread, and at least to this share of the same loss:
# while all weights are nearly zero, penalties would grow until none of them can move.
LEAST_SPREAD = 1e-4
# Most ADMM iterations for each output: ADMM serves all outputs at once, Newton one by one.
ADMM_ITERATIONS = 100
# Share of the full Gram in Newton's Hessian, because few rows may be at their kink.
DAMPING = 1e-5
# The multipliers move once a Newton step promises less than this part of the gap.
INNER_TOL = 0.1
# Newton stops, not converged, after this many steps without progress: a tolerance below rounding is
# never met.
STALLED = 40
# Steps that are shorter, as a part of Newton's, are zero up to rounding.
SHORTEST = 1e-12
# A step makes progress if it lowers the gap to less than this part of the smallest so far.
FALLING = 0.9

# Problems that the method solves; others are refused before the first pass.
NEEDS = Needs("ADMM", smooth=False)


def solve_nonsmooth(
    problem: Problem,
    *,
    factored: FactoredGram | ImplicitGram,
    tol: float = 1e-3,
    max_iter: int = 1000,
    callback: Callback | None = None,
    newton: bool = True,
) -> Solution:
    """Minimise a kinked loss, as it is, to a relative gap of `tol`; all outputs at once.

    `newton`: whether Newton steps follow where ADMM slows down, after ADMM_ITERATIONS.

    With neither penalty nor ball the gap cannot be small; `converged` then says that both
    relative residuals of ADMM are below `tol`, or that the multipliers of the Newton phase, whose
    gradient is below `tol`, would give such a gap.
    """
    NEEDS.check(problem)
    n_outputs, first_pass = problem.targets.shape[1], problem.design.passes
    best = _Best(problem, callback)
    state = _Admm(problem, kinked(problem.loss), factored, best)
    # Newton needs a Gram: without one ADMM goes on alone.
    has_gram = isinstance(factored, FactoredGram)
    newton_follows = has_gram and newton
    last = max_iter
    if has_gram:
        last = min(-(-max_iter // 2) if newton else max_iter, ADMM_ITERATIONS * n_outputs)
    converged = state.alternate(tol, last)
    solver = "admm"
    if newton_follows and not converged and best.iteration < max_iter:
        solver = "admm, then newton multipliers"
        finished = [_refine(state, output, tol, max_iter) for output in range(n_outputs)]
        converged = all(finished)
    objective = float(best.objective.sum())
    return Solution(
        weights=best.weights,
        intercept=best.intercept,
        objective=objective,
        gap=certified_gap(objective - float(best.bound.sum())),
        iterations=best.iteration,
        passes=problem.design.passes - first_pass,
        converged=converged,
        solver=solver,
    )


def _refine(state: "_Admm", output: int, tol: float, max_iter: int) -> bool:
    """Newton steps on one output from where ADMM left it; whether it then is close enough."""
    newton, best = _Multipliers(state, output), state.best
    least, stalled = np.inf, 0
    while not newton.close_enough(tol) and best.iteration < max_iter and stalled < STALLED:
        best.iteration += 1
        newton.step(tol)
        best.report()
        stalled = 0 if newton.gap < FALLING * least else stalled + 1
        least = min(least, newton.gap)
    return newton.close_enough(tol)


class _Best:
    """The best feasible weights with their exact intercept, and the best dual bound so far."""

    def __init__(self, problem: Problem, callback: Callback | None) -> None:
        self.problem, self.callback, self.iteration = problem, callback, 0
        n_outputs = problem.targets.shape[1]
        self.weights = np.zeros((problem.design.n_columns, n_outputs))
        self.intercept = np.zeros(n_outputs)
        self.objective = np.full(n_outputs, np.inf)
        self.bound = np.zeros(n_outputs)

    def of(self, output: slice) -> "_Best":
        """The record of some outputs, which stays a part of this one."""
        part = copy(self)
        part.problem = replace(self.problem, targets=self.problem.targets[:, output])
        part.weights, part.intercept = self.weights[:, output], self.intercept[output]
        part.objective, part.bound = self.objective[output], self.bound[output]
        return part

    def look(self, weights: Array, scores: Array, dual: Array, dual_columns: Array) -> None:
        """Feasible weights with their scores, and a dual vector with Z' of its columns."""
        shift = best_shift(self.problem, scores)
        objective = self.problem.objective(weights, scores + shift)
        better = objective < self.objective
        self.weights[:, better] = weights[:, better]
        self.intercept[better] = shift[better]
        np.fmin(self.objective, objective, out=self.objective)
        np.fmax(self.bound, self.problem.dual_bound(dual, dual_columns), out=self.bound)

    @property
    def gap(self) -> float:
        return float((self.objective - self.bound).sum())

    def close_enough(self, tol: float, gap: float = np.inf) -> bool:
        """Whether the gap, or a smaller one that is given, is small enough."""
        return self.problem.close_enough(float(self.objective.sum()), min(self.gap, gap), tol)

    def report(self) -> None:
        if self.callback is not None:
            self.callback(self.iteration, float(self.objective.sum()), self.gap)


class _Admm:
    """Weights, split scores u and multipliers λ of all outputs; image: Z'w(u − λ/ρ) of the last."""

    image: Array

    def __init__(
        self, problem: Problem, loss: Kinked, factored: FactoredGram | ImplicitGram, best: _Best
    ) -> None:
        self.problem, self.loss, self.factored, self.best = problem, loss, factored, best
        n_rows, n_outputs = problem.targets.shape
        self.weights = np.zeros((problem.design.n_columns, n_outputs))
        self.intercept = best_shift(problem, np.zeros_like(problem.targets))
        self.scores = np.tile(self.intercept, (n_rows, 1))
        self.split, self.previous_split = self.scores.copy(), self.scores.copy()
        self.dual = np.zeros((n_rows, n_outputs))
        null = problem.mean_loss(self.scores)
        self.penalty = FIRST_PENALTY / np.where(null > 0.0, null, 1.0)
        self.least_spread = LEAST_SPREAD * null
        # The copy of the weights that stays in the ball, with its own multiplier and penalty.
        self.copy, self.previous_copy = self.weights.copy(), self.weights.copy()
        self.copy_dual = np.zeros_like(self.weights)
        # Where all features are constant, any unit will do.
        self.curvature = factored.trace if factored.trace > 0.0 else 1.0
        self.copy_penalty = self.penalty * self.curvature / problem.design.n_columns
        self.residual = np.inf

    def alternate(self, tol: float, last: int) -> bool:
        """Iterate until the gap is below `tol` of the objective, and at most `last` times."""
        while True:
            iteration = self.best.iteration
            checking = iteration % CHECK_EVERY == 0 or iteration == last
            self.move_scores(checking)
            if checking:
                self.best.report()
                converged = self.best.close_enough(tol)
                converged = converged or (not self.problem.bounded and self.residual <= tol)
                if converged or iteration == last:
                    return converged
            self.move_weights()
            self.best.iteration += 1

    def move_scores(self, checking: bool) -> None:
        """u and λ from the scores, and Z' of what the next weights need, in one traversal."""
        problem, penalty = self.problem, self.penalty
        n_outputs = len(penalty)
        feasible_scores = np.empty_like(self.scores)
        watched = self.weights
        if checking and problem.constraint is not None:
            watched = np.hstack([self.weights, self.copy])
        self.previous_split = self.split.copy()

        def respond(rows: slice, raw: Array) -> Array:
            scores = raw[:, :n_outputs] + self.intercept
            relaxed = RELAXATION * scores + (1.0 - RELAXATION) * self.split[rows]
            aim = relaxed + self.dual[rows] / penalty
            dual = self.loss.prox_slope(problem.targets[rows], aim, 1.0 / penalty)
            split = aim - dual / penalty
            self.scores[rows], self.split[rows], self.dual[rows] = scores, split, dual
            weighted = problem.row_weights[rows, None]
            if not checking:
                return np.asarray(weighted * (split - dual / penalty))
            feasible_scores[rows] = raw[:, -n_outputs:]
            return np.hstack([weighted * split, problem.dual_columns(rows, dual)])

        image = problem.design.sweep(watched, respond)
        if checking:
            dual_columns = image[:, n_outputs:]
            feasible = self.weights if problem.constraint is None else self.copy
            self.best.look(feasible, feasible_scores, self.dual, dual_columns)
            self._balance()
            image = image[:, :n_outputs] - problem.image_of_dual(dual_columns) / self.penalty
        self.image = image

    def move_weights(self) -> None:
        """The ridge regression of u - λ/ρ on the features, then the copy in the ball."""
        problem, penalty = self.problem, self.penalty
        level = np.zeros_like(penalty)
        if problem.fit_intercept:
            level = problem.row_weights @ (self.split - self.dual / penalty)
        linear = penalty * (self.image - np.outer(problem.mean, level))
        if problem.constraint is None:
            self.weights = self.factored.solve(penalty, linear, problem.alpha)
        else:
            linear = linear + self.copy_penalty * self.copy - self.copy_dual
            ridge = problem.alpha + 0.5 * self.copy_penalty
            self.weights = self.factored.solve(penalty, linear, ridge)
            relaxed = RELAXATION * self.weights + (1.0 - RELAXATION) * self.copy
            self.previous_copy = self.copy
            self.copy = problem.constraint.project(relaxed + self.copy_dual / self.copy_penalty)
            self.copy_dual = self.copy_dual + self.copy_penalty * (relaxed - self.copy)
        self.intercept = level - problem.mean @ self.weights

    def _balance(self) -> None:
        """Scale each penalty by the root of its primal over its dual relative residual."""

        def size(entries: Array) -> Array:
            return np.asarray(np.sqrt(self.problem.row_weights @ entries**2))

        def spread(entries: Array) -> Array:
            return size(entries - self.problem.row_weights @ entries)

        primal, dual = _relative(
            size(self.scores - self.split),
            np.maximum.reduce([spread(self.scores), spread(self.split), self.least_spread]),
            self.penalty * size(self.split - self.previous_split),
            size(self.dual),
        )
        self.residual = float(max(primal.max(), dual.max()))
        self.penalty = self.penalty * _factor(primal, dual)
        if self.problem.constraint is None:
            return
        primal, dual = _relative(
            np.linalg.norm(self.weights - self.copy, axis=0),
            np.linalg.norm(self.weights, axis=0),
            self.copy_penalty * np.linalg.norm(self.copy - self.previous_copy, axis=0),
            np.linalg.norm(self.copy_dual, axis=0),
        )
        self.copy_penalty = self.copy_penalty * _factor(primal, dual)


def _relative(
    primal: Array, primal_size: Array, dual: Array, dual_size: Array
) -> tuple[Array, Array]:
    """Both residuals relative to their own sizes; zero where the size itself is zero."""
    return (
        np.divide(primal, primal_size, out=np.zeros_like(primal), where=primal_size > 0.0),
        np.divide(dual, dual_size, out=np.zeros_like(dual), where=dual_size > 0.0),
    )


def _factor(primal: Array, dual: Array) -> Array:
    """√(primal/dual) between 1/5 and 5, and 1 where either residual is zero."""
    known = (primal > 0.0) & (dual > 0.0)
    ratio = np.divide(primal, dual, out=np.ones_like(primal), where=known)
    return np.clip(np.sqrt(ratio), 0.2, 5.0)


class _Multipliers:
    """The method of multipliers for one output, from where ADMM left it.

    The augmented Lagrangian in (β, level) is Σ w M(s) + alpha·‖β‖² + N(β), where M and N are the
    Moreau envelopes of the loss and of the ball at the multipliers; their slopes are the new
    multipliers, and M'' is the penalty on rows at their kink and zero elsewhere.
    """

    def __init__(self, state: _Admm, output: int) -> None:
        column = slice(output, output + 1)
        self.best = state.best.of(column)
        self.problem, self.loss = self.best.problem, state.loss
        assert isinstance(state.factored, FactoredGram)
        self.gram, self.curvature = state.factored.gram, state.curvature
        self.weights = state.weights[:, column]
        self.scores = self.problem.design.scores(self.weights) + state.intercept[column]
        self.intercept = state.intercept[column]
        self.dual, self.copy_dual = state.dual[:, column], state.copy_dual[:, column]
        self.penalty = float(state.penalty[output])
        self.copy_penalty = float(state.copy_penalty[output])
        self.last_gap = np.inf
        self.nearly_dual_gap = np.inf

    @property
    def gap(self) -> float:
        """The certified gap. Without penalty or ball that stays the objective itself: then the gap
        at the multipliers, which are dual feasible up to the tolerance of Newton's gradient."""
        return self.best.gap if self.problem.bounded else min(self.best.gap, self.nearly_dual_gap)

    def close_enough(self, tol: float) -> bool:
        return self.best.close_enough(tol, self.gap)

    def step(self, tol: float) -> None:
        """One Newton step with its exact length; multipliers move where it promises little."""
        problem, row_weights = self.problem, self.problem.row_weights
        dual, copy_dual = self._score_slope(self.scores), self._weight_slope(self.weights)
        low, high = self.loss.slopes(problem.targets)
        on_kink = ((dual > low) & (dual < high))[:, 0]
        curvature = np.where(on_kink, self.penalty * row_weights, 0.0)
        columns = np.hstack([curvature[:, None], problem.dual_columns(slice(None), dual)])
        hessian, images = problem.design.band(curvature[:, None], problem.mean, columns)
        self.best.look(*self._in_ball(), dual, images[:, 1:])
        if self.close_enough(tol):
            return

        total = float(curvature.sum())
        pull = row_weights @ dual * float(problem.fit_intercept)
        gradient = problem.image_of_dual(images[:, 1:]) - np.outer(problem.mean, pull)
        gradient = gradient + 2.0 * problem.alpha * self.weights + copy_dual
        border = images[:, :1] - total * problem.mean[:, None]
        hessian += DAMPING * self.penalty * self.gram + self._weight_curvature()
        # Products of float32 features are known to their rounding only.
        share = max(1e-12, float(np.finfo(problem.design.dtype).eps))
        floor = share * self.penalty * self.curvature
        hessian[np.diag_indices_from(hessian)] += 2.0 * problem.alpha + floor
        if problem.fit_intercept:
            corner = np.array([[total + DAMPING * self.penalty]])
            hessian = np.block([[hessian, border], [border.T, corner]])
            gradient = np.vstack([gradient, pull])
        step = -ridge_solve(hessian, 0.0, gradient)
        promise = -float(np.sum(gradient * step))
        move = step[: len(self.weights)]
        shift = -problem.mean @ move
        if problem.fit_intercept:
            shift = shift + step[-1]
        change = problem.design.scores(move) + shift
        length = self._exact_length(move, change)
        self.weights, self.scores = self.weights + length * move, self.scores + length * change
        self.intercept = self.intercept + length * shift

        wanted = self.best.gap if problem.bounded else tol * float(self.best.objective[0])
        if promise <= INNER_TOL * wanted and length > 0.9:
            self._move_multipliers()

    def _move_multipliers(self) -> None:
        dual, copy_dual = self._score_slope(self.scores), self._weight_slope(self.weights)
        self.dual, self.copy_dual = dual, copy_dual
        conjugate = self.problem.row_weights @ self.loss.conjugate(self.problem.targets, dual)
        self.nearly_dual_gap = float(self.best.objective[0] + conjugate.sum())
        gap = self.best.gap if self.problem.bounded else self.nearly_dual_gap
        if gap > 0.5 * self.last_gap:
            self.penalty, self.copy_penalty = 2.0 * self.penalty, 2.0 * self.copy_penalty
        self.last_gap = gap

    def _in_ball(self) -> tuple[Array, Array]:
        """The weights shrunk into the ball, and their scores without a traversal."""
        shrink, ball = 1.0, self.problem.constraint
        if ball is not None:
            size = float(ball.norm(self.weights[:, 0]))
            shrink = min(1.0, ball.radius / max(size, np.finfo(float).tiny))
        return shrink * self.weights, shrink * (self.scores - self.intercept)

    def _score_slope(self, scores: Array) -> Array:
        aim = scores + self.dual / self.penalty
        return self.loss.prox_slope(self.problem.targets, aim, 1.0 / self.penalty)

    def _weight_slope(self, weights: Array) -> Array:
        ball = self.problem.constraint
        if ball is None:
            return np.zeros_like(weights)
        aim = weights + self.copy_dual / self.copy_penalty
        return self.copy_penalty * (aim - ball.project(aim))

    def _weight_curvature(self) -> Array | float:
        """The derivative of `_weight_slope`: κ·(I - derivative of the projection)."""
        ball = self.problem.constraint
        if ball is None:
            return 0.0
        aim = (self.weights + self.copy_dual / self.copy_penalty)[:, 0]
        if isinstance(ball, SupBall):
            return np.diag(self.copy_penalty * (np.abs(aim) > ball.radius))
        size = float(np.linalg.norm(aim))
        if size <= ball.radius:
            return 0.0
        kept = ball.radius / size
        outward = np.outer(aim / size, aim / size)
        return self.copy_penalty * ((1.0 - kept) * np.eye(len(aim)) + kept * outward)

    def _exact_length(self, move: Array, change: Array) -> float:
        """Where the slope along the step turns, by bisection on stored scores."""

        def slope(length: float) -> float:
            weights = self.weights + length * move
            dual = self._score_slope(self.scores + length * change)
            loss = self.problem.row_weights @ (dual * change)
            penalty = 2.0 * self.problem.alpha * weights + self._weight_slope(weights)
            return float(loss.sum() + np.sum(penalty * move))

        low, high = 0.0, 1.0
        if slope(high) <= 0.0:
            return high
        # Where rounding makes the slope positive at all lengths, the step is zero.
        while high - low > 1e-3 * high and high > SHORTEST:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if slope(middle) > 0.0 else (middle, high)
        return high
