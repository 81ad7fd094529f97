"""Mergeable sums of features and targets: all that a squared-loss fit needs of the rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk, ssyrk

from kitchensinks.numerics.elementwise import affine

Floats = NDArray[np.float64]


@dataclass
class Moments:
    """Weighted sums about a fixed shift s: w, Σw(z−s), Σw(z−s)(z−s)', Σw(z−s)y', Σwy, Σwy².

    The shift is near the mean of the features and part of what is frozen before the sums
    start: products of centred float32 features lose a hundred times fewer digits. Summaries
    with the same shift merge by addition, so any partition of the rows gives the same sums.

    shift (K,); first (K,); gram (K, K), lower triangle; cross (K, outputs);
    targets, squares (outputs,). `count` is the number of rows of positive weight.
    """

    shift: Floats
    weight: float
    count: int
    first: Floats
    gram: Floats
    cross: Floats
    targets: Floats
    squares: Floats

    @classmethod
    def zeros(cls, shift: Floats, n_outputs: int) -> "Moments":
        size = len(shift)
        return cls(
            shift=shift,
            weight=0.0,
            count=0,
            first=np.zeros(size),
            gram=np.zeros((size, size), order="F"),
            cross=np.zeros((size, n_outputs)),
            targets=np.zeros(n_outputs),
            squares=np.zeros(n_outputs),
        )

    def add(self, features: NDArray[Any], targets: Floats, weights: Floats | None) -> None:
        """Add a block: features (n, K), which are overwritten, targets (n, outputs), weights (n,).

        The product is in the dtype of the features; the sum over blocks is in float64.
        """
        self.add_columns(features, targets, weights, 0)

    def add_columns(
        self, features: NDArray[Any], targets: Floats, weights: Floats | None, done: int
    ) -> None:
        """Add a block to the sums of columns `done` and later, and their products with all.

        With done = 0 that is everything; otherwise the sums over these rows of the columns
        before it, and of the targets, are there already.
        """
        dtype = features.dtype
        if self.shift.any():
            affine(features, 1.0, self.shift)
        new = features[:, done:]
        weighted = targets
        if weights is None:
            self.first[done:] += new.sum(axis=0, dtype=np.float64)
        else:
            weighted = targets * weights[:, None]
            self.first[done:] += weights.astype(dtype) @ new
        self.cross[done:] += new.T @ weighted.astype(dtype)
        if done == 0:
            self.weight += float(len(features) if weights is None else weights.sum())
            self.count += len(features) if weights is None else int(np.count_nonzero(weights))
            self.targets = self.targets + weighted.sum(axis=0)
            self.squares = self.squares + (weighted * targets).sum(axis=0)
        if weights is not None:
            features *= np.sqrt(weights).astype(dtype)[:, None]
        syrk = ssyrk if dtype == np.float32 else dsyrk
        self.gram[done:, done:] += syrk(1.0, new.T, lower=1)
        if done:
            self.gram[done:, :done] += new.T @ features[:, :done]

    def merge(self, other: "Moments") -> "Moments":
        """The sums of both parts; their shifts must be the same."""
        if not np.array_equal(self.shift, other.shift):
            raise ValueError("Moments about different shifts cannot be added.")
        return Moments(
            self.shift,
            self.weight + other.weight,
            self.count + other.count,
            self.first + other.first,
            self.gram + other.gram,
            self.cross + other.cross,
            self.targets + other.targets,
            self.squares + other.squares,
        )

    def normal_equations(self, fit_intercept: bool) -> "NormalEquations":
        """Means, and second moments about them (about zero without an intercept)."""
        total = self.weight
        offset = self.first / total
        targets = self.targets / total
        gram = self.gram / total
        cross = self.cross / total
        squares = self.squares / total
        if fit_intercept:
            mean = self.shift + offset
            gram -= np.outer(offset, offset)
            cross -= np.outer(offset, targets)
            squares = squares - targets**2
        else:
            mean = np.zeros_like(offset)
            gram += np.outer(self.shift, offset) + np.outer(offset + self.shift, self.shift)
            cross += np.outer(self.shift, targets)
            targets = np.zeros_like(targets)
        lower = np.tril_indices(len(gram), -1)
        gram.T[lower] = gram[lower]
        return NormalEquations(total, mean, gram, targets, cross, np.maximum(squares, 0.0))


@dataclass(frozen=True)
class NormalEquations:
    """The quadratic of squared loss: Σw(y−u)²/Σw = squares − 2β'cross + β'·gram·β, centred.

    weight is Σw; mean (K,) and target (outputs,) are zero without an intercept;
    gram (K, K) and cross (K, outputs) are about them; squares (outputs,).
    """

    weight: float
    mean: Floats
    gram: Floats
    target: Floats
    cross: Floats
    squares: Floats

    def intercept(self, weights: Floats) -> Floats:
        """b = ȳ − z̄'β."""
        return self.target - self.mean @ weights

    def errors(self, weights: Floats) -> Floats:
        """Σw(y − u)²/Σw of each output."""
        explained = weights * (2.0 * self.cross - self.gram @ weights)
        return np.maximum(self.squares - explained.sum(axis=0), 0.0)
