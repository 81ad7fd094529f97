"""Stochastic gradients with features made anew from the seed: nothing stored but the weights.

After the doubly stochastic functional gradients of Dai et al. (2014): a step takes a batch of
rows, and the features of the batch part by part, each part drawn from the seed when it is needed
and forgotten again. Memory is one part of the draw, one part of the batch's features and the
weights, however many features there are. The step is constant and the weights are averaged
(Bach and Moulines 2013), which for the squared and the logistic loss needs no schedule.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitchensinks.constraints import Constraint
from kitchensinks.losses import Array, Loss

# Parts of the features of one batch: (columns, features).
Parts = Callable[[], Iterator[tuple[slice, NDArray[Any]]]]


@dataclass
class StochasticState:
    """Weights (K, outputs) and intercept, their running averages, and the steps taken so far."""

    weights: Array
    intercept: Array
    mean_weights: Array
    mean_intercept: Array
    steps: int = 0

    @classmethod
    def zeros(cls, n_columns: int, n_outputs: int) -> "StochasticState":
        return cls(
            np.zeros((n_columns, n_outputs)),
            np.zeros(n_outputs),
            np.zeros((n_columns, n_outputs)),
            np.zeros(n_outputs),
        )


def stochastic_step(
    state: StochasticState,
    parts: Parts,
    loss: Loss,
    targets: Array,
    shares: Array,
    alpha: float,
    fit_intercept: bool,
    constraint: Constraint | None = None,
) -> Array:
    """One step on one batch of rows, in place; returns the batch's scores before the step.

    `parts()` walks the features of the batch twice; targets (n, outputs); shares (n,) sum to one.
    Weights that leave the ball are put back to its border; averages of those in it stay inside.
    The step is 1/(2·curvature·mean ‖(z, 1)‖²), safe for any loss of bounded curvature; for kinked
    and exponential losses, whose curvature has no bound, 1/√steps times 1/mean ‖(z, 1)‖².
    """
    scores = np.tile(state.intercept, (len(targets), 1))
    length = float(fit_intercept)
    for columns, features in parts():
        scores += features @ state.weights[columns].astype(features.dtype)
        length += float(shares @ np.einsum("ij,ij->i", features, features, dtype=np.float64))
    pull = shares[:, None] * loss.slope(targets, scores)
    state.steps += 1
    if loss.smooth and np.isfinite(loss.curvature_bound):
        step = 0.5 / (loss.curvature_bound * length)
    else:
        step = 0.5 / (length * np.sqrt(state.steps))
        # A score far on the wrong side of an exponential must not throw the weights away.
        size = np.abs(pull).sum(axis=0).max(initial=1.0)
        step /= max(1.0, size)
    shrink = 1.0 / (1.0 + 2.0 * alpha * step)
    for columns, features in parts():
        slope = features.T @ pull.astype(features.dtype)
        state.weights[columns] = shrink * (state.weights[columns] - step * slope)
    if constraint is not None:
        state.weights = constraint.project(state.weights)
    share = 1.0 / state.steps
    state.mean_weights += share * (state.weights - state.mean_weights)
    if fit_intercept:
        state.intercept = state.intercept - step * pull.sum(axis=0)
    state.mean_intercept = state.mean_intercept + share * (state.intercept - state.mean_intercept)
    return scores
