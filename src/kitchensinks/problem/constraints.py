"""Norm balls for the outer weights: projection, support function, conjugate of the penalty.

With a ridge, the penalty on one column of weights is R(β) = alpha·‖β‖² + (0 inside the limit, ∞
outside); its conjugate R*(v) = sup_β v·β - R(β) is the other half of the Fenchel gap. Weights and
directions are (K,) or (K, outputs), and each output column has its own ball.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from kitchensinks.features.links import Value
from kitchensinks.numerics.checks import check_positive
from kitchensinks.problem.losses import Array


@dataclass(frozen=True)
class Constraint(Value, ABC):
    """A norm ball around zero for each column of weights."""

    radius: float

    def __post_init__(self) -> None:
        advice = ". Leave constraint=None for no limit on the weights"
        check_positive("radius", self.radius, advice)

    @abstractmethod
    def project(self, weights: Array) -> Array:
        """The nearest weights inside the ball."""

    @abstractmethod
    def norm(self, weights: Array) -> Array:
        """The norm of each column of weights: at most the radius inside the ball."""

    def support(self, direction: Array) -> Array:
        """sup of direction·β over the ball, for each column: the conjugate without a ridge."""
        return self.conjugate(direction, 0.0)

    @abstractmethod
    def conjugate(self, direction: Array, alpha: float) -> Array:
        """R*(direction) for each column."""


@dataclass(frozen=True)
class SupBall(Constraint):
    """max_k |β_k| <= radius: the kitchen-sinks paper's ‖α‖_∞ <= C/K.

    Given to an estimator, the radius is the paper's C: |α_k| ≤ C/K on features divided by their
    bound, whatever the units that a solver works in.

    >>> SupBall(2.0).project(np.array([3.0, -1.0]))
    array([ 2., -1.])
    """

    def project(self, weights: Array) -> Array:
        return np.clip(weights, -self.radius, self.radius)

    def norm(self, weights: Array) -> Array:
        return np.asarray(np.abs(weights).max(axis=0))

    def conjugate(self, direction: Array, alpha: float) -> Array:
        return np.asarray(_penalised_line(np.abs(direction), self.radius, alpha).sum(axis=0))


@dataclass(frozen=True)
class L2Ball(Constraint):
    """‖β‖₂ <= radius: Algorithm 2 of the thesis.

    Given to an estimator, the radius is the thesis's R: Σc² ≤ R² on raw features.

    >>> L2Ball(1.0).project(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """

    def project(self, weights: Array) -> Array:
        return np.asarray(weights / np.maximum(1.0, self.norm(weights) / self.radius))

    def norm(self, weights: Array) -> Array:
        return np.asarray(np.linalg.norm(weights, axis=0))

    def conjugate(self, direction: Array, alpha: float) -> Array:
        return _penalised_line(np.linalg.norm(direction, axis=0), self.radius, alpha)


def penalty_conjugate(direction: Array, alpha: float, constraint: Constraint | None) -> Array:
    """R*(v) of each column: ‖v‖²/(4·alpha) for a ridge alone.

    With neither ridge nor limit, R = 0 and R* is 0 at v = 0 and infinite elsewhere.
    """
    if constraint is not None:
        return constraint.conjugate(direction, alpha)
    size = np.sum(direction**2, axis=0)
    if alpha > 0.0:
        return np.asarray(size / (4.0 * alpha))
    return np.where(size == 0.0, 0.0, np.inf)


def _penalised_line(size: Array, radius: float, alpha: float) -> Array:
    """sup of size·t - alpha·t² over 0 <= t <= radius."""
    best = np.full_like(size, radius)
    if alpha > 0.0:
        best = np.minimum(size / (2.0 * alpha), radius)
    return best * (size - alpha * best)
