"""Fewer rows than features: the same problem in the span of the rows.

Random bases, section IV: where n < K it is cheaper to work with the n × n matrix of inner
products. With B = √w·(Z − z̄) and BB' = U diag(s) U', the weights of any ridge or 2-norm problem
lie in the span V = B'U/√s of the rows, and ‖Vβ̃‖ = ‖β̃‖: the problem in β̃ has the features
(Z − z̄)V, whose Gram is diag(s), and at most n of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from kitchensinks.numerics.arrays import Matrix
from kitchensinks.problem.losses import Array
from kitchensinks.tables.arrays import block_slices

# Columns of dense features converted to float64 at a time.
_CHUNK = 4096
# Differences of features by this many units of rounding are not significant.
_UNITS = 16.0


@dataclass(frozen=True, eq=False)
class Span:
    """The span of n rows of features Z (n, K), dense or sparse, with weights that sum to one.

    coordinates (n, rank) are the rows' own; values (rank,) the eigenvalues s; half (n, rank) is
    √w·U/√s, so that V = (Z − z̄)'·half.
    """

    rows: Matrix
    mean: Array
    coordinates: Array
    values: Array
    half: Array

    @classmethod
    def of(cls, rows: Matrix, shares: Array, fit_intercept: bool) -> "Span":
        mean = _image(rows, shares[:, None])[:, 0] * float(fit_intercept)
        inner = _inner(rows, rows, mean)
        root = np.sqrt(shares)
        values, vectors = eigh(root[:, None] * inner * root, check_finite=False)
        largest = float(values.max(initial=0.0))
        rounding = largest * len(values) * np.finfo(float).eps + np.finfo(float).tiny
        kept = values > max(rounding, _unresolved(rows, mean, float(values.sum())))
        if not kept.any():
            # All rows are equal up to rounding: one direction with eigenvalue zero.
            nothing = np.zeros((len(shares), 1))
            return cls(rows, mean, nothing, np.zeros(1), nothing)
        half = root[:, None] * vectors[:, kept] / np.sqrt(values[kept])
        return cls(rows, mean, inner @ half, values[kept], half)

    def lift(self, weights: Array) -> Array:
        """Vβ̃: weights of the features themselves, shape (K, outputs)."""
        within = self.half @ weights
        return _image(self.rows, within) - np.outer(self.mean, within.sum(axis=0))

    def squares(self, shares: Array) -> Array:
        """The mean square of each feature, shape (K,)."""
        square = self.rows.multiply(self.rows) if hasattr(self.rows, "multiply") else self.rows**2
        return np.asarray(shares @ square)

    def inverse(self, alpha: float) -> Array:
        """1/(s + alpha), shape (rank,); zero where both are zero, as for equal rows."""
        shifted = self.values + alpha
        return np.divide(1.0, shifted, out=np.zeros_like(shifted), where=shifted > 0.0)

    def freedom(self, alpha: float) -> float:
        """Σ s/(s + alpha), the effective number of directions that a ridge leaves."""
        return float(self.values @ self.inverse(alpha))

    def place(self, features: Matrix) -> tuple[Array, Array]:
        """(z − z̄)V for other rows, shape (n, rank), and their squared lengths ‖z − z̄‖²."""
        inside = _inner(features, self.rows, self.mean) @ self.half
        squares = features.multiply(features) if hasattr(features, "multiply") else features**2
        length = np.asarray(squares.sum(axis=1)).ravel() - 2.0 * (features @ self.mean)
        return inside, length + float(self.mean @ self.mean)


def _unresolved(rows: Matrix, mean: Array, spread: float) -> float:
    """Largest eigenvalue that rounding of features with this mean and spread can cause.

    A feature z has a rounding error of ε·|z|, so that rows that differ by no more are equal. The
    inner products of sparse rows, which are not centred, have rounding errors as well.
    """
    length = float(mean @ mean) + max(spread, 0.0)
    least = (_UNITS * float(np.finfo(rows.dtype).eps)) ** 2
    if hasattr(rows, "toarray"):
        least = max(least, _UNITS * float(np.finfo(float).eps))
    return least * length


def _chunks(rows: Matrix) -> Iterator[slice]:
    """Slices of the columns: a few at a time for dense rows, so that float64 copies stay small."""
    return block_slices(rows.shape[1], rows.shape[1] if hasattr(rows, "toarray") else _CHUNK)


def _image(rows: Matrix, columns: Array) -> Array:
    """Z'·columns in float64, shape (K, columns)."""
    parts = [rows[:, part].T.astype(np.float64) @ columns for part in _chunks(rows)]
    return np.concatenate(parts)


def _inner(rows: Matrix, others: Any, mean: Array) -> Array:
    """(z − z̄)·(z' − z̄) for every pair of rows, in float64."""
    product = np.zeros((rows.shape[0], others.shape[0]))
    for part in _chunks(rows):
        one = rows[:, part].astype(np.float64)
        two = one if rows is others else others[:, part].astype(np.float64)
        if hasattr(one, "toarray") or hasattr(two, "toarray"):
            product += one @ two.T
            product -= (one @ mean[part])[:, None]
            product -= two @ mean[part]
            product += float(mean[part] @ mean[part])
        else:
            one -= mean[part]
            # The product of an array with its own transpose takes half as long.
            product += one @ (one if rows is others else two - mean[part]).T
    return product
