"""Bandwidths from data: the median heuristic and its cheap stand-in."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from kitchensinks.features.bases.base import check_positive
from kitchensinks.numerics.words import Words

Floats = NDArray[np.float64]

HEURISTICS = ("median", "scale")

# Work on pairs of rows is bounded: rows² × columns stays below this.
_PAIR_WORK = 2e8
_MOST_ROWS = 1000
_FEWEST_ROWS = 100

_METRICS = {"squared": "euclidean", "l2": "euclidean", "l1": "cityblock"}


def check_gamma(gamma: Any, several: bool = False) -> None:
    """A positive number or the name of a heuristic; `several`: or a list of positive numbers, or
    of lists with a number for each column."""
    if several and isinstance(gamma, list | tuple | np.ndarray):
        if len(gamma) == 0:
            raise ValueError(f"gamma={gamma!r}: need one or more positive numbers in the list.")
        if any(
            np.ndim(one) != np.ndim(gamma[0]) or np.shape(one) != np.shape(gamma[0])
            for one in gamma
        ):
            raise ValueError("gamma: need lists of the same length, a number for each column.")
        for one in np.ravel(gamma).tolist():
            check_positive("gamma", one, " for each scale")
        return
    if isinstance(gamma, str):
        if gamma not in HEURISTICS:
            raise ValueError(f"gamma={gamma!r}: need a positive number, 'median' or 'scale'.")
        return
    check_positive("gamma", gamma, ", 'median' or 'scale'")


def open_gamma(gamma: Any) -> str | None:
    """``gamma='median'`` where gamma is still to be found from rows."""
    return f"gamma={gamma!r}" if isinstance(gamma, str) else None


def picked(gamma: Any, words: Words, count: int) -> Floats:
    """γ of each of `count` draws, (count, 1), or (count, d) where columns have their own.

    Of several each is as likely as the others. The law is then their mixture, and the kernel the
    mean of their kernels.
    """
    scales = several_gammas(gamma)
    if len(scales) == 1:
        return np.repeat(scales, count, axis=0)
    return np.asarray(scales[(len(scales) * words.uniform(count)).astype(np.int64)])


def several_gammas(gamma: Any) -> Floats:
    """The members of a mixture, (members, 1), or (members, d) where columns have their own γ."""
    scales = np.asarray(gamma, dtype=np.float64)
    return scales if scales.ndim == 2 else scales.reshape(-1, 1)


def resolve_gamma(gamma: Any, measure: str, rows: Floats, weights: Floats | None) -> Any:
    """A number for gamma, or the numbers given.

    `measure` says what gamma multiplies: "squared" ‖x − z‖², "l2" ‖x − z‖₂,
    "l1" ‖x − z‖₁, "length" ‖x‖.

    - "median": one over the median of that measure (for "squared": over the squared
      median distance), over non-zero distances between the rows (lengths of the rows
      for "length"), each pair weighted by w_i·w_j.
    - "scale": the same with the typical size √(d·v) (d·√v for "l1") in place of the
      median, v the variance of all entries; d·v for "squared", as scikit-learn's SVC.

    Rows with whole weights count as rows repeated that often. Where all rows are equal
    there is no distance to go by, and gamma is 1.
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
    # A spread of rounding alone is none.
    if spread <= 1e-14 * abs(mean):
        return 0.0
    n_inputs = rows.shape[1]
    return spread * (n_inputs if measure == "l1" else math.sqrt(n_inputs))


def _median(measure: str, rows: Floats, weights: Floats | None) -> float:
    if measure == "length":
        lengths = np.linalg.norm(rows, axis=1)
        return weighted_median(lengths, weights)
    limit = int(math.sqrt(_PAIR_WORK / rows.shape[1]))
    limit = min(max(limit, _FEWEST_ROWS), _MOST_ROWS)
    if len(rows) > limit:
        # The rows given are a random sample already: every so many of them will do.
        kept = np.linspace(0, len(rows) - 1, limit).astype(int)
        rows, weights = rows[kept], None if weights is None else weights[kept]
    distances = pdist(rows, _METRICS[measure])
    pair_weights = None
    if weights is not None:
        first, second = np.triu_indices(len(rows), 1)
        pair_weights = weights[first] * weights[second]
    return weighted_median(distances, pair_weights)


def weighted_median(values: Floats, weights: Floats | None) -> float:
    """Median of the non-zero values; zero where there are none."""
    keep = values > 0 if weights is None else (values > 0) & (weights > 0)
    if not keep.any():
        return 0.0
    if weights is None:
        return float(np.median(values[keep]))
    order = np.argsort(values[keep])
    values, total = values[keep][order], np.cumsum(weights[keep][order])
    # The middle value, or the mean of the two where the weights below and above are equal.
    first, second = (np.searchsorted(total, total[-1] / 2.0, side=s) for s in ("left", "right"))
    return float((values[first] + values[min(second, len(values) - 1)]) / 2.0)
