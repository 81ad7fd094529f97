"""The interface of losses."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from kitchensinks.features.links import Value
from kitchensinks.numerics.arrays import Bools, Floats

Array = Floats

# A dual entry this far outside its domain is due to rounding, and counts as on the boundary.
DOMAIN_SLACK = 1e-12
# Largest exponent: exp(80) is finite in float32, in which slopes may be multiplied.
LARGEST_EXPONENT = 80.0


class Loss(Value, ABC):
    """A convex loss of a score, given its target."""

    name: ClassVar[str]
    tasks: ClassVar[tuple[str, ...]]
    #: whether slope is continuous and curvature is meaningful
    smooth: ClassVar[bool] = True
    #: whether each output column has its own loss (False: one loss for a whole row)
    separable: ClassVar[bool] = True
    #: whether the smallest loss of one row is reached at a finite score
    attained: ClassVar[bool] = True
    #: the largest second derivative
    curvature_bound: ClassVar[float] = math.inf
    #: whether the fit is a linear system, determined by sums over the rows
    squared: ClassVar[bool] = False
    #: whether the slope is a line clipped at both ends, so that dual coordinates have a closed form
    clipped: ClassVar[bool] = False
    #: whether it depends on y − u only, so that a known part of the targets can be subtracted
    shifts: ClassVar[bool] = False
    #: probabilities as a function of the scores ("logit", "softmax"), None: to be calibrated;
    #: "log": predictions are exp(score)
    link: ClassVar[str | None] = None
    #: the loss of targets and scores in units of s is s**degree times that in units of one
    degree: ClassVar[float] = 2
    #: whether scores are quantiles of the targets
    shares_below: ClassVar[bool] = False
    #: what targets must be, in words, or None if every number is valid
    takes: ClassVar[str | None] = None
    #: the name of the loss that replaces it for three or more classes
    for_many_classes: ClassVar[str | None] = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def in_units(self, unit: float) -> "Loss":
        """The loss for targets and scores divided by `unit`, up to the factor unit**degree."""
        return self

    def allowed(self, targets: Array) -> Bools:
        """Which targets are valid."""
        return np.ones(np.shape(targets), dtype=bool)

    def aim(self, targets: Array) -> Array:
        """The score that minimises the loss of each entry."""
        return targets

    def working(self, targets: Array) -> Array:
        """Targets whose squared error replaces this loss while a law is learned."""
        return targets

    @abstractmethod
    def value(self, targets: Array, scores: Array) -> Array:
        """The loss of each entry (of each row where the loss is not separable)."""

    @abstractmethod
    def slope(self, targets: Array, scores: Array) -> Array:
        """The derivative in the score; at a kink, one subgradient."""

    @abstractmethod
    def curvature(self, targets: Array, scores: Array) -> Array:
        """The second derivative in the score (its diagonal where the loss is not separable)."""

    @abstractmethod
    def conjugate(self, targets: Array, dual: Array) -> Array:
        """sup_u dual·u - value(targets, u), infinite outside its domain."""
