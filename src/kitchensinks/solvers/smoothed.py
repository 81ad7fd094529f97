"""Kinked losses without state for each row: smooth the kink, solve, reduce the smoothing.

The Moreau envelope of a loss, min_u loss(y, u) + (u - s)²/(2·width), has the conjugate
loss*(y, a) + width·a²/2, so that its slopes lie in the domain of loss* and certify the loss itself
(Nesterov 2005). At the optimum of the smoothed problem the gap of the true one is at most
width/4·(high - low)² times the share of rows within `width` of their kink: few rows, so that the
kink need not be sharp. Only the weights pass from one step to the next, which suits rows on a
cluster; for rows in this process `solve_nonsmooth` is faster.
"""

from dataclasses import dataclass, replace

import numpy as np

from kitchensinks.problem.losses import Array, Kinked, Loss
from kitchensinks.problem.problem import Callback, Problem, Solution, certified_gap
from kitchensinks.solvers.needs import Needs, kinked
from kitchensinks.solvers.quadratic import FactoredGram
from kitchensinks.solvers.smooth import Keep, solve_smooth

# The first width, as a part of the loss at score zero.
FIRST_WIDTH = 0.3
# A width is at least halved, and at most divided by this, from one problem to the next.
SHARPEST = 30.0
# Each smoothed problem is solved to this part of the gap that its width is good for.
INNER = 0.3
# Smoothed problems at most.
MOST_WIDTHS = 12

# Problems that the method solves; others are refused before the first pass.
NEEDS = Needs("smoothing", smooth=False, bounded=True)


@dataclass(frozen=True)
class Smoothed(Loss):
    """The Moreau envelope of a kinked loss: a parabola within `width` of the kink.

    >>> from kitchensinks.problem.losses import Hinge
    >>> loss, one = Smoothed(Hinge(), 0.5), np.ones((1, 1))
    >>> float(loss.value(one, 0.0 * one)[0, 0]), float(loss.slope(one, 0.75 * one)[0, 0])
    (0.75, -0.5)
    """

    base: Kinked
    width: float

    name = "smoothed"
    tasks = ()

    @property
    def curvature_bound(self) -> float:  # type: ignore[override]
        return 1.0 / self.width

    def value(self, targets: Array, scores: Array) -> Array:
        slope = self.slope(targets, scores)
        return slope * (scores - targets) - 0.5 * self.width * slope**2

    def slope(self, targets: Array, scores: Array) -> Array:
        return self.base.prox_slope(targets, scores, self.width)

    def curvature(self, targets: Array, scores: Array) -> Array:
        low, high = self.base.slopes(targets)
        free = (scores - targets) / self.width
        return np.where((free > low) & (free < high), 1.0 / self.width, 0.0)

    def conjugate(self, targets: Array, dual: Array) -> Array:
        return self.base.conjugate(targets, dual) + 0.5 * self.width * dual**2


def solve_smoothed(
    problem: Problem,
    *,
    factored: FactoredGram,
    tol: float = 1e-3,
    max_iter: int = 200,
    callback: Callback | None = None,
    start: tuple[Array, Array] | None = None,
    keep: Keep | None = None,
) -> Solution:
    """Minimise a kinked loss to a relative gap of `tol`; with neither penalty nor ball, an error.

    `start` and `keep` are those of `solve_smooth`.
    """
    NEEDS.check(problem)
    loss = kinked(problem.loss)
    first_pass, done = problem.design.passes, 0
    width = max(FIRST_WIDTH * problem.scale, np.finfo(float).tiny)
    best: Solution | None = None
    bound = -np.inf
    inner = 0.1
    for _ in range(MOST_WIDTHS):

        def report(iteration: int, objective: float, gap: float, done: int = done) -> None:
            if callback is not None:
                callback(done + iteration, objective, gap)

        smooth = replace(problem, loss=Smoothed(loss, width))
        found = solve_smooth(
            smooth,
            factored=factored,
            tol=inner,
            max_iter=max_iter - done,
            callback=report,
            start=start,
            keep=keep,
        )
        done += found.iterations
        start = found.weights, found.intercept + problem.mean @ found.weights
        # The true objective of the weights, and the bound that the smoothed slopes give.
        columns, scores, slopes = problem.visit(found.weights, found.intercept, smooth.loss)
        objective = float(problem.objective(found.weights, scores).sum())
        below = float(problem.dual_bound(slopes, columns).sum())
        bound = max(bound, below)
        if best is None or objective < best.objective:
            best = found._replace(objective=objective)
        gap = best.objective - bound
        converged = problem.close_enough(best.objective, gap, tol)
        if converged or done >= max_iter:
            break
        wanted = max(0.5 * tol * best.objective, np.finfo(float).tiny)
        lost = max(objective - below - found.gap, 0.0)
        width /= float(np.clip(lost / wanted, 2.0, SHARPEST))
        inner = max(INNER * tol, 1e-12)
    assert best is not None
    return best._replace(
        gap=certified_gap(best.objective - bound),
        iterations=done,
        passes=problem.design.passes - first_pass,
        converged=converged,
        solver=f"smoothed {best.solver}",
    )
