"""Random decision stumps."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from kitchensinks.bases.base import Basis, Theta, check_choice, check_positive
from kitchensinks.numerics.distances import cityblock
from kitchensinks.numerics.words import Words

Floats = NDArray[np.float64]

# A column's own law is kept as this many quantiles.
LEVELS = 1024


class Stumps(Basis):
    """sgn(x_i − t), with sgn(0) = +1: does column i reach the threshold t?

    i is uniform over the columns (kitchen sinks, section 4; random bases, section V b).
    With F the distribution function of the threshold,

        k(x, z) = 1 − (2/d)·Σ_i |F(x_i) − F(z_i)|,

    for thresholds uniform on [−a, a] therefore 1 − ‖x − z‖₁/(a·d) inside the cube, with
    coordinates clipped to it outside (the paper prints 1 − ‖x − z‖₁/a).

    Parameters
    ----------
    threshold : "normal" (standard normal: the papers' choice for standardised columns),
        "uniform" on [−a, a], or "quantile": drawn from the column's own values. A table of
        equally likely thresholds, shape (d, levels) and sorted along each row, is what
        "quantile" is resolved into.
    a : half-width of the uniform law.

    Examples
    --------
    >>> float(Stumps("uniform", a=1.0).kernel([[0.0, 0.5]], [[0.2, 0.5]])[0, 0])
    0.9
    """

    def __init__(self, threshold: Any = "normal", a: float = 3.0) -> None:
        self.threshold = threshold
        self.a = a

    @property
    def bound(self) -> float:
        return 1.0

    def check(self) -> None:
        if isinstance(self.threshold, str) or not hasattr(self.threshold, "shape"):
            check_choice("threshold", self.threshold, ("normal", "uniform", "quantile"))
        elif np.ndim(self.threshold) != 2 or np.size(self.threshold) == 0:
            raise ValueError(
                f"threshold of shape {np.shape(self.threshold)}: need 'normal', 'uniform', "
                "'quantile' or a table of shape (columns, levels)."
            )
        elif not (np.isfinite(self.threshold).all() and (np.diff(self.threshold) >= 0).all()):
            raise ValueError(
                "threshold is a table that holds NaN or infinity, or is not sorted: need finite "
                "numbers in rising order along each row. Use np.sort(table, axis=1)."
            )
        if isinstance(self.threshold, str) and self.threshold == "uniform":
            check_positive("a", self.a)

    def unresolved(self) -> str | None:
        named = isinstance(self.threshold, str) and self.threshold == "quantile"
        return "threshold='quantile'" if named else None

    def settle(self, rows: Floats, weights: Floats | None) -> dict[str, Any]:
        levels = (np.arange(LEVELS) + 0.5) / LEVELS
        table = np.empty((rows.shape[1], LEVELS))
        for j in range(rows.shape[1]):
            table[j] = np.quantile(rows[:, j], levels, weights=weights, method="inverted_cdf")
        return {"threshold": table}

    def sample(self, words: Words, n_inputs: int) -> Theta:
        count = self.block_size(n_inputs)
        column = words.integers(n_inputs, count)
        if isinstance(self.threshold, str):
            if self.threshold == "normal":
                threshold = words.normal(count)
            else:
                threshold = self.a * (2.0 * words.uniform(count) - 1.0)
        else:
            table = self._table(n_inputs)
            threshold = table[column, words.integers(table.shape[1], count)]
        return {"column": column, "threshold": threshold}

    def _table(self, n_inputs: int) -> Floats:
        table = np.asarray(self.threshold, dtype=np.float64)
        if len(table) != n_inputs:
            raise ValueError(
                f"threshold has {len(table)} rows and the data {n_inputs} columns: "
                "the table of thresholds needs one row for each column."
            )
        return table

    def features(self, theta: Theta, rows: Any) -> NDArray[Any]:
        reached = np.asarray(rows)[:, theta["column"]] >= theta["threshold"]
        features = reached.astype(rows.dtype)
        features *= 2
        features -= 1
        return np.asarray(features)

    def distribution(self, rows: Floats) -> Floats:
        """F(x_i), the chance that a threshold of column i is at most x_i, for every entry."""
        if isinstance(self.threshold, str):
            if self.threshold == "normal":
                return np.asarray(ndtr(rows))
            return np.asarray(np.clip((rows / self.a + 1.0) / 2.0, 0.0, 1.0))
        table = self._table(rows.shape[1])
        below = [np.searchsorted(table[j], rows[:, j], side="right") for j in range(len(table))]
        return np.asarray(np.stack(below, axis=1) / table.shape[1])

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        distance = cityblock(self.distribution(rows), self.distribution(others))
        return np.asarray(1.0 - (2.0 / rows.shape[1]) * distance)
