"""Mergeable facts about targets: which classes there are, and how large numbers are."""

import math
from typing import NamedTuple

import numpy as np

from kitchensinks.problem.losses import Array

# Targets whose sizes are further apart than this cannot be fitted together.
FARTHEST = 1e-30


class ClassCounts(NamedTuple):
    """The labels there are, in order, and the weight of the rows of each.

    >>> both = ClassCounts.of(np.array([2, 1, 2])).merge(ClassCounts.of(np.array([3])))
    >>> both.labels.tolist(), both.weights.tolist()
    ([1, 2, 3], [1.0, 2.0, 1.0])
    """

    labels: np.ndarray
    weights: Array

    @classmethod
    def of(cls, y: np.ndarray, weights: Array | None = None) -> "ClassCounts":
        """The counts of labels y (n,) with weights (n,)."""
        labels, places = np.unique(y, return_inverse=True)
        return cls(labels, np.bincount(places, weights, len(labels)).astype(np.float64))

    def merge(self, other: "ClassCounts") -> "ClassCounts":
        """The counts of both parts together."""
        if self.labels.dtype.kind != other.labels.dtype.kind:
            raise ValueError(
                f"y is {self.labels.dtype} in one partition and {other.labels.dtype} in another: "
                "need labels of one kind."
            )
        labels = np.concatenate([self.labels, other.labels])
        return ClassCounts.of(labels, np.concatenate([self.weights, other.weights]))


class TargetSizes(NamedTuple):
    """Total weight, mean and largest size of each output; parts merge.

    `one_output`: the targets have one axis.

    >>> both = TargetSizes.of(np.array([1.0, 3.0])).merge(TargetSizes.of(np.array([-8.0, 0.0])))
    >>> both.mean.tolist(), both.largest.tolist(), both.unit()
    ([-1.0], [8.0], 8.0)
    """

    weight: float
    mean: Array
    largest: Array
    one_output: bool

    @classmethod
    def of(cls, y: np.ndarray, weights: Array | None = None) -> "TargetSizes":
        """The facts of targets y, (n,) or (n, outputs), with weights (n,)."""
        columns = y.reshape(len(y), -1)
        counted = columns if weights is None else columns[weights > 0]
        total = float(len(columns) if weights is None else weights.sum())
        largest = np.abs(counted).max(axis=0, initial=0.0)
        mean = np.zeros(columns.shape[1])
        if total > 0.0:
            # Divided by a power of two, so that no sum overflows.
            unit = _power(float(largest.max(initial=0.0)))
            mean = unit * np.average(columns / unit, axis=0, weights=weights)
        return cls(total, mean, largest, y.ndim == 1)

    def merge(self, other: "TargetSizes") -> "TargetSizes":
        """The facts of both parts together."""
        if (self.one_output, len(self.mean)) != (other.one_output, len(other.mean)):
            raise ValueError(
                f"y has {len(self.mean)} outputs in one partition and {len(other.mean)} in "
                "another: need the same number everywhere."
            )
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0.0 else 0.0
        mean = (1.0 - share) * self.mean + share * other.mean
        largest = np.maximum(self.largest, other.largest)
        return TargetSizes(weight, mean, largest, self.one_output)

    def unit(self) -> float:
        """A power of two near the size of the targets, so that nothing overflows."""
        sizes, largest = self.largest, float(self.largest.max())
        if (sizes[sizes > 0] < FARTHEST * largest).any():
            raise ValueError(
                f"y has outputs of sizes {sizes.min():.0e} to {largest:.0e}, too far apart to be "
                "fitted together: fit them one by one."
            )
        return _power(largest)


def _power(size: float) -> float:
    exponent = math.floor(math.log2(size)) if size > 0 else 0
    return float(2.0 ** min(max(exponent, -1000), 1000))
