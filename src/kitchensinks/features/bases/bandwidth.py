"""Bandwidths from data: the median heuristic and a cheap alternative."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from kitchensinks.features.bases.base import Basis
from kitchensinks.numerics.arrays import Floats
from kitchensinks.numerics.checks import check_positive
from kitchensinks.numerics.words import Words

# Most work for distances between pairs of rows: rows² × columns.
_PAIR_WORK = 2e8
# More rows than this do not make the median noticeably more accurate.
_MOST_ROWS = 1000
# Fewest rows, however wide they are.
_FEWEST_ROWS = 100


class WithGamma(Basis):
    """A basis whose features depend on γ·x; γ is given or estimated from rows."""

    gamma: Any

    # The distance that gamma multiplies: see `resolve_gamma`.
    _measure: str = "length"
    # Whether gamma may be a list. The law is then a mixture of equal parts, one for each γ, and
    # the kernel the mean of their kernels. A list of lists has a γ for each column.
    _several: bool = False

    def check(self) -> None:
        gamma = self.gamma
        listed = isinstance(gamma, list | tuple | np.ndarray) and getattr(gamma, "ndim", 1) > 0
        if self._several and listed:
            if len(gamma) == 0:
                raise ValueError(f"gamma={gamma!r}: need one or more positive numbers in the list.")
            if len({np.shape(one) for one in gamma}) > 1:
                raise ValueError("gamma: need lists of the same length, a number for each column.")
            for one in np.ravel(gamma).tolist():
                check_positive("gamma", one, " for each scale")
        elif not (isinstance(gamma, str) and gamma in ("median", "scale")):
            check_positive("gamma", gamma, ", 'median' or 'scale'")

    def unresolved(self) -> str | None:
        return f"gamma={self.gamma!r}" if isinstance(self.gamma, str) else None

    def learn_parameters(self, rows: Floats, weights: Floats | None) -> dict[str, Any]:
        return {"gamma": resolve_gamma(self.gamma, self._measure, rows, weights)}

    def _gammas(self, n_inputs: int) -> Floats:
        """γ of each part of the mixture, (parts, 1), or (parts, d) with a γ for each column."""
        gammas = np.asarray(self.gamma, dtype=np.float64)
        if gammas.ndim == 2 and gammas.shape[1] not in (1, n_inputs):
            raise ValueError(
                f"gamma has {gammas.shape[1]} numbers in each list, and the rows have {n_inputs} "
                "columns: need a number for each column."
            )
        return gammas if gammas.ndim == 2 else gammas.reshape(-1, 1)

    def _mean_kernel(self, kernel_of: Callable[[Floats], Floats], n_inputs: int) -> Floats:
        """The mean of kernel_of(γ), γ (1,) or (d,)."""
        kernels = [kernel_of(gamma) for gamma in self._gammas(n_inputs)]
        return np.asarray(sum(kernels) / len(kernels))

    def _pick_gamma(self, words: Words, count: int, n_inputs: int) -> Floats:
        """γ of each of `count` draws, (count, 1) or (count, d), each part equally likely."""
        gammas = self._gammas(n_inputs)
        if len(gammas) == 1:
            return np.repeat(gammas, count, axis=0)
        return np.asarray(gammas[words.integers(len(gammas), count)])


def resolve_gamma(gamma: object, measure: str, rows: Floats, weights: Floats | None) -> Any:
    """A number for gamma, or the numbers given.

    `measure` says what gamma multiplies: "squared" ‖x − z‖², "l2" ‖x − z‖₂,
    "l1" ‖x − z‖₁, "length" ‖x‖.

    - "median": one over the median of that measure (for "squared": over the squared
      median distance), over non-zero distances between the rows (lengths of the rows
      for "length"), each pair weighted by w_i·w_j.
    - "scale": the same with the typical size √(d·v) (d·√v for "l1") in place of the
      median, v the variance of all entries; d·v for "squared", as scikit-learn's SVC.

    Rows with whole weights count as rows repeated that often. Where all rows are equal
    there is no distance to estimate, and gamma is 1.
    """
    if not isinstance(gamma, str):
        return np.asarray(gamma, dtype=np.float64).tolist()
    with np.errstate(over="ignore", invalid="ignore"):
        size = (_typical if gamma == "scale" else _median)(measure, rows, weights)
    if size == 0:
        return 1.0
    scale = size**2 if measure == "squared" else size
    if not (0 < scale < math.inf and 1.0 / scale < math.inf):
        raise ValueError(
            f"gamma={gamma!r} overflows: the rows lie about {size:.0e} apart. Standardise the "
            "columns, or give gamma as a number."
        )
    return 1.0 / scale


def _typical(measure: str, rows: Floats, weights: Floats | None) -> float:
    mean = np.average(rows.mean(axis=1), weights=weights)
    spread = math.sqrt(np.average(np.square(rows - mean).mean(axis=1), weights=weights))
    # Below this, the spread is a rounding error.
    if spread <= 1e-14 * abs(mean):
        return 0.0
    n_inputs = rows.shape[1]
    return spread * (n_inputs if measure == "l1" else math.sqrt(n_inputs))


def _median(measure: str, rows: Floats, weights: Floats | None) -> float:
    if measure == "length":
        return positive_median(np.linalg.norm(rows, axis=1), weights)
    limit = int(math.sqrt(_PAIR_WORK / rows.shape[1]))
    limit = min(max(limit, _FEWEST_ROWS), _MOST_ROWS)
    if len(rows) > limit:
        # The rows are a random sample already, so a regular subset of them is one too.
        kept = np.linspace(0, len(rows) - 1, limit).astype(int)
        rows, weights = rows[kept], None if weights is None else weights[kept]
    distances = pdist(rows, "cityblock" if measure == "l1" else "euclidean")
    pair_weights = None
    if weights is not None and (weights != weights[0]).any():
        first, second = np.triu_indices(len(rows), 1)
        pair_weights = weights[first] * weights[second]
    return positive_median(distances, pair_weights)


def positive_median(values: Floats, weights: Floats | None) -> float:
    """Median of the positive values, or zero if there are none."""
    keep = values > 0 if weights is None else (values > 0) & (weights > 0)
    if not keep.any():
        return 0.0
    return weighted_median(values[keep], None if weights is None else weights[keep])


def weighted_median(values: Floats, weights: Floats | None) -> float:
    """The median of values (n,); whole weights (n,) count as values repeated that often.

    >>> weighted_median(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 2.0]))
    3.0
    """
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values)
    values, total = values[order], np.cumsum(weights[order])
    # The middle value, or the mean of the two where the weights below and above are equal.
    first, second = (np.searchsorted(total, total[-1] / 2.0, side=s) for s in ("left", "right"))
    return float((values[first] + values[min(second, len(values) - 1)]) / 2.0)
