"""The free intercept: the shift of all scores that minimises their weighted loss."""

from typing import Any

import numpy as np

from kitchensinks.numerics.simplex import softmax
from kitchensinks.problem.design import RowVector
from kitchensinks.problem.losses import Array, Kinked, Loss
from kitchensinks.problem.problem import Problem

# exp(-40) is below rounding: where a loss is never zero, intercepts stop this far past a target.
FARTHEST_MARGIN = 40.0


def best_shift(problem: Problem, scores: Any) -> Array:
    """The shift of each column of scores that minimises its weighted loss: exact in 1-D.

    Zero without an intercept. Where the loss has no minimum (one class only, logistic or
    exponential) the shift stops FARTHEST_MARGIN past the last target: the loss is then negligible.
    """
    if not problem.fit_intercept:
        return np.zeros(problem.targets.shape[1])
    if isinstance(problem.loss, Kinked):
        return kink_shift(problem.loss, problem.targets, scores, problem.row_weights)
    if problem.loss.separable:
        return _shift_by_newton(problem, scores)
    return _shift_of_shares(problem, scores)


def kink_shift(loss: Kinked, targets: Array, scores: Array, row_weights: Array) -> Array:
    """The best shift of a kinked loss.

    The slope of Σ w loss starts at Σ w low and rises by w·(high - low) at each kink.
    """
    low, high = loss.slopes(targets)
    kinks = targets - scores
    shift = np.empty(scores.shape[1])
    for output in range(scores.shape[1]):
        order = np.argsort(kinks[:, output])
        rise = row_weights * (high[:, output] - low[:, output])
        slopes = row_weights @ low[:, output] + np.cumsum(rise[order])
        turn = min(int(np.searchsorted(slopes, -1e-14)), len(order) - 1)
        shift[output] = kinks[order[turn], output]
    return shift


def _shift_by_newton(problem: Problem, scores: RowVector) -> Array:
    """Newton on the slope in the shift, kept inside a shrinking bracket of every column."""
    loss, design = problem.loss, problem.design
    reach = 0.0 if loss.attained else FARTHEST_MARGIN
    low, high = design.reduce(_borders, problem.targets, scores, merge=np.minimum, loss=loss)
    low, high = low - reach, reach - high
    shift: Array = np.clip(np.zeros_like(low), low, high)
    for _ in range(200):
        pull, size, bend = problem.row_sum(_slopes, scores, shift=shift, loss=loss)
        low, high = np.where(pull < 0.0, shift, low), np.where(pull > 0.0, shift, high)
        step = np.divide(-pull, bend, out=np.full_like(pull, np.inf), where=bend > 0.0)
        inside = (shift + step > low) & (shift + step < high)
        moved = np.where(inside, shift + step, 0.5 * (low + high))
        done = (np.abs(pull) <= 1e-14 * size) | (moved == shift)
        if done.all():
            break
        shift = np.where(done, shift, moved)
    return np.asarray(shift)


def _borders(targets: Array, scores: Array, loss: Loss) -> Array:
    """The least shift that is best for a row, and minus the most."""
    beyond = loss.aim(targets) - scores
    return np.stack([beyond.min(axis=0), -beyond.max(axis=0)])


def _slopes(targets: Array, scores: Array, shift: Array, loss: Loss) -> Array:
    slope = loss.slope(targets, scores + shift)
    return np.stack([slope, np.abs(slope), loss.curvature(targets, scores + shift)], axis=1)


def _shift_of_shares(problem: Problem, scores: RowVector) -> Array:
    """Newton on one shift per class: gradient Σ w (p - y), Hessian diag(Σ w p) - Σ w p p'."""
    design = problem.design

    def loss(shift: Array) -> Any:
        return problem.mean_loss(design.each(moved_scores, scores, shift=shift))

    shift: Array = np.zeros(problem.targets.shape[1])
    value = problem.mean_loss(scores)
    for _ in range(100):
        facts = design.reduce(
            _share_sums, problem.row_weights, problem.targets, scores, shift=shift
        )
        gradient, hessian = facts[0], np.diag(facts[1]) - facts[2:]
        step = np.asarray(np.linalg.lstsq(hessian, -gradient, rcond=1e-15)[0])
        if -gradient @ step <= 1e-14 * value:
            break
        step *= min(1.0, 5.0 / float(np.abs(step).max()))
        moved = loss(shift + step)
        halvings = 0
        while moved >= value and halvings < 40:
            step, halvings = 0.5 * step, halvings + 1
            moved = loss(shift + step)
        if moved >= value:
            break
        shift, value = shift + step, moved
    return shift


def _share_sums(row_weights: Array, targets: Array, scores: Array, shift: Array) -> Array:
    """Σ w (p − y), Σ w p and Σ w p p', one below the other."""
    shares = softmax(scores + shift)
    weighted = row_weights[:, None] * shares
    return np.vstack([row_weights @ (shares - targets), weighted.sum(axis=0), weighted.T @ shares])


def moved_scores(scores: Array, shift: Array) -> Array:
    return scores + shift
