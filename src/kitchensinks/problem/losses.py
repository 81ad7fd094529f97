"""Pointwise losses: value, slope, curvature and convex conjugate, over whole arrays at once.

A loss compares a target y with a score u. Classification losses take y in {-1, +1}, except
`multinomial`, whose targets are one-hot rows; deviances with a log link compare y with exp(u). The
convex conjugate loss*(y, a) = sup_u a·u - loss(y, u) is infinite outside its domain, and together
with the value it obeys the Fenchel-Young inequality value(y, u) + conjugate(y, a) >= a·u, with
equality where a is the slope at u (Rockafellar, Convex Analysis, section 23). Every loss here is at
least zero with infimum zero, so a = 0 is always in the domain and its conjugate there is zero.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import entr, expit

from kitchensinks.numerics.simplex import entropy, log_sum_exp, softmax
from kitchensinks.problem.deviances import Gamma, Poisson, Tweedie
from kitchensinks.problem.loss import DOMAIN_SLACK, LARGEST_EXPONENT, Loss
from kitchensinks.problem.loss import Array as Array

__all__ = [
    "Clipped",
    "Exponential",
    "Gamma",
    "Hinge",
    "Huber",
    "Kinked",
    "Logistic",
    "Loss",
    "Multinomial",
    "Poisson",
    "Quantile",
    "Squared",
    "SquaredHinge",
    "Tweedie",
    "get_loss",
]


def __dir__() -> list[str]:
    return __all__


class Squared(Loss):
    """(y - u)², with conjugate a²/4 + a·y."""

    name = "squared"
    squared = True
    shifts = True
    tasks = ("classification", "regression")
    curvature_bound = 2.0

    def value(self, targets: Array, scores: Array) -> Array:
        return (targets - scores) ** 2

    def slope(self, targets: Array, scores: Array) -> Array:
        return 2.0 * (scores - targets)

    def curvature(self, targets: Array, scores: Array) -> Array:
        return np.full(np.broadcast(targets, scores).shape, 2.0)

    def conjugate(self, targets: Array, dual: Array) -> Array:
        return dual * (dual / 4.0 + targets)


class Clipped(Loss):
    """A loss of slope clip((u − y)/width, low, high), whose ends depend on the target.

    The conjugate is a·y + width·a²/2 on low <= a <= high. Without a width the loss has a kink.
    """

    clipped = True
    width: ClassVar[float]

    @abstractmethod
    def slopes(self, targets: Array) -> tuple[Array, Array]:
        """The least slope and the largest."""


@dataclass(frozen=True)
class Huber(Clipped):
    """(y - u)² where |y - u| <= delta, else 2·delta·|y - u| - delta² (Huber 1964, doubled).

    It meets `squared` near its target; the conjugate is a²/4 + a·y on |a| <= 2·delta.
    """

    delta: float = 1.35

    name = "huber"
    width = 0.5
    shifts = True
    tasks = ("regression",)
    curvature_bound = 2.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.delta) and self.delta > 0):
            raise ValueError(f"delta={self.delta!r}: huber needs a positive finite number.")

    def in_units(self, unit: float) -> "Huber":
        return Huber(self.delta / unit)

    def slopes(self, targets: Array) -> tuple[Array, Array]:
        limit = np.full(targets.shape, 2.0 * self.delta)
        return -limit, limit

    def value(self, targets: Array, scores: Array) -> Array:
        distance = np.abs(targets - scores)
        inner = np.minimum(distance, self.delta)
        return inner * (2.0 * distance - inner)

    def slope(self, targets: Array, scores: Array) -> Array:
        return 2.0 * np.clip(scores - targets, -self.delta, self.delta)

    def curvature(self, targets: Array, scores: Array) -> Array:
        return np.where(np.abs(targets - scores) <= self.delta, 2.0, 0.0)

    def conjugate(self, targets: Array, dual: Array) -> Array:
        limit = 2.0 * self.delta
        inside = np.abs(dual) <= limit * (1.0 + DOMAIN_SLACK)
        return np.where(inside, dual * (dual / 4.0 + targets), np.inf)


class SquaredHinge(Clipped):
    """max(0, 1 - y·u)², with conjugate -s + s²/4 on s = -y·a >= 0."""

    name = "squared_hinge"
    width = 0.5
    tasks = ("classification",)
    curvature_bound = 2.0

    def slopes(self, targets: Array) -> tuple[Array, Array]:
        positive = targets > 0.0
        return np.where(positive, -np.inf, 0.0), np.where(positive, 0.0, np.inf)

    def value(self, targets: Array, scores: Array) -> Array:
        return np.maximum(0.0, 1.0 - targets * scores) ** 2

    def slope(self, targets: Array, scores: Array) -> Array:
        return -2.0 * targets * np.maximum(0.0, 1.0 - targets * scores)

    def curvature(self, targets: Array, scores: Array) -> Array:
        return np.where(targets * scores < 1.0, 2.0, 0.0)

    def conjugate(self, targets: Array, dual: Array) -> Array:
        size = -targets * dual
        return np.where(size >= -DOMAIN_SLACK, size * (size / 4.0 - 1.0), np.inf)


class Logistic(Loss):
    """log(1 + exp(-y·u)), with conjugate s·log s + (1 - s)·log(1 - s) on 0 <= s = -y·a <= 1."""

    name = "logistic"
    link = "logit"
    for_many_classes = "multinomial"
    tasks = ("classification",)
    attained = False
    curvature_bound = 0.25

    def value(self, targets: Array, scores: Array) -> Array:
        return np.logaddexp(0.0, -targets * scores)

    def slope(self, targets: Array, scores: Array) -> Array:
        return np.asarray(-targets * expit(-targets * scores))

    def curvature(self, targets: Array, scores: Array) -> Array:
        return np.asarray(expit(scores) * expit(-scores))

    def conjugate(self, targets: Array, dual: Array) -> Array:
        size = -targets * dual
        inside = (size >= -DOMAIN_SLACK) & (size <= 1.0 + DOMAIN_SLACK)
        size = np.clip(size, 0.0, 1.0)
        return np.where(inside, -entr(size) - entr(1.0 - size), np.inf)


class Exponential(Loss):
    """exp(-y·u), with conjugate s·log s - s on s = -y·a >= 0.

    Beyond y·u = -80 it stays at exp(80), so that it is a finite number in float32 too.
    """

    name = "exponential"
    tasks = ("classification",)
    attained = False

    def value(self, targets: Array, scores: Array) -> Array:
        return np.exp(np.minimum(-targets * scores, LARGEST_EXPONENT))

    def slope(self, targets: Array, scores: Array) -> Array:
        return -targets * self.value(targets, scores)

    def curvature(self, targets: Array, scores: Array) -> Array:
        return self.value(targets, scores)

    def conjugate(self, targets: Array, dual: Array) -> Array:
        size = -targets * dual
        clipped = np.maximum(size, 0.0)
        return np.where(size >= -DOMAIN_SLACK, -entr(clipped) - clipped, np.inf)


class Multinomial(Loss):
    """log Σ_c exp(u_c) - Σ_c y_c·u_c over one-hot rows y: one value for each row.

    Its conjugate is Σ_c p_c·log p_c where p = a + y lies in the simplex. Curvature is the diagonal
    of the Hessian diag(p) - p·p', whose norm is at most 1/2 (Böhning 1992).
    """

    name = "multinomial"
    link = "softmax"
    tasks = ("classification",)
    separable = False
    attained = False
    curvature_bound = 0.5

    def value(self, targets: Array, scores: Array) -> Array:
        own = np.einsum("...c,...c->...", targets, scores)
        return np.asarray(log_sum_exp(scores) - own)

    def slope(self, targets: Array, scores: Array) -> Array:
        return softmax(scores) - targets

    def curvature(self, targets: Array, scores: Array) -> Array:
        share = softmax(scores)
        return share * (1.0 - share)

    def conjugate(self, targets: Array, dual: Array) -> Array:
        share = dual + targets
        slack = DOMAIN_SLACK * share.shape[-1]
        inside = (share.min(axis=-1) >= -slack) & (np.abs(share.sum(axis=-1) - 1.0) <= slack)
        return np.where(inside, -entropy(share), np.inf)


class Kinked(Clipped):
    """max(low·(u - y), high·(u - y)): two straight lines that meet at u = y, low <= 0 <= high.

    The conjugate is a·y on low <= a <= high.
    """

    smooth = False
    width = 0.0

    def value(self, targets: Array, scores: Array) -> Array:
        low, high = self.slopes(targets)
        beyond = scores - targets
        return np.maximum(low * beyond, high * beyond)

    def slope(self, targets: Array, scores: Array) -> Array:
        low, high = self.slopes(targets)
        beyond = scores - targets
        return np.where(beyond < 0.0, low, np.where(beyond > 0.0, high, 0.0))

    def curvature(self, targets: Array, scores: Array) -> Array:
        return np.zeros(np.broadcast(targets, scores).shape)

    def conjugate(self, targets: Array, dual: Array) -> Array:
        low, high = self.slopes(targets)
        inside = (dual >= low - DOMAIN_SLACK) & (dual <= high + DOMAIN_SLACK)
        return np.where(inside, dual * targets, np.inf)

    def prox_slope(self, targets: Array, points: Array, step: Array | float) -> Array:
        """(points − u)/step at u = argmin value(targets, u) + (u − points)²/(2·step): a subgradient
        of the loss there, exactly inside its domain."""
        low, high = self.slopes(targets)
        return np.clip((points - targets) / step, low, high)


class Hinge(Kinked):
    """max(0, 1 - y·u): its kink is at u = y, because y is -1 or +1."""

    name = "hinge"
    tasks = ("classification",)

    def slopes(self, targets: Array) -> tuple[Array, Array]:
        return np.minimum(-targets, 0.0), np.maximum(-targets, 0.0)


@dataclass(frozen=True)
class Quantile(Kinked):
    """tau·(y - u) below the target and (1 - tau)·(u - y) above it (Koenker and Bassett 1978)."""

    tau: float = 0.5

    name = "quantile"
    shifts = True
    degree = 1
    shares_below = True
    tasks = ("regression",)

    def __post_init__(self) -> None:
        if not 0.0 < self.tau < 1.0:
            raise ValueError(f"tau={self.tau!r}: the quantile loss needs a number between 0 and 1.")

    def slopes(self, targets: Array) -> tuple[Array, Array]:
        return np.full(targets.shape, -self.tau), np.full(targets.shape, 1.0 - self.tau)


# The order in which errors list the losses that there are.
_OF_CLASSES = (Squared(), Hinge(), SquaredHinge(), Logistic(), Multinomial(), Exponential())
_OF_NUMBERS = (Huber(), Quantile(), Poisson(), Gamma(), Tweedie())
LOSSES: dict[str, Loss] = {loss.name: loss for loss in (*_OF_CLASSES, *_OF_NUMBERS)}


def get_loss(name: str, **options: float) -> Loss:
    """The loss of that name, with its options.

    They are `delta` of huber, `tau` of quantile and `power` of tweedie.

    >>> get_loss("huber", delta=2.0)
    Huber(delta=2.0)
    """
    if name not in LOSSES:
        raise ValueError(f"loss={name!r}: need one of {', '.join(sorted(LOSSES))}.")
    if not options:
        return LOSSES[name]
    try:
        return type(LOSSES[name])(**options)
    except TypeError as error:
        raise ValueError(f"loss={name!r} does not take the options {sorted(options)}.") from error
