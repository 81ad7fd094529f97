"""Smooth losses: quasi-Newton steps in the metric of the Gram.

With c = Σ w loss''(u), the Hessian Σ w loss''(u) z z' + 2·alpha·I is close to c·G + 2·alpha·I,
whose inverse is free once G is factored. A ridge alone takes L-BFGS steps that start from this
inverse (Nocedal and Wright, algorithm 7.4). A ball takes spectral projected-gradient steps (Birgin,
Martínez and Raydan 2000): the exact minimiser in the ball of the quadratic model with c measured
along the last step. Either way an iteration is one traversal of the rows, for scores, slopes and
gradient together, and one more where the full step is too long. Where that does not converge soon
(squared hinge on rows that separate, tight balls, hardly any ridge), Newton steps follow, each with
the weighted Gram of its own point.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kitchensinks.problem.design import RowVector
from kitchensinks.problem.losses import Array, Loss
from kitchensinks.problem.problem import Callback, Problem, Solution, certified_gap, weighted_sums
from kitchensinks.solvers.implicit import DiagonalGram
from kitchensinks.solvers.intercept import best_shift, moved_scores
from kitchensinks.solvers.needs import Needs
from kitchensinks.solvers.quadratic import FactoredGram, minimise_quadratic

# Called with the best weights and the score of the mean row.
Keep = Callable[[Array, Array], None]
# Pairs of (step, change of gradient) that L-BFGS remembers.
MEMORY = 20
# Beyond this many columns each pair takes much memory.
MANY_COLUMNS = 10**6
# Pairs that L-BFGS remembers for more than MANY_COLUMNS columns.
SHORT = 6
# Steps in a ball may not rise above the largest of this many last objectives.
RECENT = 5
# A step must achieve this part of the decrease that its slope promises (Armijo).
ENOUGH = 1e-4
# A step inside a ball is computed to this part of the gap.
INNER_ACCURACY = 1e-3
# Share of the Gram in a Newton step's Hessian: rows may have no curvature.
DAMPING = 1e-7
# The Hessian of the multinomial loss couples the classes: its diagonal alone is too small.
COUPLING = 2.0

# Problems that the method solves; others are refused before the first pass.
NEEDS = Needs("quasi-Newton", smooth=True)


class _Point(NamedTuple):
    """Weights (K, outputs) with their level, the score of the mean row, and all that follows."""

    weights: Array
    level: Array
    scores: Any
    gradient: Array
    pull: Array
    objective: Array
    bound: Array
    #: c = Σ w loss''(u) of each output
    curvature: Array


class _Step(NamedTuple):
    """A move of weights and level, and the slope of the objective along it (negative)."""

    weights: Array
    level: Array
    promise: Array


class _Steps:
    """A rule that proposes steps and learns from those that were taken."""

    solver: str
    #: a step may not rise above the worst of this many last objectives
    recent = 1
    #: iterations after which Newton steps follow
    patience: int

    def __init__(self, problem: Problem, factored: FactoredGram | DiagonalGram) -> None:
        self.problem, self.factored = problem, factored

    def propose(self, point: _Point, gap: float) -> _Step:
        """A move from a point whose certified gap is given."""
        raise NotImplementedError

    def learn(self, old: _Point, new: _Point) -> None:
        """Update the rule after a step."""


def solve_smooth(
    problem: Problem,
    *,
    factored: FactoredGram | DiagonalGram,
    tol: float = 1e-4,
    max_iter: int = 200,
    callback: Callback | None = None,
    start: tuple[Array, Array] | None = None,
    keep: Keep | None = None,
) -> Solution:
    """Minimise a smooth loss to a relative gap of `tol`.

    `start`: initial weights in the ball and score of the mean row; `keep` is called with the best
    ones after each iteration.

    With neither penalty nor ball the gap cannot be small; `converged` then says that the
    quasi-Newton model promises to lower the objective by less than `tol` of it. Logistic,
    multinomial and exponential loss have no minimiser there if the classes separate: an error.
    """
    NEEDS.check(problem)
    kind = _RidgeSteps if problem.constraint is None else _BallSteps
    steps: _Steps = kind(problem, factored)
    first_pass = problem.design.passes
    if start is None:
        zero = problem.design.each(np.zeros_like, problem.targets)
        weights = np.zeros((problem.design.n_columns, problem.targets.shape[1]))
        start = weights, best_shift(problem, zero)
    point = _visit(problem, *start)
    best, bound = point, point.bound
    recent = deque([point.objective], maxlen=steps.recent)
    iteration = 0
    while True:
        objective = float(best.objective.sum())
        gap = objective - float(bound.sum())
        if callback is not None:
            callback(iteration, objective, gap)
        if keep is not None:
            keep(best.weights, best.level)
        converged = problem.close_enough(objective, gap, tol)
        if converged or iteration == max_iter:
            break
        # The Hessian of a loss that couples outputs has K·outputs rows: too many.
        newton = problem.loss.separable and iteration == steps.patience
        if newton and isinstance(factored, FactoredGram):
            steps = _NewtonSteps(problem, factored, steps.solver)
            point = best
            recent = deque([point.objective], maxlen=steps.recent)
        step = steps.propose(point, gap)
        if not problem.bounded and problem.close_enough(objective, -0.5 * step.promise.sum(), tol):
            converged = True
            break
        iteration += 1
        moved = _search(problem, point, step, np.max(recent, axis=0))
        if moved is None:
            break
        _refuse_separation(problem, moved.scores)
        steps.learn(point, moved)
        point = moved
        recent.append(point.objective)
        bound = np.fmax(bound, point.bound)
        if point.objective.sum() <= best.objective.sum():
            best = point

    weights, intercept, objective = _with_intercept(problem, best)
    return Solution(
        weights=weights,
        intercept=intercept,
        objective=objective,
        gap=certified_gap(objective - float(bound.sum())),
        iterations=iteration,
        passes=problem.design.passes - first_pass,
        converged=converged,
        solver=steps.solver,
    )


def _with_intercept(problem: Problem, best: _Point) -> tuple[Array, Array, float]:
    """Weights, the optimal intercept for them, and their objective."""
    shift = best_shift(problem, best.scores)
    if not problem.loss.separable:
        # Adding a number to the scores of all classes changes nothing: their intercepts sum to 0.
        shift = shift - float(np.mean(best.level - problem.mean @ best.weights + shift))
    scores = problem.design.each(moved_scores, best.scores, shift=shift)
    objective = float(problem.objective(best.weights, scores).sum())
    return best.weights, best.level - problem.mean @ best.weights + shift, objective


def _visit(problem: Problem, weights: Array, level: Array) -> _Point:
    """Scores, gradient, objective and dual bound in one traversal.

    `gradient` is that of the loss in the centred features, `pull` its derivative in the level.
    """
    columns, scores, slopes = problem.visit(weights, level - problem.mean @ weights)
    sums = problem.design.reduce(
        _facts,
        problem.row_weights,
        problem.targets,
        scores,
        slopes,
        loss=problem.loss,
        halved=problem.halved,
    )
    # Σ w a from its positive and its negative half, or beside Σ w y.
    pull = sums[0] - sums[1] if problem.halved else sums[1]
    pull = pull * float(problem.fit_intercept)
    loss = sums[3] if problem.loss.separable else sums[3, 0]
    floor = 1e-4 * min(problem.loss.curvature_bound, 1.0)
    return _Point(
        weights,
        level,
        scores,
        problem.image_of_dual(columns) - np.outer(problem.mean, pull),
        pull,
        loss + problem.alpha * problem.column_sum(weights**2),
        problem.dual_bound(slopes, columns, sums[:2]),
        # Kept away from zero.
        np.maximum(sums[2] * (1.0 if problem.loss.separable else COUPLING), floor),
    )


def _search(problem: Problem, point: _Point, step: _Step, ceiling: Array) -> _Point | None:
    """The full step, or the first halving of each output's step that keeps its promise.

    Halvings are judged on stored scores, without a traversal. None if no length helps.
    """
    # Objectives that differ by rounding count as equal.
    ceiling = ceiling + 1e-14 * np.abs(ceiling)
    moved = _visit(problem, point.weights + step.weights, point.level + step.level)
    if (moved.objective <= ceiling + ENOUGH * step.promise).all():
        return moved
    length = np.ones_like(step.promise)
    for _ in range(40):
        scores = problem.design.each(_between, point.scores, moved.scores, length=length)
        objective = problem.objective(point.weights + length * step.weights, scores)
        too_long = objective > ceiling + ENOUGH * length * step.promise
        if not too_long.any():
            return _visit(
                problem, point.weights + length * step.weights, point.level + length * step.level
            )
        length = np.where(too_long, 0.5 * length, length)
    return None


# -- functions of rows -------------------------------------------------------------------


def _facts(
    row_weights: Array, targets: Array, scores: Array, slopes: Array, loss: Loss, halved: bool
) -> Array:
    """What a point needs: `weighted_sums`, Σ w of loss'' and of the loss, (4, outputs).

    A loss that the outputs share stands in all of its columns.
    """
    value = row_weights @ loss.value(targets, scores)
    curvature = row_weights @ loss.curvature(targets, scores)
    beside = np.stack([curvature, np.broadcast_to(value, curvature.shape)])
    return np.vstack([weighted_sums(row_weights, targets, slopes, halved), beside])


def _between(scores: Array, others: Array, length: Array) -> Array:
    return scores + length * (others - scores)


def _bends(targets: Array, scores: Array, row_weights: Array, loss: Loss, output: int) -> Array:
    """h = w·loss''(u) of one output, (rows, 1)."""
    return row_weights[:, None] * loss.curvature(targets, scores)[:, [output]]


def _separated(row_weights: Array, targets: Array, scores: Array, separable: bool) -> Any:
    """Whether every row that counts is on its right side, for each output where they are apart."""
    counted = row_weights > 0.0
    targets, scores = targets[counted], scores[counted]
    if separable:
        return np.all(targets * scores > 0.0, axis=0)
    own = np.sum(targets * scores, axis=1)
    others = np.where(targets > 0.0, -np.inf, scores).max(axis=1)
    return np.all(own > others)


class _RidgeSteps(_Steps):
    """L-BFGS in (weights, level), each output by itself where the loss is separable."""

    solver = "l-bfgs"
    patience = 100

    def __init__(self, problem: Problem, factored: FactoredGram | DiagonalGram) -> None:
        super().__init__(problem, factored)
        many = problem.design.n_columns > MANY_COLUMNS
        self.pairs: deque[tuple[Array, Array, Array]] = deque(maxlen=SHORT if many else MEMORY)
        # Without a ridge, directions below the precision of a float32 Gram keep a finite step.
        self.alpha = max(problem.alpha, 1e-9 * factored.largest)

    def propose(self, point: _Point, gap: float) -> _Step:
        inner = self.problem.column_sum
        curvature = point.curvature
        gradient = self._gradient(point)
        move = -gradient
        shares = []
        for taken, change, inverse in reversed(self.pairs):
            share = inverse * inner(taken * move)
            move = move - share * change
            shares.append(share)
        weights = self.factored.solve(curvature, move[:-1], self.alpha)
        move = np.vstack([weights, move[-1] / curvature])
        for (taken, change, inverse), share in zip(self.pairs, reversed(shares), strict=True):
            move = move + taken * (share - inverse * inner(change * move))
        return _Step(move[:-1], move[-1], inner(gradient * move))

    def learn(self, old: _Point, new: _Point) -> None:
        taken = np.vstack([new.weights - old.weights, new.level - old.level])
        change = self._gradient(new) - self._gradient(old)
        bend = self.problem.column_sum(taken * change)
        inverse = np.divide(1.0, bend, out=np.zeros_like(bend), where=bend > 1e-300)
        self.pairs.append((taken, change, inverse))

    def _gradient(self, point: _Point) -> Array:
        return np.vstack([point.gradient + 2.0 * self.problem.alpha * point.weights, point.pull])


class _BallSteps(_Steps):
    """Exact minimisers in the ball of ½ c·δ'Gδ + gradient·δ + alpha·‖β + δ‖²."""

    solver = "spectral projected gradient"
    recent = RECENT
    patience = 40
    curvature: Array | None = None

    def propose(self, point: _Point, gap: float) -> _Step:
        problem = self.problem
        curvature = point.curvature if self.curvature is None else self.curvature
        linear = curvature * self.factored.apply(point.weights) - point.gradient
        target = self.factored.solve(
            curvature,
            linear,
            problem.alpha,
            problem.constraint,
            accuracy=INNER_ACCURACY * gap,
            near=point.weights,
        )
        weights, level = target - point.weights, -point.pull / curvature
        return _promised(problem, point, weights, level)

    def learn(self, old: _Point, new: _Point) -> None:
        """c = change of gradient · step / step'(G ⊕ 1)step, near the mean curvature."""
        weights, level = new.weights - old.weights, new.level - old.level
        bend = np.sum((new.gradient - old.gradient) * weights, axis=0)
        bend += (new.pull - old.pull) * level
        size = np.sum(weights * self.factored.apply(weights), axis=0) + level**2
        usual = new.curvature
        measured = np.divide(bend, size, out=usual.copy(), where=size > 0.0)
        trust = self.factored.trust
        self.curvature = np.clip(measured, usual / trust, usual * trust)


