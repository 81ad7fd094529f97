"""Stochastic gradients with features redrawn from the seed: only the weights are stored.

After the doubly stochastic functional gradients of Dai et al. (2014): a step takes a batch of
rows, and the features of the batch part by part, each part drawn from the seed when it is needed
and discarded again. Memory is one part of the draw, one part of the batch's features and the
weights, however many features there are. The step is constant for smooth losses, and the weights
are averaged; plain descent with a given step does not average.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.problem.constraints import Constraint
from kitchensinks.problem.losses import Array, Loss
from kitchensinks.solvers.conjugate import Equations, Stop, conjugate_gradients

# Length of a step, in units of the longest stable gradient step.
REACH = 20.0
# Assumed curvature of kinked losses.
KINK = 0.3
# Steps after which the curvature of kinked losses grows as √steps.
STEADY_STEPS = 50
# Relative residual of the equations of one step.
_RESIDUAL = 1e-3
# Most products with the matrix of a batch in one step.
_MOST_PRODUCTS = 40
# Parts of the features of one batch: (columns, features).
Parts = Callable[[], Iterator[tuple[slice, AnyArray]]]


@dataclass
class StochasticState:
    """Weights (K, outputs) and intercept, their running averages, and the steps taken so far."""

    weights: Array
    intercept: Array
    mean_weights: Array
    mean_intercept: Array
    steps: int = 0

    @classmethod
    def at(cls, weights: Array, intercept: Array, steps: int = 0) -> "StochasticState":
        """Weights that are their own averages."""
        return cls(weights.copy(), intercept.copy(), weights.copy(), intercept.copy(), steps)


@dataclass(frozen=True)
class Objective:
    """Σ s·loss(y, u) + alpha·‖β‖² in the ball of the constraint; step: of plain descent."""

    loss: Loss
    alpha: float
    fit_intercept: bool
    constraint: Constraint | None = None
    step: float | None = None


def stochastic_step(
    state: StochasticState,
    parts: Parts,
    objective: Objective,
    targets: Array,
    shares: Array,
    emphasis: float,
) -> Array:
    """One step on one batch of rows, in place; returns the batch's scores before the step.

    `parts()` walks the features of the batch twice; targets (n, outputs); shares (n,) sum to one;
    the batch counts `emphasis` times as much as the others.
    The step is that of the proximal point, (I/step + c·K)⁻¹·slope in the space of the batch, K its
    n × n matrix of inner products with largest eigenvalue λ: stable at step = 20/(c·λ), so that
    weak directions move twenty times as far as a plain gradient could take them. c is the bound
    on the loss's curvature; twice its mean over the batch for the exponential loss; for kinked
    losses it grows as √steps, so that their steps shrink. A step that is given is that of plain
    descent: β ← (β − step·gradient)/(1 + 2·alpha·step).
    Weights that leave the ball are put back to its border; averages of those in it stay inside.
    """
    loss, fit_intercept = objective.loss, objective.fit_intercept
    scores = np.tile(state.intercept, (len(targets), 1))
    plain, root = objective.step is not None, np.sqrt(shares)[:, None]
    inner = float(fit_intercept) * (root @ root.T)
    for columns, features in parts():
        scores += features @ state.weights[columns].astype(features.dtype)
        if not plain:
            weighted = features * root.astype(features.dtype)
            inner += weighted @ weighted.T
    slope = loss.slope(targets, scores)
    state.steps += 1
    if objective.step is not None:
        step = emphasis * objective.step
        pull = step * shares[:, None] * slope
    else:
        curvature = _curvature(loss, targets, scores, shares, state.steps)
        step = emphasis * REACH / max(curvature * _largest(inner), np.finfo(float).tiny)
        pull = step * root * _proximal(step * curvature * inner, root * slope)
    shrink = 1.0 / (1.0 + 2.0 * objective.alpha * step)
    for columns, features in parts():
        move = features.T @ pull.astype(features.dtype)
        state.weights[columns] = shrink * (state.weights[columns] - move)
    if objective.constraint is not None:
        state.weights = objective.constraint.project(state.weights)
    if fit_intercept:
        state.intercept = state.intercept - pull.sum(axis=0)
    # Later steps count for more: the start is forgotten (Shamir and Zhang 2013).
    share = 1.0 if plain else 4.0 / (state.steps + 3.0)
    state.mean_weights += share * (state.weights - state.mean_weights)
    state.mean_intercept = state.mean_intercept + share * (state.intercept - state.mean_intercept)
    return scores


def _curvature(loss: Loss, targets: Array, scores: Array, shares: Array, steps: int) -> float:
    """The c of a proximal step."""
    if np.isfinite(loss.curvature_bound):
        return loss.curvature_bound
    if loss.smooth:
        return 2.0 * float(np.max(shares @ loss.curvature(targets, scores)))
    return float(KINK * max(1.0, steps / STEADY_STEPS) ** 0.5)


def _largest(matrix: Array) -> float:
    """A bound just above the largest eigenvalue of a matrix of inner products."""
    vector = np.ones(len(matrix))
    for _ in range(12):
        vector = matrix @ vector
        size = float(np.linalg.norm(vector))
        if size == 0.0:
            return 0.0
        vector /= size
    # Power iteration comes from below; the Frobenius norm is above.
    return min(1.1 * float(np.linalg.norm(matrix @ vector)), float(np.linalg.norm(matrix)))


def _proximal(matrix: Array, right: Array) -> Array:
    """(I + matrix)⁻¹·right, all columns at once, by conjugate gradients.

    The condition number is at most 1 + REACH for a batch of usual weight: a dozen products suffice.
    """
    system = Equations(lambda vector: vector + matrix @ vector, right, np.copy)
    enough = _RESIDUAL**2 * np.sum(right**2, axis=0)
    conjugate_gradients(system, Stop(enough=enough, max_iter=_MOST_PRODUCTS))
    return system.weights
