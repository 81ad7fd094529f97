"""The whole ridge path of squared loss from one factored Gram, with its leave-one-out error.

minimise Σw(y−u)²/Σw + α‖β‖². With G = V diag(s) V' the centred Gram, c = V'·cross and
A = (Z − z̄)V, every α costs K numbers more:

    β(α) = V·c/(s + α),   û_i = ȳ + Σ_k A_ik·c_k/(s_k + α).

Leaving row i out, with all else fixed (the product Σw·α too), its residual becomes

    (y_i − û_i)/(1 − h_i),   h_i = (1 + Σ_k A_ik²/(s_k + α))·w_i/Σw

(without the 1 if there is no intercept). This is exact: it is the residual of a fit to the other
rows. If 1 − h_i is as small as rounding errors, the row determines its own fit: α is rejected. A
row is left out with its whole weight, so that a common factor of all weights has no effect. Copies
of a row are left out together (`Leaving`), and equal one row of their total weight: with total
weight W and mean target ȳ_g, h_g = (1 + Σ_k A_ik²/(s_k + α))·W/Σw, and the score of a fit without
them is ȳ_g − (ȳ_g − û_i)/(1 − h_g).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchensinks.numerics.arrays import AnyArray, Bools, DType, Part
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import NormalEquations
from kitchensinks.solvers.quadratic import FactoredGram
from kitchensinks.tables.keys import find_copies

# 1 − h must be at least this many units of rounding, to be known to one percent (measured: h is off
# by up to 20 units in float64, and by 200 in float32, in which the rotation is rounded too).
_UNITS = 1e4
# Generalised cross-validation is used for fits that leave at least this share of the freedom.
_GENERALISED_FREEDOM = 0.1


class Leaving(NamedTuple):
    """Groups of copies that are left out together.

    weights (n,): total weight of the group of each row; targets (n, outputs): its mean target.
    """

    weights: Array
    targets: Array

    @classmethod
    def of(
        cls, keys: NDArray[np.uint64], targets: Array, weights: Array | None
    ) -> "Leaving | None":
        """Equal rows are left out together; None if every row is left out alone.

        keys (n,): equal for equal rows. Each row is an observation of its own where `find_copies`
        finds no copies.

        >>> keys, targets = np.array([7, 8, 7], dtype=np.uint64), np.array([[1.0], [9.0], [1.1]])
        >>> leaving = Leaving.of(keys, targets, None)
        >>> leaving.weights.tolist(), leaving.targets.ravel().tolist()
        ([2.0, 1.0, 2.0], [1.05, 9.0, 1.05])
        >>> Leaving.of(keys, np.array([[1.0], [2.0], [3.0]]), None) is None
        True
        """
        own = np.ones(len(keys)) if weights is None else weights
        counted = np.flatnonzero(own > 0.0)
        if find_copies(keys[counted], targets[counted]) is None:
            return None
        return cls.together(keys, targets, own)

    @classmethod
    def together(cls, keys: NDArray[np.uint64], targets: Array, weights: Array) -> "Leaving":
        """All rows with equal keys are left out together."""
        _, places = np.unique(keys, return_inverse=True)
        total = np.bincount(places, weights)
        sums = np.column_stack([np.bincount(places, weights * one) for one in targets.T])
        counted = np.where(total > 0.0, total, 1.0)[places, None]
        means = np.where(weights[:, None] > 0.0, sums[places] / counted, targets)
        return cls(np.where(weights > 0.0, total[places], 0.0), means)

    def part(self, rows: Part) -> "Leaving":
        """The same for some of the rows."""
        return Leaving(self.weights[rows], self.targets[rows])


class RidgePath:
    """Weights, fit and prediction error of squared loss for any α, from one factorisation."""

    def __init__(self, equations: NormalEquations, fit_intercept: bool) -> None:
        self.equations, self.fit_intercept = equations, fit_intercept
        self.factored = FactoredGram(equations.gram)
        self._cast: dict[DType, AnyArray] = {}
        self.rotated: Array = self.factored.vectors.T @ equations.cross

    def shrunk(self, alphas: Array) -> Array:
        """1/(s + α), zero in directions with eigenvalue zero; shape (K, alphas)."""
        spectrum = self.factored.values[:, None] + alphas
        kept = spectrum > self.factored.rounding
        return np.divide(1.0, spectrum, out=np.zeros_like(spectrum), where=kept)

    def _vectors(self, dtype: DType) -> AnyArray:
        if dtype not in self._cast:
            self._cast[dtype] = self.factored.vectors.astype(dtype, copy=False)
        return self._cast[dtype]

    def weights(self, alpha: float) -> Array:
        """β(α), shape (K, outputs)."""
        return np.asarray(self.factored.vectors @ (self.shrunk(np.array([alpha])) * self.rotated))

    def freedom(self, alphas: Array) -> Array:
        """Effective dimension Σ s/(s + α) of each α."""
        return self.factored.values @ self.shrunk(alphas)

    def training_error(self, alphas: Array) -> Array:
        """Σw(y − û)²/Σw for each α and output, shape (alphas, outputs)."""
        shrunk = self.shrunk(alphas)
        # c²(2/(s+α) − s/(s+α)²) is what the fit explains.
        explained = 2.0 * shrunk - self.factored.values[:, None] * shrunk**2
        return np.maximum(self.equations.squares - explained.T @ self.rotated**2, 0.0)

    def generalised_error(self, alphas: Array) -> Array:
        """Generalised cross-validation (Golub, Heath and Wahba 1979), shape (alphas, outputs).

        Every leverage is replaced by the mean, so that no second pass over the rows is needed.
        Infinite where the fit uses nearly as many degrees of freedom as there are rows: the ratio
        of two vanishing numbers is then meaningless.
        """
        mean_leverage = (self.freedom(alphas) + self.fit_intercept) / self.equations.count
        left = np.maximum(1.0 - mean_leverage, least_freedom(np.dtype(np.float64)))
        errors = self.training_error(alphas) / left[:, None] ** 2
        usable = left >= min(_GENERALISED_FREEDOM, left.max())
        return np.where(usable[:, None], errors, np.inf)

    def left_out(
        self, features: AnyArray, targets: Array, leaving: Leaving | None, alphas: Array
    ) -> Array:
        """The score of each row of a block by the fit without it, (n, alphas, outputs).

        features (n, K), targets (n, outputs); leaving: groups that are left out together, None if
        every row of weight one is left out alone.
        """
        scores, left = self._scores(features, None if leaving is None else leaving.weights, alphas)
        left = np.maximum(left, least_freedom(features.dtype))
        return scores_without(targets[:, None, :], scores, left[:, :, None], leaving)

    def left_out_squares(
        self,
        features: AnyArray,
        targets: Array,
        weights: Array | None,
        leaving: Leaving | None,
        alphas: Array,
    ) -> Array:
        """Leave-one-out Σw·e² of the rows of a block, shape (alphas, outputs).

        Infinite for every α at which 1 − h of a row is as small as rounding errors. leaving: as in
        `left_out`.
        """
        own = weights if leaving is None else leaving.weights
        scores, left = self._scores(features, own, alphas)
        known: Bools = np.greater_equal(left, least_freedom(features.dtype))
        left = np.where(known, left, 1.0)
        targets = targets[:, None, :]
        squares = (targets - scores_without(targets, scores, left[:, :, None], leaving)) ** 2
        total = squares.sum(axis=0) if weights is None else np.tensordot(weights, squares, 1)
        # Rows of weight zero have all their freedom.
        return np.where(np.all(known, axis=0)[:, None], total, np.inf)

    def _scores(
        self, features: AnyArray, leaving: Array | None, alphas: Array
    ) -> tuple[Array, Array]:
        """Scores (n, alphas, outputs) of rows, and the freedom 1 − h (n, alphas) of each."""
        dtype = features.dtype
        shrunk = self.shrunk(alphas)
        centred = features - self.equations.mean.astype(dtype)
        rotated = centred @ self._vectors(dtype)
        fits = (shrunk[:, :, None] * self.rotated[:, None, :]).reshape(len(shrunk), -1)
        # Scaled, so that only ratios of weights must be representable in float32.
        unit = np.abs(fits).max(axis=0, initial=0.0)
        unit = np.where(unit > 0.0, unit, 1.0)
        scores = (rotated @ (fits / unit).astype(dtype)).astype(np.float64) * unit
        scores = scores.reshape(len(features), len(alphas), -1) + self.equations.target
        np.square(rotated, out=rotated)
        leverage = (rotated @ shrunk.astype(dtype)).astype(np.float64) + self.fit_intercept
        return scores, freedom_left(leverage, self.equations.weight, leaving)


def freedom_left(leverage: Array, total: float, leaving: Array | None) -> Array:
    """1 − h of the rows, from Σ_k A²/(s + α) with its 1 for the intercept; leverage (n, any)."""
    share: Any = 1.0 if leaving is None else leaving[:, None]
    return np.asarray(1.0 - leverage * (share / total))


def least_freedom(dtype: DType) -> float:
    """The smallest 1 − h that is significant for features of a dtype."""
    return _UNITS * float(np.finfo(dtype).eps)


def scores_without(targets: Array, scores: Array, left: Array, leaving: Leaving | None) -> Array:
    """Scores of a fit without each row and its copies, from left = 1 − h.

    targets, scores and left (n, …, outputs) belong to the fit to all rows.
    """
    if leaving is not None:
        targets = leaving.targets.reshape(targets.shape)
    return np.asarray(targets - (targets - scores) / left)


def alpha_grid(trace: float) -> Array:
    """The grid of ridge strengths: 10⁻⁹ to 10 times the mean squared norm of centred features."""
    size = trace if trace > 0.0 else 1.0
    return size * np.logspace(-9.0, 1.0, 21)
