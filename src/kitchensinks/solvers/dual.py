"""Fewer rows than features: the same problem in the span of the rows.

Random bases, section IV: where n < K it is cheaper to work with the n × n matrix of inner
products. With B = √w·(Z − z̄) and BB' = U diag(s) U', the weights of any ridge or 2-norm problem
lie in the span V = B'U/√s of the rows, and ‖Vβ̃‖ = ‖β̃‖: the problem in β̃ has the features
(Z − z̄)V, whose Gram is diag(s), and at most n of them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from kitchensinks.losses import Array


@dataclass(frozen=True, eq=False)
class Span:
    """The span of n rows of features Z (n, K), dense or sparse, with weights that sum to one.

    coordinates (n, rank) are the rows' own; values (rank,) the eigenvalues s; half (n, rank) is
    √w·U/√s, so that V = (Z − z̄)'·half.
    """

    rows: Any
    mean: Array
    coordinates: Array
    values: Array
    half: Array

    @classmethod
    def of(cls, rows: Any, shares: Array, fit_intercept: bool) -> "Span":
        mean = np.asarray(rows.T @ shares) if fit_intercept else np.zeros(rows.shape[1])
        mean = mean.astype(np.float64)
        inner = _inner(rows, rows, mean)
        root = np.sqrt(shares)
        values, vectors = eigh(root[:, None] * inner * root, check_finite=False)
        largest = float(values.max(initial=0.0))
        kept = values > max(largest * len(values) * np.finfo(float).eps, np.finfo(float).tiny)
        if not kept.any():
            # All rows are equal: one direction with nothing in it.
            nothing = np.zeros((len(shares), 1))
            return cls(rows, mean, nothing, np.zeros(1), nothing)
        half = root[:, None] * vectors[:, kept] / np.sqrt(values[kept])
        return cls(rows, mean, inner @ half, values[kept], half)

    def lift(self, weights: Array) -> Array:
        """Vβ̃: weights of the features themselves, shape (K, outputs)."""
        within = self.half @ weights
        return np.asarray(self.rows.T @ within - np.outer(self.mean, within.sum(axis=0)))

    def place(self, features: Any) -> tuple[Array, Array]:
        """(z − z̄)V for other rows, shape (n, rank), and their squared lengths ‖z − z̄‖²."""
        inside = _inner(features, self.rows, self.mean) @ self.half
        squares = features.multiply(features) if hasattr(features, "multiply") else features**2
        length = np.asarray(squares.sum(axis=1)).ravel() - 2.0 * (features @ self.mean)
        return inside, length + float(self.mean @ self.mean)


def _inner(rows: Any, others: Any, mean: Array) -> Array:
    """(z − z̄)·(z' − z̄) for every pair of rows, in float64."""
    product = rows.astype(np.float64) @ others.astype(np.float64).T
    product = np.asarray(product.toarray() if hasattr(product, "toarray") else product)
    product -= (rows @ mean)[:, None]
    product -= others @ mean - float(mean @ mean)
    return product
