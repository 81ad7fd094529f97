"""Element-wise operations on blocks of features, in one pass and on several threads."""

from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import AnyArray, Floats
from kitchensinks.numerics.threads import in_order, inlined, looped

# Below this many entries NumPy finishes before threads would have started.
SMALL = 2**14
# Columns of a square matrix that are worked on together, so that they stay in cache.
_COLUMNS = 64

# sin 2πv = v·P(v²) on |v| ≤ ¼: Chebyshev interpolants of sin(2π√w)/√w, to 2e-7 and 3e-16; the
# coefficients from the highest power down.
_SIX = (
    -14.39396629545594,
    42.00977930315391,
    -76.70427987604262,
    81.60522617402966,
    -41.341702116744,
    6.283185307072264,
)
_TEN = (
    -0.011683082881307492,
    0.10418309087064648,
    -0.7181189218910658,
    3.819952434866809,
    -15.094642572701974,
    42.0586939448287,
    -76.70585975306072,
    81.60524927607505,
    -41.34170224039976,
    6.283185307179586,
)
# Six terms are as exact as float32 is, ten as float64 is.
_SERIES = {np.dtype(np.float32): tuple(map(np.float32, _SIX)), np.dtype(np.float64): _TEN}


@inlined(fastmath={"contract"})
def _cosine_of_turns(turns: Any, quarter: Any, series: Any) -> Any:
    """cos 2πt = sin 2π(¼ − |t − round t|)."""
    v = quarter - abs(turns - np.rint(turns))
    w = v * v
    total = series[0]
    for coefficient in series[1:]:
        total = total * w + coefficient
    return total * v


@looped(lambda angle, *_: len(angle), fastmath={"contract"})
def _cosine(
    angle: AnyArray, phase: AnyArray, amplitude: Any, series: Any, begin: int, end: int
) -> None:
    kind = angle.dtype.type
    turn, quarter = kind(0.15915494309189535), kind(0.25)
    for i in range(begin, end):
        for k in range(angle.shape[1]):
            turns = (angle[i, k] + phase[k]) * turn
            angle[i, k] = amplitude * _cosine_of_turns(turns, quarter, series)


def cosine(angle: AnyArray, phase: AnyArray, amplitude: float) -> None:
    """Replace angle (n, K) by amplitude·cos(angle + phase), phase (K,), in one pass.

    In float32 the error is 2e-7 beside that of rounding the angle; in float64 it is rounding.
    """
    if angle.size < SMALL:
        cosine_plain(angle, phase, amplitude)
        return
    dtype = angle.dtype
    _cosine(angle, phase.astype(dtype, copy=False), dtype.type(amplitude), _SERIES[dtype])


def cosine_plain(angle: AnyArray, phase: AnyArray, amplitude: float) -> None:
    angle += phase
    np.cos(angle, out=angle)
    angle *= angle.dtype.type(amplitude)


def add_lower(total: Floats, part: AnyArray, unit: float) -> None:
    """total += unit·part in float64, on and below the diagonal; both column by column in memory.

    What is above the diagonal of `part` does not count: it may be anything.
    """

    def add(first: int) -> None:
        own, below = slice(first, first + _COLUMNS), slice(first + _COLUMNS, len(total))
        total[own, own] += np.multiply(np.tril(part[own, own]), unit, dtype=np.float64)
        total[below, own] += np.multiply(part[below, own], unit, dtype=np.float64)

    for _ in in_order(add, range(0, len(total), _COLUMNS)):
        pass


def mean_with_rank_two(total: Floats, weight: float, left: Floats, right: Floats) -> Floats:
    """total/weight + left·right' + right·left' from below the diagonal, mirrored; (K, K).

    Column by column in memory, as total is, and a tile of columns at a time.
    """
    size, out = len(total), np.empty_like(total)

    def fill(first: int) -> None:
        own, below = slice(first, first + _COLUMNS), slice(first, size)
        tile = total[below, own].T / weight
        tile += np.outer(right[own], left[below])
        tile += np.outer(left[own], right[below])
        corner = tile[:, : len(tile)]
        corner[:] = np.triu(corner) + np.triu(corner, 1).T
        out[below, own] = tile.T
        out[own, below] = tile

    for _ in in_order(fill, range(0, size, _COLUMNS)):
        pass
    return out


def centre(values: AnyArray, shift: Floats) -> Floats:
    """Subtract shift (K,) from the rows of values (n, K), in place; Σ over them, in float64."""
    values -= shift.astype(values.dtype)
    return np.asarray(values.sum(axis=0, dtype=np.float64))
