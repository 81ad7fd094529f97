"""Scaling of columns: standardisation, bounded maps and learned scales."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from kitchensinks.numerics.arrays import AnyArray, Bools, Floats, Matrix
from kitchensinks.numerics.warps import LINEAR, MIX, QUANTILE, SQUASH, warp_rows
from kitchensinks.tables.arrays import densify

# A column with a value further than this many deviations from its mean has heavy tails and is
# squashed: a linear map would isolate such rows. A normal value is as far out with probability
# 2·10⁻⁹, so that normal columns of any realistic length stay linear; the largest of 100 lognormal
# values is as far out in half of all columns.
_HEAVY = 6.0
# Exponent of the smallest unit that a number is divided by, which is not denormal.
_LEAST_EXPONENT = int(np.finfo(float).minexp)
# A deviation beyond which differences of float32 values may overflow.
_WIDE = 1e30
# Quantiles that a rank map interpolates.
_KNOTS = 257


class Spread(NamedTuple):
    """Total weight, mean, standard deviation and range of each column; parts merge.

    Deviations are kept in place of sums of squares, which overflow or vanish where rows or weights
    are very large or very small.

    >>> rows = np.array([[1.0], [2.0], [6.0]])
    >>> both = Spread.of(rows[:1]).merge(Spread.of(rows[1:]))
    >>> float(both.mean[0]), round(float(both.weight * both.variance[0]), 9)
    (3.0, 14.0)
    """

    weight: float
    mean: Floats
    deviation: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, rows: Matrix, weights: Floats | None = None) -> "Spread":
        """The summary of one block of rows (n, d) with weights (n,)."""
        rows = densify(rows).astype(np.float64, copy=False)
        weights = np.ones(len(rows)) if weights is None else weights
        total = float(weights.sum())
        if total == 0.0:
            zeros, edge = np.zeros(rows.shape[1]), np.full(rows.shape[1], np.inf)
            return cls(0.0, zeros, zeros, edge, -edge)
        if not (counted := weights > 0).all():
            rows, weights = rows[counted], weights[counted]
        mean = (weights / total) @ rows
        low, high = rows.min(axis=0), rows.max(axis=0)
        # Units are powers of two: dividing by them rounds nothing.
        unit, own = power_of_two(high - low), float(power_of_two(total))
        squares = rows - mean
        squares /= unit
        np.square(squares, out=squares)
        variance = (weights / own) @ squares / (total / own)
        return cls(total, mean, unit * np.sqrt(variance), low, high)

    @property
    def variance(self) -> Floats:
        return self.deviation**2

    def merge(self, other: "Spread") -> "Spread":
        """The summary of both parts together (Chan, Golub and LeVeque)."""
        weight = self.weight + other.weight
        if weight == 0.0:
            return self
        share = other.weight / weight
        step = other.mean - self.mean
        within = np.hypot(np.sqrt(1.0 - share) * self.deviation, np.sqrt(share) * other.deviation)
        deviation = np.hypot(within, np.sqrt(share * (1.0 - share)) * step)
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Spread(weight, self.mean + share * step, deviation, low, high)


def power_of_two(sizes: Floats | float) -> Floats:
    """The power of two at or below each positive number, and 1 for 0."""
    exponents = np.frexp(np.where(np.asarray(sizes) > 0.0, sizes, 1.0))[1] - 1
    return np.asarray(np.ldexp(1.0, np.maximum(exponents, _LEAST_EXPONENT)))


@dataclass(frozen=True, eq=False)
class Scaler:
    """x ↦ (clip(x, low, high) − mean)/scale, column by column.

    Values outside the fitted range [low, high] are clipped, because features cannot extrapolate.
    The range is that of all rows so far. Features of rows inside it do not depend on it, so that it
    may grow while sums are accumulated.
    """

    mean: Floats
    scale: Floats
    low: Floats
    high: Floats

    @classmethod
    def over(cls, spread: Spread, unscaled: Bools | None = None) -> "Scaler":
        """Zero mean and unit variance; constant and `unscaled` columns are only centred.

        (Indicators stay unscaled, so that a rare category does not weigh more than a common one.)
        """
        # A column that varies by rounding errors only is constant.
        rounding = 10 * np.finfo(float).eps * np.abs(spread.mean)
        kept = spread.deviation <= np.maximum(rounding, np.finfo(float).tiny)
        scale = np.where(kept, np.maximum(1.0, rounding), spread.deviation)
        if unscaled is not None:
            scale = np.where(unscaled, 1.0, scale)
        return cls(spread.mean, scale, spread.low, spread.high)

    @property
    def middle(self) -> Floats:
        """The replacement of a missing value in a column that had none in the fit: its mean."""
        return self.mean

    def filled(self, rows: Matrix) -> Matrix:
        """Rows (n, d), dense or CSR, with NaN replaced by the middle of its column."""
        values = rows.data if sparse.issparse(rows) else rows
        if not values.size or not np.isnan(values.min()):
            return rows
        middle = self.middle.astype(rows.dtype)
        if not sparse.issparse(rows):
            return np.where(np.isnan(rows), middle, rows)
        rows = rows.copy()
        rows.data = np.where(np.isnan(values), middle[rows.indices], values)
        return rows

    def covering(self, low: Floats, high: Floats) -> Self:
        """The same with a range that covers these values too; itself if it does already."""
        if (low >= self.low).all() and (high <= self.high).all():
            return self
        return replace(self, low=np.minimum(self.low, low), high=np.maximum(self.high, high))

    def outside(self, rows: Matrix, margin: float = 0.0) -> Bools:
        """Where values lie outside the fitted range, (n, d); missing values do not.

        margin: tolerance, as a share of the range.
        """
        rows = densify(rows)
        step = margin * (self.high - self.low) if margin else 0.0
        return np.asarray((rows < self.low - step) | (rows > self.high + step))

    @cached_property
    def _unbounded(self) -> bool:
        return bool(np.isinf(self.low).all() and np.isinf(self.high).all())

    def clipped(self, rows: Matrix) -> AnyArray:
        """Dense rows of floating-point numbers, clipped to the fitted range."""
        rows = densify(rows)
        if rows.dtype.kind != "f":
            rows = rows.astype(np.float64)
        if self._unbounded:
            return np.asarray(rows)
        return np.asarray(np.clip(rows, self.low.astype(rows.dtype), self.high.astype(rows.dtype)))

    def apply(self, rows: Matrix, dtype: DTypeLike) -> AnyArray:
        """Standardised rows of the given dtype; the mean is subtracted in float64."""
        rows = self.clipped(rows)
        narrow = rows.dtype == np.float32 and np.dtype(dtype) == np.float32
        # float32 is accurate enough while the mean is not much larger than the spread, and wide
        # enough for differences of values that are not near its own limit.
        tame = (np.abs(self.mean) <= 100 * self.scale) & (self.scale < _WIDE)
        if narrow and tame.all():
            out = rows - self.mean.astype(np.float32)
            out /= self.scale.astype(np.float32)
            return np.asarray(out)
        scaled = (rows.astype(np.float64, copy=False) - self.mean) / self.scale
        return np.asarray(scaled.astype(dtype, copy=False))

    def pulled_back(self, rows: Matrix, gradients: AnyArray) -> Floats | None:
        """Gradients with respect to the result of `apply`, (n, outputs, width), as gradients with
        respect to the rows, (n, outputs, d); zero where values are clipped; None if not linear."""
        return np.asarray(self._straight(rows)[:, None, :] * gradients / self.scale)

    def _straight(self, rows: Matrix) -> Bools:
        """Where values are not clipped, (n, d)."""
        return ~Scaler.outside(self, rows)

    def same(self, other: object) -> bool:
        """Whether another scaler maps rows within both ranges in the same way."""
        return type(self) is type(other) and all(
            np.array_equal(getattr(self, field.name), getattr(other, field.name))
            for field in fields(self)
            if field.name not in ("low", "high")
        )


@dataclass(frozen=True, eq=False)
class Warp(Scaler):
    """x ↦ factor·w((x − mean)/scale), column by column, with the scales of a learned law.

    kind (d,): the map w of each column (`kitchensinks.numerics.warps`); knots (d, q): the sorted
    quantiles of rank maps; factor (d,): the learned scales; rotation (d, r), unless it is empty:
    directions that the scaled rows are projected on. Columns with factor zero are dropped.
    """

    kind: NDArray[np.int8]
    knots: Floats
    factor: Floats
    rotation: Floats

    def apply(self, rows: Matrix, dtype: DTypeLike) -> AnyArray:
        """Mapped and scaled rows of the given dtype."""
        taken = self.taken
        if taken is not None:
            return self.of_columns(taken).apply(rows[:, taken], dtype)
        rows = self.clipped(rows)
        out = np.empty(rows.shape, dtype=dtype)
        warp_rows(rows, self.mean, self.scale, self.kind, self.knots, self.factor, out)
        return out @ self.rotation.astype(dtype) if self.rotation.size else out

    def outside(self, rows: Matrix, margin: float = 0.0) -> Bools:
        """As `Scaler.outside`, without the columns that are dropped."""
        outside, taken = super().outside(rows, margin), self.taken
        if taken is not None:
            outside[:, np.delete(np.arange(outside.shape[1]), taken)] = False
        return outside

    def pulled_back(self, rows: Matrix, gradients: AnyArray) -> Floats | None:
        if (self.kind[self.factor != 0.0] != LINEAR).any():
            return None
        if self.rotation.size:
            gradients = gradients @ self.rotation.T
        whole = np.zeros((*gradients.shape[:2], len(self.factor)))
        whole[..., slice(None) if self.taken is None else self.taken] = gradients
        return self._straight(rows)[:, None, :] * whole * (self.factor / self.scale)

    @cached_property
    def taken(self) -> NDArray[np.intp] | None:
        """The columns that are not dropped, or None if all are kept."""
        zero = self.factor == 0.0
        return None if self.rotation.size or not zero.any() else np.flatnonzero(~zero)

    def of_columns(self, places: NDArray[np.intp]) -> "Warp":
        """The same map for rows with these columns only."""
        own = {
            field.name: getattr(self, field.name)[places]
            for field in fields(self)
            if field.name != "rotation"
        }
        return replace(self, **own)

    @property
    def middle(self) -> Floats:
        """The mean of a column, or ½ for a column of zeros and ones, which is not centred."""
        plain = (self.kind == LINEAR) & (self.mean == 0.0) & (self.scale == 1.0)
        hot = plain & (self.low == 0.0) & (self.high == 1.0)
        return np.where(hot, 0.5, self.mean)

    @property
    def width(self) -> int:
        return self.rotation.shape[1] if self.rotation.size else int(np.count_nonzero(self.factor))

    def turned(self, rotation: Floats) -> "Warp":
        """The same map followed by a projection on the directions (d, r)."""
        return replace(self, rotation=rotation)

    def within(self, low: Floats, high: Floats) -> "Warp":
        return replace(self, low=low, high=high)

    def times(self, factor: Floats | float) -> "Warp":
        return replace(self, factor=self.factor * factor)


def warp(spread: Spread, sample: Floats, kind: int, common: bool = False) -> Warp:
    """The map of one kind for all columns, from their spread and a sample of the rows.

    Columns of zeros and ones are not changed. `common`: one scale for all other columns, if they
    have the same unit (pixels, spectral bands).

    >>> rows = np.array([[0.0, 0.0], [10.0, 1.0], [20.0, 0.0]])
    >>> warp(Spread.of(rows), rows, LINEAR).apply(rows, np.float64).round(2).tolist()
    [[-1.22, 0.0], [0.0, 1.0], [1.22, 0.0]]
    """
    plain = Scaler.over(spread)
    hot = indicators(spread, sample)
    scale = plain.scale
    if common:
        scale = np.full_like(scale, 1.0 if hot.all() else np.sqrt(spread.variance[~hot].mean()))
        scale[scale == 0.0] = 1.0
    kinds = np.where(hot, LINEAR, kind)
    if kind == LINEAR:
        reach = np.maximum(plain.high - plain.mean, plain.mean - plain.low)
        kinds[~hot & (reach > _HEAVY * scale)] = SQUASH
    knots = np.zeros((len(scale), 2))
    if kind in (QUANTILE, MIX):
        knots = np.quantile(sample, np.linspace(0.0, 1.0, _KNOTS), axis=0).T
    return Warp(
        np.where(hot, 0.0, plain.mean),
        np.where(hot, 1.0, scale),
        plain.low,
        plain.high,
        kinds.astype(np.int8),
        np.ascontiguousarray(knots),
        np.ones(len(scale)),
        np.empty((0, 0)),
    )


def every(spread: Spread, unscaled: Bools | None) -> Warp:
    """All columns standardised as by `Scaler.over`, those of zeros and ones too."""
    plain = Scaler.over(spread, unscaled)
    own = identity(len(plain.mean))
    return replace(own, mean=plain.mean, scale=plain.scale, low=plain.low, high=plain.high)


def identity(n_inputs: int) -> Warp:
    """The identity map.

    >>> identity(2).apply(np.array([[3.0, -1.0]]), np.float64).tolist()
    [[3.0, -1.0]]
    """
    ones = np.ones(n_inputs)
    kind, knots = np.full(n_inputs, LINEAR, dtype=np.int8), np.zeros((n_inputs, 2))
    edge = np.full(n_inputs, np.inf)
    return Warp(np.zeros(n_inputs), ones, -edge, edge, kind, knots, ones, np.empty((0, 0)))


def indicators(spread: Spread, sample: Floats) -> Bools:
    """Which columns hold only 0 and 1: E x² = E x, and the sample confirms it."""
    hot = np.abs(spread.variance - spread.mean * (1.0 - spread.mean)) <= 1e-9
    return np.asarray(hot & ((sample == 0.0) | (sample == 1.0)).all(axis=0))
