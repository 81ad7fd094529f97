"""Gauss quadrature for the kernels that have no closed form."""

import numpy as np
from scipy.linalg import eigh_tridiagonal

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
    values, vectors = eigh_tridiagonal(diagonal, side)
    return values, vectors[0] ** 2
