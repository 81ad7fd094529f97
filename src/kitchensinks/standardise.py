"""Zero mean and unit variance per column, from a mergeable summary."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchensinks.rows import densify

Floats = NDArray[np.float64]


class Spread(NamedTuple):
    """Total weight, mean and summed squared deviation of each column; parts merge.

    >>> rows = np.array([[1.0], [2.0], [6.0]])
    >>> both = Spread.of(rows[:1]).merge(Spread.of(rows[1:]))
    >>> float(both.mean[0]), float(both.squares[0])
    (3.0, 14.0)
    """

    weight: float
    mean: Floats
    squares: Floats

    @classmethod
    def of(cls, rows: Any, weights: Floats | None = None) -> "Spread":
        """The summary of one block of rows (n, d) with weights (n,)."""
        rows = densify(rows).astype(np.float64, copy=False)
        weights = np.ones(len(rows)) if weights is None else weights
        total = float(weights.sum())
        if total == 0.0:
            return cls(0.0, np.zeros(rows.shape[1]), np.zeros(rows.shape[1]))
        mean = (weights / total) @ rows
        return cls(total, mean, weights @ (rows - mean) ** 2)

    def merge(self, other: "Spread") -> "Spread":
        """The summary of both parts together (Chan, Golub and LeVeque)."""
        weight = self.weight + other.weight
        if weight == 0.0:
            return self
        share = other.weight / weight
        step = other.mean - self.mean
        squares = self.squares + other.squares + self.weight * share * step**2
        return Spread(weight, self.mean + share * step, squares)


@dataclass(frozen=True, eq=False)
class Scaler:
    """x ↦ (x − mean)/scale, column by column."""

    mean: Floats
    scale: Floats

    @classmethod
    def over(cls, spread: Spread, unscaled: NDArray[np.bool_] | None = None) -> "Scaler":
        """Zero mean and unit variance. A constant column is centred and not scaled.

        Nor are the `unscaled` ones: a rare category as 0 and 1 must not weigh more than others.
        """
        variance = spread.squares / max(spread.weight, np.finfo(float).tiny)
        # A column that varies by rounding alone is constant.
        noise = (10 * np.finfo(float).eps * np.abs(spread.mean)) ** 2
        kept = (variance <= noise) | (variance <= np.finfo(float).tiny)
        if unscaled is not None:
            kept |= unscaled
        return cls(spread.mean, np.where(kept, 1.0, np.sqrt(variance)))

    def apply(self, rows: Any, dtype: Any) -> NDArray[Any]:
        """Standardised rows of the given dtype; the difference is taken in float64."""
        rows = densify(rows)
        narrow = rows.dtype == np.float32 and np.dtype(dtype) == np.float32
        # Exact enough in float32 while the mean is not much larger than the spread.
        if narrow and (np.abs(self.mean) <= 100 * self.scale).all():
            out = rows - self.mean.astype(np.float32)
            out /= self.scale.astype(np.float32)
            return np.asarray(out)
        scaled = (rows.astype(np.float64, copy=False) - self.mean) / self.scale
        return np.asarray(scaled.astype(dtype, copy=False))

    def equals(self, other: "Scaler") -> bool:
        return bool(
            np.array_equal(self.mean, other.mean) and np.array_equal(self.scale, other.scale)
        )
