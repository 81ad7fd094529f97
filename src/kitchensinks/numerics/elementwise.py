"""Element-wise operations on blocks of features, in one pass and on several threads."""

from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import AnyArray, Floats
from kitchensinks.numerics.threads import compiled, inlined, looped, row_tiles

# Below this many entries NumPy finishes before threads would have started.
SMALL = 2**14

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


@looped(lambda values, *_: len(values), fastmath={"contract"})
def _affine(values: AnyArray, scale: float, shift: AnyArray, begin: int, end: int) -> None:
    for i in range(begin, end):
        for k in range(values.shape[1]):
            values[i, k] = values[i, k] * scale - shift[k]


def affine(values: AnyArray, scale: float, shift: AnyArray) -> None:
    """Replace values (n, K) by values·scale − shift, shift (K,), in one pass."""
    if values.size < SMALL:
        affine_plain(values, scale, shift)
        return
    kind = values.dtype.type
    _affine(values, kind(scale), shift.astype(values.dtype, copy=False))


def affine_plain(values: AnyArray, scale: float, shift: AnyArray) -> None:
    values *= values.dtype.type(scale)
    values -= shift.astype(values.dtype)


@looped(lambda total, *_: row_tiles(total.shape[1], 2))
def _add_lower(total: AnyArray, part: AnyArray, unit: Any, begin: int, end: int) -> None:
    """A step takes one of the first columns and one of the last: all have as many entries."""
    last = total.shape[1] - 1
    for step in range(begin, end):
        for i in range(step, total.shape[0]):
            total[i, step] += unit * part[i, step]
        if last - step > step:
            for i in range(last - step, total.shape[0]):
                total[i, last - step] += unit * part[i, last - step]


def add_lower(total: Floats, part: AnyArray, unit: float) -> None:
    """total += unit·part in float64, on and below the diagonal; both column by column in memory."""
    if part.size < SMALL:
        add_lower_plain(total, part, unit)
    else:
        _add_lower(total, part, float(unit))


def add_lower_plain(total: Floats, part: AnyArray, unit: float) -> None:
    total += unit * np.tril(part).astype(np.float64)


@looped(lambda total, *_: 2 * row_tiles(row_tiles(len(total), 64), 2))
def _mean_with_rank_two(
    total: Any, weight: Any, left: Any, right: Any, out: Any, begin: int, end: int
) -> None:
    """Tiles of the first columns and of the last in turn: threads then have as many entries."""
    size = total.shape[0]
    tiles = (size + 63) // 64
    for step in range(begin, end):
        tile = step // 2 if step % 2 == 0 else tiles - 1 - step // 2
        if step % 2 and tile <= step // 2:
            continue
        first = 64 * tile
        for start in range(first, size, 64):
            end_of_rows = start + 64 if start + 64 < size else size
            for j in range(first, first + 64 if first + 64 < size else size):
                for i in range(start if start > j else j, end_of_rows):
                    value = total[i, j] / weight + (left[i] * right[j] + right[i] * left[j])
                    out[i, j] = value
                    out[j, i] = value


def mean_with_rank_two(total: Floats, weight: float, left: Floats, right: Floats) -> Floats:
    """total/weight + left·right' + right·left' from below the diagonal, mirrored; (K, K).

    Column by column in memory, as total is. One pass: both triangles are written once.
    """
    if total.size < SMALL:
        return mean_with_rank_two_plain(total, weight, left, right)
    out = np.empty_like(total)
    _mean_with_rank_two(total, float(weight), left, right, out)
    return out


def mean_with_rank_two_plain(total: Floats, weight: float, left: Floats, right: Floats) -> Floats:
    lower = np.tril(total / weight + np.outer(left, right) + np.outer(right, left))
    return np.asfortranarray(lower + np.tril(lower, -1).T)


@compiled(fastmath={"reassoc", "nsz"})
def _centre(values: Any, shift: Any, part: Any, total: Any) -> None:
    """Add to `total`; part (K,) is scratch."""
    for start in range(0, values.shape[0], 64):
        for k in range(values.shape[1]):
            part[k] = 0
        for i in range(start, start + 64 if start + 64 < values.shape[0] else values.shape[0]):
            for k in range(values.shape[1]):
                value = values[i, k] - shift[k]
                values[i, k] = value
                part[k] += value
        for k in range(values.shape[1]):
            total[k] += part[k]


def centre(values: AnyArray, shift: Floats) -> Floats:
    """Subtract shift (K,) from the rows of values (n, K), in place; Σ over them afterwards.

    The sums are in float64, of runs of 64 rows in their own dtype.
    """
    if values.size < SMALL:
        return centre_plain(values, shift)
    total, dtype = np.zeros(values.shape[1]), values.dtype
    _centre(values, shift.astype(dtype), np.empty(values.shape[1], dtype), total)
    return total


def centre_plain(values: AnyArray, shift: Floats) -> Floats:
    values -= shift.astype(values.dtype)
    return np.asarray(values.sum(axis=0, dtype=np.float64))
