"""How uncertain a squared-loss fit is: the Bayesian reading of the ridge."""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from kitchensinks.losses import Array
from kitchensinks.moments import NormalEquations
from kitchensinks.solvers.dual import Span


class Posterior:
    """Predictive variance of ridge regression read as Bayesian regression.

    With noise variance σ² and prior β ~ N(0, σ²/(αΣw)·I), the score of a new row has variance
    σ²·(1 + (1 + (z − z̄)'(G + αI)⁻¹(z − z̄))/Σw), noise included; σ² is estimated as
    Σw·r²/(Σw − freedom), the fixed point that scikit-learn's BayesianRidge uses.
    """

    def __init__(
        self,
        alpha: float,
        weight: float,
        mean: Array,
        noise: Array,
        fit_intercept: bool,
        factor: Array | None = None,
        span: Span | None = None,
    ) -> None:
        self.alpha = alpha
        self.weight = weight
        self.mean = mean
        self.noise = noise
        self.fit_intercept = fit_intercept
        self.factor = factor
        self.span = span

    @classmethod
    def of_equations(
        cls, equations: NormalEquations, weights: Array, alpha: float, fit_intercept: bool
    ) -> "Posterior":
        """From the sums of the fit."""
        shifted = equations.gram.copy()
        floor = max(alpha, len(shifted) * np.finfo(float).eps * float(np.trace(shifted)))
        shifted[np.diag_indices_from(shifted)] += floor
        factor = cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        inverse = solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False)
        freedom = len(factor) - floor * float(np.sum(inverse**2)) + fit_intercept
        explained = weights * (2.0 * equations.cross - equations.gram @ weights)
        error = np.maximum(equations.squares - explained.sum(axis=0), 0.0)
        noise = error * equations.weight / max(equations.weight - freedom, 1e-3 * equations.weight)
        return cls(floor, equations.weight, equations.mean, noise, fit_intercept, factor=factor)

    @classmethod
    def of_span(
        cls, span: Span, errors: Array, alpha: float, weight: float, fit_intercept: bool
    ) -> "Posterior":
        """From the span of the rows; errors (outputs,) is Σw·r²/Σw."""
        freedom = float(np.sum(span.values / (span.values + alpha))) + fit_intercept
        noise = errors * weight / max(weight - freedom, 1e-3 * weight)
        return cls(alpha, weight, span.mean, noise, fit_intercept, span=span)

    def deviation(self, features: Array) -> Array:
        """Standard deviation of the target of each row, shape (n, outputs)."""
        centred = features - self.mean
        if self.factor is not None:
            half = solve_triangular(self.factor, centred.T, lower=True, check_finite=False)
            leverage = np.einsum("ij,ij->j", half, half)
        else:
            assert self.span is not None
            inside = centred @ self.span.directions
            outside = np.einsum("ij,ij->i", centred, centred) - np.einsum(
                "ij,ij->i", inside, inside
            )
            leverage = (inside**2) @ (1.0 / (self.span.values + self.alpha))
            if self.alpha > 0:
                leverage = leverage + np.maximum(outside, 0.0) / self.alpha
        variance = 1.0 + (leverage + self.fit_intercept) / self.weight
        return np.sqrt(variance[:, None] * self.noise)
