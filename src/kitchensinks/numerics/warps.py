"""Compiled column maps: standardise, squash, quantile, in one pass over the rows."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitchensinks.numerics.arrays import AnyArray, Floats
from kitchensinks.numerics.threads import inlined, looped

# Kinds of column maps; model files hold these numbers.
LINEAR, SQUASH, QUANTILE, MIX = 0, 1, 2, 3
# Squashed values stay within ± this many deviations.
BEND = 3.0
# A uniform law on ± this has variance one.
HALF = math.sqrt(3.0)
# Entries that are computed in float64 before they are rounded to another dtype.
_ROUNDED = 2**17


@inlined()
def _rank(value: object, knots: AnyArray) -> Any:
    """Place of a value among sorted knots, from 0 to 1: the middle of those it equals.

    Bisection with the same steps for every value, so that no branch can be mispredicted.
    """
    last = knots.shape[0] - 1
    low, left = 0, last + 1
    while left > 0:
        half = (left + 1) >> 1
        low += half * (knots[low + half - 1] < value)
        left -= half
    if low > last:
        return 1.0
    if knots[low] == value:
        end, left = low, last + 1 - low
        while left > 0:
            half = (left + 1) >> 1
            end += half * (knots[end + half - 1] <= value)
            left -= half
        return 0.5 * (low + end - 1) / last
    if low == 0:
        return 0.0
    below = knots[low - 1]
    return (low - 1 + (value - below) / (knots[low] - below)) / last


@looped(lambda rows, *_: len(rows))
def _warp_rows(
    rows: AnyArray,
    mean: AnyArray,
    rate: AnyArray,
    kind: AnyArray,
    knots: AnyArray,
    factor: AnyArray,
    out: AnyArray,
    begin: int,
    end: int,
) -> None:
    for i in range(begin, end):
        for j in range(rows.shape[1]):
            value = np.float64(rows[i, j])
            z = (value - mean[j]) * rate[j]
            own = kind[j]
            if own != LINEAR:
                squashed = z / math.sqrt(1.0 + (z * z) * (1.0 / (BEND * BEND)))
                if own == SQUASH:
                    z = squashed
                else:
                    spread = HALF * (2.0 * _rank(value, knots[j]) - 1.0)
                    z = spread if own == QUANTILE else 0.5 * (squashed + spread)
            out[i, j] = factor[j] * z


def warp_rows(
    rows: AnyArray,
    mean: Floats,
    scale: Floats,
    kind: NDArray[np.int8],
    knots: Floats,
    factor: Floats,
    out: AnyArray,
) -> None:
    """out_ij = factor_j·w_j((x_ij − mean_j)/scale_j), w_j by the kind of column j.

    LINEAR: z; SQUASH: z/√(1 + (z/3)²); QUANTILE: √3·(2·rank − 1) among the column's knots;
    MIX: the mean of the last two. rows, out (n, d); knots (d, q), q > 1, sorted.
    """
    rate = 1.0 / scale
    if out.dtype == np.float64:
        _warp_rows(rows, mean, rate, kind, knots, factor, out)
        return
    # Rounded afterwards, so that one loop is compiled for all outputs.
    size = max(1, _ROUNDED // max(1, rows.shape[1]))
    exact = np.empty((min(size, len(rows)), rows.shape[1]))
    with np.errstate(over="ignore"):
        for first in range(0, len(rows), size):
            own = rows[first : first + size]
            _warp_rows(own, mean, rate, kind, knots, factor, exact[: len(own)])
            out[first : first + size] = exact[: len(own)]
