"""A linear trend that extrapolates beyond the range of the fitted rows."""

from dataclasses import dataclass, replace

import numpy as np

from kitchensinks.numerics.arrays import Floats, Ints, Matrix
from kitchensinks.tables.arrays import block_slices, densify

# Rows of a block.
_BLOCK = 2**14


@dataclass(frozen=True, eq=False)
class Trend:
    """t(x) = Σ_j (clip(x_j, low_j, high_j) − mean_j)·slope_j over a few columns of the rows.

    places (r,): indices of the columns; mean, low, high (r,); slopes (r, outputs) in units of the
    targets. The range extends that of the fitted rows by its own width on either side, which limits
    the effect of outliers. names (r,): names of the columns, empty if they have none.

    >>> low, high = np.array([-1.0]), np.array([2.0])
    >>> trend = Trend(np.array([0]), np.zeros(1), low, high, np.array([[5.0]]))
    >>> trend.values(np.array([[0.5], [2.0], [1e6]])).ravel().tolist()
    [2.5, 10.0, 10.0]
    """

    places: Ints
    mean: Floats
    low: Floats
    high: Floats
    slopes: Floats
    names: tuple[str, ...] = ()

    def in_words(self) -> str:
        """The columns by name or by index."""
        return ", ".join(map(repr, self.names or self.places.tolist()))

    def values(self, rows: Matrix) -> Floats:
        """t(x) of rows (n, d), in blocks: (n, outputs), float64."""
        n_rows = rows.shape[0]
        out = np.empty((n_rows, self.slopes.shape[1]))
        for part in block_slices(n_rows, _BLOCK):
            own = densify(rows[part])[:, self.places].astype(np.float64)
            out[part] = (np.clip(own, self.low, self.high) - self.mean) @ self.slopes
        return out

    def gradients(self, rows: Matrix) -> Floats:
        """∇t(x) with respect to the r columns, (n, outputs, r)."""
        own = densify(rows)[:, self.places]
        return ((own >= self.low) & (own <= self.high))[:, None, :] * self.slopes.T

    def in_units(self, unit: float) -> "Trend":
        """The same for targets that are divided by a unit."""
        return replace(self, slopes=self.slopes / unit)
