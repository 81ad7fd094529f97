"""Quadrature rules for the kernels that have no closed form."""

from collections.abc import Callable

import numpy as np

from kitchensinks.numerics.arrays import Floats


def gauss_rule(nodes: Floats, weights: Floats, count: int) -> tuple[Floats, Floats]:
    """The `count`-point Gauss rule of a discrete law, by the Lanczos process.

    The eigenvalues of the tridiagonal matrix of the law's orthogonal polynomials
    are the nodes; the squared first components of its eigenvectors the weights.
    """
    weights = weights / weights.sum()
    basis = np.empty((count, len(nodes)))
    diagonal, side = np.empty(count), np.empty(count - 1)
    vector = np.sqrt(weights)
    for k in range(count):
        basis[k] = vector
        vector = nodes * vector
        diagonal[k] = basis[k] @ vector
        for _ in range(2):
            vector = vector - basis[: k + 1].T @ (basis[: k + 1] @ vector)
        if k < count - 1:
            side[k] = np.linalg.norm(vector)
            vector = vector / side[k]
    tridiagonal = np.diag(diagonal) + np.diag(side, 1) + np.diag(side, -1)
    values, vectors = np.linalg.eigh(tridiagonal)
    return values, vectors[0] ** 2


def interpolate(function: Callable[[float], float], count: int, half_width: float) -> Floats:
    """Chebyshev coefficients of a function of [−half_width, half_width], in units of half_width."""
    points = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    values = np.array([function(float(half_width * t)) for t in points])
    return np.polynomial.chebyshev.chebfit(points, values, count - 1)
