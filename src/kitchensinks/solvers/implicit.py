"""Replacements for a factored Gram where there are too many columns to form one.

Solvers need three operations of a metric: the step argmin ½ c·β'Mβ - h'β + alpha·‖β‖² in a ball,
the product Mβ, and the size of M. `FactoredGram` uses the Gram itself; the classes here use
its diagonal, or conjugate gradients over passes.
"""

import numpy as np

from kitchensinks.problem.constraints import Constraint, L2Ball
from kitchensinks.problem.losses import Array
from kitchensinks.solvers.conjugate import Equations, Operator, Stop, conjugate_gradients
from kitchensinks.solvers.quadratic import ball_multipliers

# Relative residual of the inner linear equations of `ImplicitGram`.
_INNER = 1e-5
# Iterations for one of them.
_MOST_INNER = 60


class DiagonalGram:
    """The diagonal D of the Gram: every step is closed form, ball or not."""

    #: Curvature along a step may be this many times the mean: D alone is no bound on the Gram.
    trust = 1e3

    def __init__(self, diagonal: Array) -> None:
        self.diagonal = np.maximum(diagonal, 1e-12 * float(diagonal.max(initial=0.0)))
        self.largest = float(self.diagonal.max(initial=0.0))

    def apply(self, weights: Array) -> Array:
        return self.diagonal[:, None] * weights

    def solve(
        self,
        curvature: Array,
        linear: Array,
        alpha: float | Array,
        constraint: Constraint | None = None,
        accuracy: float = 0.0,
        near: Array | None = None,
    ) -> Array:
        spectrum = curvature * self.diagonal[:, None] + 2.0 * np.asarray(alpha)
        spectrum = np.maximum(spectrum, np.finfo(float).tiny)
        if isinstance(constraint, L2Ball):
            exact = np.zeros_like(curvature)
            spectrum += ball_multipliers(spectrum, linear, constraint.radius, exact)
        weights = linear / spectrum
        return weights if constraint is None else constraint.project(weights)


class ImplicitGram:
    """The Gram as products: ridge steps by conjugate gradients, started at the last solution."""

    def __init__(self, product: Operator, diagonal: Array) -> None:
        self.product = product
        self.diagonal = diagonal
        self.trace = float(diagonal.sum())
        self._last: Array | None = None

    def solve(self, curvature: Array, linear: Array, alpha: float | Array) -> Array:
        """(c·G + 2·alpha·I)⁻¹·linear for each column."""
        ridge = np.broadcast_to(2.0 * np.asarray(alpha, dtype=float), curvature.shape)
        scale = curvature * self.diagonal[:, None] + ridge + np.finfo(float).tiny
        system = Equations(
            lambda vector: curvature * self.product(vector) + ridge * vector,
            linear,
            lambda vector: vector / scale,
            start=self._last,
        )
        enough = _INNER**2 * np.sum(linear**2 / scale, axis=0)
        conjugate_gradients(system, Stop(enough=enough, max_iter=_MOST_INNER))
        self._last = system.weights
        return system.weights
