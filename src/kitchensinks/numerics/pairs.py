"""Compiled sums over all pairs of a batch of rows: the two products that learning scales needs.

Four rows at a time. A step of the outer loops takes four of the first rows and four of the last, so
that all steps have the same number of pairs, and threads that are free share them.
"""

import numpy as np
from numpy.typing import NDArray

from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.numerics.threads import compiled, looped, row_tiles

Singles = NDArray[np.float32]


# Parts whose sums are made apart, whatever the number of threads, and then added in their order.
_PARTS = 8
# Rows whose part below the diagonal is cleared together.
_TILE = 64


def _four_sums(columns: Singles, *_: AnyArray) -> Singles:
    """Memory for a number for each of four rows and every row."""
    return np.empty((4, columns.shape[1]), np.float32)


# Steps of four of the first rows and four of the last.
@looped(
    lambda columns, out: row_tiles(row_tiles(len(out), 4), 2), scratch=_four_sums, fastmath=True
)
def pair_distances(columns: AnyArray, out: AnyArray, sums: AnyArray, begin: int, end: int) -> None:
    """out_ik = Σ_j |x_ij − x_kj| of the first rows i and all rows k ≥ i, four rows at a time.

    columns (d, m) float32, the rows stored column by column; out (first rows, m) float32, which is
    left alone below its diagonal.
    """
    n_inputs, n_rows = columns.shape
    fours = (out.shape[0] + 3) // 4
    for both in range(2 * begin, 2 * end):
        four = both // 2 if both % 2 == 0 else fours - 1 - both // 2
        if four - both % 2 < both // 2:  # the four in the middle, once more
            continue
        first = 4 * four
        last = first + 4 if first + 4 < out.shape[0] else out.shape[0]
        two = first + 1 if first + 1 < last else first
        three = first + 2 if first + 2 < last else two
        for r in range(4):
            for k in range(n_rows - first):
                sums[r, k] = 0.0
        # Two columns at a time: each sum is loaded and stored half as often.
        for j in range(0, n_inputs, 2):
            p = j + 1 if j + 1 < n_inputs else j
            keep = np.float32(1.0 if p > j else 0.0)
            a, b, c, d = columns[j, first], columns[j, two], columns[j, three], columns[j, last - 1]
            e, f, g, h = columns[p, first], columns[p, two], columns[p, three], columns[p, last - 1]
            x, y = columns[j, first:], columns[p, first:]
            for k in range(len(x)):
                left, right = x[k], y[k]
                sums[0, k] += abs(a - left) + keep * abs(e - right)
                sums[1, k] += abs(b - left) + keep * abs(f - right)
                sums[2, k] += abs(c - left) + keep * abs(g - right)
                sums[3, k] += abs(d - left) + keep * abs(h - right)
        for i in range(first, last):
            for k in range(i, n_rows):
                out[i, k] = sums[i - first, k - first]


def clear_lower(matrix: AnyArray) -> None:
    """Put zeros below the diagonal of a matrix that has no more rows than columns."""
    for first in range(0, len(matrix), _TILE):
        own = slice(first, first + _TILE)
        matrix[own, :first] = 0.0
        matrix[own, own] = np.triu(matrix[own, own])


@compiled()
def mirror(matrix: AnyArray) -> None:
    """Copy the part above the diagonal below it, tile by tile."""
    n_rows = matrix.shape[0]
    tile = 32
    for a in range((n_rows + tile - 1) // tile):
        for b in range(a + 1):
            for i in range(a * tile, min(n_rows, (a + 1) * tile)):
                for k in range(b * tile, min(i, (b + 1) * tile)):
                    matrix[i, k] = matrix[k, i]


@looped(lambda columns, weights, out: len(out), scratch=_four_sums, fastmath=True)
def _weighted_parts(
    columns: AnyArray, weights: AnyArray, out: AnyArray, own: AnyArray, begin: int, end: int
) -> None:
    """The sums of each part of the steps, out (parts, d)."""
    n_inputs, n_rows = columns.shape
    fours = (weights.shape[0] + 3) // 4
    steps = (fours + 1) // 2
    for part in range(begin, end):
        for j in range(n_inputs):
            out[part, j] = 0.0
        start, stop = part * steps // out.shape[0], (part + 1) * steps // out.shape[0]
        for both in range(2 * start, 2 * stop):
            four = both // 2 if both % 2 == 0 else fours - 1 - both // 2
            if four - both % 2 < both // 2:  # the four in the middle, once more
                continue
            first = 4 * four
            last = first + 4 if first + 4 < weights.shape[0] else weights.shape[0]
            two = first + 1 if first + 1 < last else first
            three = first + 2 if first + 2 < last else two
            for r in range(4):
                for k in range(n_rows - first):
                    own[r, k] = 0.0
            for i in range(first, last):
                for k in range(i + 1, n_rows):
                    own[i - first, k - first] = weights[i, k]
            for j in range(n_inputs):
                a, b = columns[j, first], columns[j, two]
                c, d = columns[j, three], columns[j, last - 1]
                others = columns[j, first:]
                total = np.float32(0.0)
                for k in range(len(others)):
                    x = others[k]
                    total += (
                        own[0, k] * abs(a - x)
                        + own[1, k] * abs(b - x)
                        + own[2, k] * abs(c - x)
                        + own[3, k] * abs(d - x)
                    )
                out[part, j] += total


def weighted_distances(columns: Singles, weights: Singles, out: NDArray[np.float64]) -> None:
    """out_j = Σ_ik w_ik·|x_ij − x_kj| over the first rows i and all rows k > i.

    columns (d, m) float32; weights (first rows, m) float32, read above the diagonal; out (d,)
    float64.
    """
    parts = np.empty((_PARTS, len(out)))
    _weighted_parts(columns, weights, parts)
    parts.sum(axis=0, out=out)
