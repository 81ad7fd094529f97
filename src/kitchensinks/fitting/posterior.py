"""How uncertain a squared-loss fit is: the Bayesian reading of the ridge."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from kitchensinks.numerics.arrays import Matrix
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import NormalEquations, ridge_freedom
from kitchensinks.solvers.cholesky import lower_factor
from kitchensinks.solvers.dual import Span
from kitchensinks.tables.arrays import densify

# A row is outside of the span of others where more than this share of its squared length is.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Posterior:
    """Predictive variance of ridge regression read as Bayesian regression.

    With noise variance σ² and prior β ~ N(0, σ²/(αΣw)·I), the target of a new row has variance
    σ²·(1 + (1 + (z − z̄)'(G + αI)⁻¹(z − z̄))/Σw), noise included; σ² is estimated as
    Σw·r²/(Σw − freedom), the fixed point that scikit-learn's BayesianRidge uses. Where weights are
    below one, the number of rows takes the place of Σw in both.

    `factor` is the Cholesky factor of G + αI; where the fit took place in the span of fewer rows
    than features, `span` stands in for it. noise (outputs,).
    """

    alpha: float
    copies: float
    mean: Array
    noise: Array
    fit_intercept: bool
    factor: Array | None = None
    span: Span | None = None

    @classmethod
    def of_equations(
        cls, equations: NormalEquations, weights: Array, alpha: float, fit_intercept: bool
    ) -> "Posterior":
        """From the sums of the fit."""
        gram = equations.gram
        floor = max(alpha, len(gram) * np.finfo(float).eps * float(np.trace(gram)))
        factor = lower_factor(gram, floor)
        freedom = ridge_freedom(factor, floor) + fit_intercept
        noise = _noise(equations.errors(weights), equations.copies, freedom)
        return cls(floor, equations.copies, equations.mean, noise, fit_intercept, factor=factor)

    @classmethod
    def of_span(
        cls, span: Span, error: Array, alpha: float, copies: float, fit_intercept: bool
    ) -> "Posterior":
        """From the span of the rows; error (outputs,) is Σw·r²/Σw."""
        freedom = span.freedom(alpha) + fit_intercept
        noise = _noise(error, copies, freedom)
        return cls(alpha, copies, span.mean, noise, fit_intercept, span=span)

    def deviation(self, features: Matrix) -> Array:
        """Standard deviation of the target of each row of features, shape (n, outputs)."""
        if self.span is not None:
            inside, length = self.span.place(features)
            outside = np.maximum(length - np.einsum("ij,ij->i", inside, inside), 0.0)
            leverage = (inside**2) @ self.span.inverse(self.alpha)
            if self.alpha > 0.0:
                leverage = leverage + outside / self.alpha
            else:
                # Without a ridge, nothing is known of directions that no row has.
                leverage = np.where(outside > _ROUNDING * length, np.inf, leverage)
        else:
            centred = (densify(features).astype(np.float64) - self.mean).T
            half = solve_triangular(self.factor, centred, lower=True, check_finite=False)
            leverage = np.einsum("ij,ij->j", half, half)
        variance = 1.0 + (leverage + self.fit_intercept) / self.copies
        # A fit through all rows has no noise, and says as little about other directions.
        with np.errstate(invalid="ignore"):
            known = np.sqrt(variance[:, None] * self.noise)
        return np.where(np.isinf(variance)[:, None], np.inf, known)


def _noise(error: Array, copies: float, freedom: float) -> Array:
    return np.asarray(error * copies / max(copies - freedom, 1e-3 * copies))
