"""Deviances with a log link: counts, positive numbers, and sums that are often zero."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from kitchensinks.numerics.arrays import Bools
from kitchensinks.problem.loss import DOMAIN_SLACK, LARGEST_EXPONENT, Array, Loss


class LogLink(Loss):
    """Half the unit deviance of y ≥ 0 from its mean μ = exp(u).

    Minus the log-likelihood of an exponential dispersion model whose variance is a power of μ, up
    to what does not depend on u (Jørgensen 1987). The loss stays where it is once an exponential is
    exp(80).
    """

    link = "log"
    tasks = ("regression",)
    takes = "numbers of 0 or more"

    def allowed(self, targets: Array) -> Bools:
        return np.asarray(targets >= 0.0)

    def aim(self, targets: Array) -> Array:
        # The score of zero has no lower end: its loss is exp(-80) here.
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(targets), -LARGEST_EXPONENT / self.degree)

    def working(self, targets: Array) -> Array:
        # Targets have a mean of about one.
        return np.log1p(targets)


class Poisson(LogLink):
    """exp(u) - y·u + y·log y - y, with conjugate m·log m - m - y·log y + y on m = a + y >= 0."""

    name = "poisson"
    attained = False
    degree = 1

    def value(self, targets: Array, scores: Array) -> Array:
        scores = np.minimum(scores, LARGEST_EXPONENT)
        beyond = np.exp(scores) - targets - targets * scores
        return np.asarray(np.maximum(beyond + xlogy(targets, targets), 0.0))

    def slope(self, targets: Array, scores: Array) -> Array:
        return np.exp(np.minimum(scores, LARGEST_EXPONENT)) - targets

    def curvature(self, targets: Array, scores: Array) -> Array:
        curvature: Array = np.exp(np.minimum(scores, LARGEST_EXPONENT))
        return curvature + np.zeros_like(targets)

    def conjugate(self, targets: Array, dual: Array) -> Array:
        mean = np.maximum(dual + targets, 0.0)
        inside = dual + targets >= -DOMAIN_SLACK * np.maximum(targets, 1.0)
        found = xlogy(mean, mean) - mean - xlogy(targets, targets) + targets
        return np.where(inside, found, np.inf)


class Gamma(LogLink):
    """exp(-v) + v - 1 with v = u - log y, whose conjugate is s·log s - s + 1 + a·log y on
    s = 1 - a >= 0."""

    name = "gamma"
    takes = "numbers above 0"
    degree = 0

    def allowed(self, targets: Array) -> Bools:
        return np.asarray(targets > 0.0)

    def aim(self, targets: Array) -> Array:
        return np.log(targets)

    working = aim

    def _beyond(self, targets: Array, scores: Array) -> Array:
        return np.maximum(scores - np.log(targets), -LARGEST_EXPONENT)

    def value(self, targets: Array, scores: Array) -> Array:
        beyond = self._beyond(targets, scores)
        return np.maximum(np.expm1(-beyond) + beyond, 0.0)

    def slope(self, targets: Array, scores: Array) -> Array:
        return -np.expm1(-self._beyond(targets, scores))

    def curvature(self, targets: Array, scores: Array) -> Array:
        return np.exp(-self._beyond(targets, scores))

    def conjugate(self, targets: Array, dual: Array) -> Array:
        share = np.maximum(1.0 - dual, 0.0)
        found = dual * (np.log(targets) + 1.0) + xlogy(share, share)
        return np.where(dual <= 1.0 + DOMAIN_SLACK, found, np.inf)


@dataclass(frozen=True)
class Tweedie(LogLink):
    """y·exp(-q·u)/q + exp(r·u)/r - y^r/(q·r) with q = power - 1 and r = 2 - power, both above zero.

    The variance is a power of the mean between those of `Poisson` (1) and `Gamma` (2), which suits
    sums that are often zero. The slope exp(r·u) - y·exp(-q·u) is a at one score, which Newton steps
    find for the conjugate; for y = 0 that is finite on a >= 0 alone.
    """

    power: float = 1.5

    name = "tweedie"
    attained = False

    def __post_init__(self) -> None:
        if not 1.0 < self.power < 2.0:
            raise ValueError(
                f"power={self.power!r}: the Tweedie deviance needs a number between 1 and 2. Use "
                "Poisson() for 1 and Gamma() for 2; no other power is convex with a log link."
            )

    @property
    def degree(self) -> float:  # type: ignore[override]
        return 2.0 - self.power

    def _terms(self, targets: Array, scores: Array) -> tuple[Array, Array]:
        """y·exp(-q·u) and exp(r·u)."""
        q, r, most = self.power - 1.0, 2.0 - self.power, LARGEST_EXPONENT
        falling = targets * np.exp(np.minimum(-q * scores, most))
        return falling, np.exp(np.minimum(r * scores, most))

    def value(self, targets: Array, scores: Array) -> Array:
        q, r = self.power - 1.0, 2.0 - self.power
        falling, rising = self._terms(targets, scores)
        return np.maximum(falling / q + rising / r - targets**r / (q * r), 0.0)

    def slope(self, targets: Array, scores: Array) -> Array:
        falling, rising = self._terms(targets, scores)
        return rising - falling

    def curvature(self, targets: Array, scores: Array) -> Array:
        falling, rising = self._terms(targets, scores)
        return (self.power - 1.0) * falling + (2.0 - self.power) * rising

    def conjugate(self, targets: Array, dual: Array) -> Array:
        inside = (targets > 0.0) | (dual >= -DOMAIN_SLACK)
        empty = (targets == 0.0) & (dual <= 0.0)
        scores = self._score_of(np.where(empty, 1.0, targets), np.where(empty, 0.0, dual))
        found = dual * scores - self.value(targets, scores)
        return np.where(inside, np.where(empty, 0.0, found), np.inf)

    def _score_of(self, targets: Array, dual: Array) -> Array:
        """The score whose slope is `dual`: μ - a·μ^q = y, so that μ lies in a narrow bracket.

        For a >= 0 it is between the larger of y and a^(1/r) and that of 2y and (2a)^(1/r); below
        zero the smaller of y and (y/|a|)^(1/q), and the same with y/2, hold it.
        """
        q, r = self.power - 1.0, 2.0 - self.power
        with np.errstate(divide="ignore"):
            own, size = np.log(targets), np.log(np.abs(dual))
        rises, step = dual >= 0.0, math.log(2.0)
        ends = []
        for more in (0.0, step):
            above = np.maximum(own + more, (size + more) / r)
            below = np.minimum(own - more, (own - more - size) / q)
            ends.append(np.where(rises, above, below))
        low, high = np.minimum(*ends), np.maximum(*ends)
        scores = 0.5 * (low + high)
        for _ in range(100):
            falling, rising = np.exp(own - q * scores), np.exp(r * scores)
            excess = rising - falling - dual
            low, high = np.where(excess < 0, scores, low), np.where(excess > 0, scores, high)
            moved = scores - excess / (q * falling + r * rising)
            moved = np.where((moved > low) & (moved < high), moved, 0.5 * (low + high))
            if (np.abs(moved - scores) <= 1e-13 * (1.0 + np.abs(scores))).all():
                return moved
            scores = moved
        return scores