def _promised(problem: Problem, point: _Point, weights: Array, level: Array) -> _Step:
    """A move with its promise: the slope of the loss along it, and the change of the ridge."""
    ridge = problem.alpha * ((point.weights + weights) ** 2 - point.weights**2)
    slope = np.vstack([point.gradient * weights + ridge, point.pull * level])
    return _Step(weights, level, np.minimum(problem.column_sum(slope), 0.0))


class _NewtonSteps(_Steps):
    """Exact minimisers in the ball of the second-order model at the point, output by output.

    With h = w·loss''(u) and z̄ its weighted mean of the rows, the model in (β, score of z̄) has the
    Hessians Σ h (z - z̄)(z - z̄)' and Σ h, and no cross term.
    """

    patience = -1

    def __init__(self, problem: Problem, factored: FactoredGram, before: str) -> None:
        super().__init__(problem, factored)
        self.gram, self.solver = factored.gram, f"{before}, then newton"

    def propose(self, point: _Point, gap: float) -> _Step:
        problem = self.problem
        weights, level = np.empty_like(point.weights), np.zeros_like(point.level)
        usual = point.curvature
        rows = problem.targets, point.scores, problem.row_weights
        for output in range(len(level)):
            bend = problem.design.each(_bends, *rows, loss=problem.loss, output=output)
            hessian, image = problem.design.band(bend, problem.mean, bend)
            mass = float(problem.design.reduce(np.sum, bend))
            total = mass + DAMPING * float(usual[output])
            # What z̄ is beyond the mean of all rows.
            beyond = np.zeros(len(weights))
            if problem.fit_intercept:
                beyond = (image[:, 0] - mass * problem.mean) / total
                hessian -= total * np.outer(beyond, beyond)
            hessian += DAMPING * usual[output] * self.gram
            gradient = point.gradient[:, output] - beyond * point.pull[output]
            own = point.weights[:, output]
            target = minimise_quadratic(
                hessian,
                own,
                gradient,
                problem.alpha,
                problem.constraint,
                INNER_ACCURACY * gap,
                float(np.finfo(problem.design.dtype).eps),
            )
            weights[:, output] = target - own
            if problem.fit_intercept:
                level[output] = -point.pull[output] / total - beyond @ weights[:, output]
        return _promised(problem, point, weights, level)


def _refuse_separation(problem: Problem, scores: RowVector) -> None:
    """Raise where the loss approaches zero without reaching it: no minimiser exists."""
    if problem.bounded or problem.loss.attained:
        return
    separated = problem.design.reduce(
        _separated,
        problem.row_weights,
        problem.targets,
        scores,
        merge=np.logical_and,
        separable=problem.loss.separable,
    )
    if np.any(separated):
        raise ValueError(
            f"loss={problem.loss.name!r} with alpha=0 and constraint=None: the features separate "
            "the classes, so the weights grow without bound and no minimiser exists. Give alpha a "
            "positive value, or a constraint such as SupBall or L2Ball."
        )
