"""The whole ridge path of squared loss from one factored Gram, with its leave-one-out error.

minimise Σw(y−u)²/Σw + α‖β‖². With G = V diag(s) V' the centred Gram, c = V'·cross and
A = (Z − z̄)V, every α costs K numbers more:

    β(α) = V·c/(s + α),   û_i = ȳ + Σ_k A_ik·c_k/(s_k + α).

Leaving one copy of row i out, with all else fixed (the sum Σw·α too), its residual becomes

    (y_i − û_i)/(1 − h_i),   h_i = (1 + Σ_k A_ik²/(s_k + α))·min(1, w_i)/Σw

(without the 1 where there is no intercept): exact, so that stacking rows twice equals doubling
their weights. A weight below one is a fraction of a copy, and the row goes whole. Where classes
have weights, one copy weighs as much as its class: that weight stands for the 1 of min(1, w_i).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import NormalEquations
from kitchensinks.solvers.quadratic import FactoredGram

# A leverage this near to one leaves a residual of rounding.
_LEAST_FREEDOM = 1e-7
# Generalised cross-validation trusts fits that leave this share of the rows' freedom.
_GENERALISED_FREEDOM = 0.1


class RidgePath:
    """Weights, fit and prediction error of squared loss for any α, from one factorisation."""

    def __init__(self, equations: NormalEquations, fit_intercept: bool) -> None:
        self.equations, self.fit_intercept = equations, fit_intercept
        self.factored = FactoredGram(equations.gram)
        self._cast: dict[np.dtype[Any], NDArray[Any]] = {}
        self.rotated: Array = self.factored.vectors.T @ equations.cross

    def shrunk(self, alphas: Array) -> Array:
        """1/(s + α), zero in directions that no row has; shape (K, alphas)."""
        spectrum = self.factored.values[:, None] + alphas
        kept = spectrum > self.factored.rounding
        return np.divide(1.0, spectrum, out=np.zeros_like(spectrum), where=kept)

    def _vectors(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Eigenvectors in a dtype, kept."""
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

        Every leverage is replaced by its mean, so no second look at the rows is needed. Infinite
        where the fit uses nearly as many degrees of freedom as there are rows: there the ratio of
        two vanishing numbers says nothing.
        """
        mean_leverage = (self.freedom(alphas) + self.fit_intercept) / self.equations.copies
        left = np.maximum(1.0 - mean_leverage, _LEAST_FREEDOM)
        errors = self.training_error(alphas) / left[:, None] ** 2
        usable = left >= min(_GENERALISED_FREEDOM, left.max())
        return np.where(usable[:, None], errors, np.inf)

    def left_out(
        self,
        features: NDArray[Any],
        targets: Array,
        weights: Array | None,
        one: Array | None,
        alphas: Array,
    ) -> Array:
        """Score that each row of a block gets from the fit without one copy of it.

        features (n, K), targets (n, outputs), `one` (n,) the weight of one copy where that is not
        1; returns (n, alphas, outputs).
        """
        dtype = features.dtype
        shrunk = self.shrunk(alphas)
        centred = features - self.equations.mean.astype(dtype)
        rotated = centred @ self._vectors(dtype)
        fits = (shrunk[:, :, None] * self.rotated[:, None, :]).reshape(len(shrunk), -1)
        # Only ratios of the weights have to fit into float32.
        unit = np.abs(fits).max(axis=0, initial=0.0)
        unit = np.where(unit > 0.0, unit, 1.0)
        scores = (rotated @ (fits / unit).astype(dtype)).astype(np.float64) * unit
        scores = scores.reshape(len(features), len(alphas), -1) + self.equations.target
        np.square(rotated, out=rotated)
        leverage = (rotated @ shrunk.astype(dtype)).astype(np.float64) + self.fit_intercept
        left = freedom_left(leverage, self.equations.weight, weights, one)
        residual = (targets[:, None, :] - scores) / left[:, :, None]
        return np.asarray(targets[:, None, :] - residual)

    def left_out_squares(
        self,
        features: NDArray[Any],
        targets: Array,
        weights: Array | None,
        one: Array | None,
        alphas: Array,
    ) -> Array:
        """Leave-one-out Σw·e² of the rows of a block, shape (alphas, outputs)."""
        scores = self.left_out(features, targets, weights, one, alphas)
        squares = (targets[:, None, :] - scores) ** 2
        return np.asarray(
            squares.sum(axis=0) if weights is None else np.tensordot(weights, squares, 1)
        )


def freedom_left(
    leverage: Array, total: float, weights: Array | None, one: Array | None = None
) -> Array:
    """1 − h_i of the rows: what is left of their freedom without one copy. leverage (n, any)."""
    copy: Any = 1.0 if one is None else one[:, None]
    if weights is not None:
        copy = np.minimum(weights[:, None], copy)
    return np.asarray(np.maximum(1.0 - leverage * (copy / total), _LEAST_FREEDOM))


def alpha_grid(trace: float) -> Array:
    """Ridge strengths worth trying: 10⁻⁹ to 10 times the mean squared centred feature row."""
    size = trace if trace > 0.0 else 1.0
    return size * np.logspace(-9.0, 1.0, 21)
