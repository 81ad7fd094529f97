"""Dense designs, and least objectives by a conic solver that shares no code with the library."""

import cvxpy as cp
import numpy as np
from scipy import special

from kitchensinks.problem.constraints import L2Ball, SupBall
from kitchensinks.problem.design import Design


def design_of(features, size=64):
    """A dense design in blocks of so many rows."""

    def blocks(work=None):
        for start in range(0, len(features), size):
            block = features[start : start + size]
            rows = slice(start, start + len(block))
            yield rows, block if work is None else work(rows, block)

    return Design(blocks, *features.shape, features.dtype)


def entries(loss, y, u):
    """The loss of every row and output as a convex expression of the scores u."""
    margin, over = cp.multiply(y, u), y - u

    def tweedie():
        q, r = loss.power - 1.0, 2.0 - loss.power
        return cp.multiply(y, cp.exp(-q * u)) / q + cp.exp(r * u) / r - y**r / (q * r)

    return {
        "squared": lambda: cp.square(over),
        "hinge": lambda: cp.pos(1 - margin),
        "squared_hinge": lambda: cp.square(cp.pos(1 - margin)),
        "logistic": lambda: cp.logistic(-margin),
        "exponential": lambda: cp.exp(-margin),
        "huber": lambda: cp.huber(over, loss.delta),
        "quantile": lambda: cp.maximum(loss.tau * over, (loss.tau - 1.0) * over),
        "poisson": lambda: cp.exp(u) - margin + special.xlogy(y, y) - y,
        "gamma": lambda: cp.multiply(y, cp.exp(-u)) + u - np.log(y) - 1.0,
        "tweedie": tweedie,
        "multinomial": lambda: cp.reshape(
            cp.log_sum_exp(u, axis=1) - cp.sum(margin, axis=1), (len(y), 1), order="C"
        ),
    }[loss.name]()


def least_objective(
    features, loss, targets, shares, alpha, ball=None, fit_intercept=True, factor=1.0
):
    """min Σ shares·loss + alpha·‖β‖² with β in the ball, factor·β in a sup-norm ball."""
    weights = cp.Variable((features.shape[1], targets.shape[1]))
    scores = features @ weights
    if fit_intercept:
        scores = scores + np.ones((len(features), 1)) @ cp.Variable((1, targets.shape[1]))
    objective = cp.sum(shares @ entries(loss, targets, scores))
    objective = objective + alpha * cp.sum_squares(weights)
    limits = []
    if isinstance(ball, SupBall):
        limits = [cp.abs(factor * weights) <= ball.radius]
    if isinstance(ball, L2Ball):
        limits = [cp.norm(weights, 2, axis=0) <= ball.radius]
    return cp.Problem(cp.Minimize(objective), limits).solve(solver=cp.CLARABEL)
