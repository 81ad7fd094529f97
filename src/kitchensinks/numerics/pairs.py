"""Compiled sums over all pairs of a batch of rows: the two products that learning scales needs.

Four rows at a time. Those in front have the most pairs: fours are taken from the front and from the
back in turn, so that threads that are free share the pairs evenly.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kitchensinks.numerics.arrays import AnyArray, Ints
from kitchensinks.numerics.threads import compiled, looped, row_tiles

Singles = NDArray[np.float32]


# Parts whose sums are made apart and then added in their order.
_PARTS = 8
# Rows whose part below the diagonal is cleared together.
_TILE = 64


def _fours(count: int) -> Ints:
    """Rows of each four, (fours, 4); the last row stands in for those that the last four lacks."""
    order = np.empty(row_tiles(count, 4), dtype=np.int64)
    order[::2] = np.arange(row_tiles(len(order), 2))
    order[1::2] = len(order) - 1 - np.arange(len(order) // 2)
    return np.asarray(np.minimum(4 * order[:, None] + np.arange(4), count - 1))


def _four_sums(columns: Singles, *_: AnyArray) -> Singles:
    """Memory for a number for each of four rows and every row, zero at first."""
    return np.zeros((4, columns.shape[1]), np.float32)


@looped(lambda columns, fours, out: len(fours), scratch=_four_sums, fastmath=True)
def _pair_distances(
    columns: AnyArray, fours: AnyArray, out: AnyArray, sums: AnyArray, begin: int, end: int
) -> None:
    """columns (d, m), d even."""
    n_inputs, n_rows = columns.shape
    for s in range(begin, end):
        first, two, three = fours[s, 0], fours[s, 1], fours[s, 2]
        four = fours[s, 3]
        # Two columns at a time: each sum is loaded and stored half as often.
        for j in range(0, n_inputs, 2):
            p = j + 1
            a, b, c = columns[j, first], columns[j, two], columns[j, three]
            e, f, g = columns[p, first], columns[p, two], columns[p, three]
            d, h = columns[j, four], columns[p, four]
            x, y = columns[j, first:], columns[p, first:]
            for k in range(len(x)):
                left, right = x[k], y[k]
                sums[0, k] += abs(a - left) + abs(e - right)
                sums[1, k] += abs(b - left) + abs(f - right)
                sums[2, k] += abs(c - left) + abs(g - right)
                sums[3, k] += abs(d - left) + abs(h - right)
        for r in range(3, -1, -1):
            i = fours[s, r]
            for k in range(first, n_rows):
                out[i, k] = sums[r, k - first]
                sums[r, k - first] = 0.0


def pair_distances(columns: Singles, out: Singles) -> None:
    """out_ik = Σ_j |x_ij − x_kj| of the first rows i and all rows k ≥ i.

    columns (d, m), the rows stored column by column; out (first rows, m): what is below its
    diagonal means nothing.
    """
    if len(columns) % 2:
        columns = np.concatenate([columns, np.zeros_like(columns[:1])])
    _pair_distances(columns, _fours(len(out)), out)


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


@looped(lambda columns, fours, weights, out: len(fours), scratch=_four_sums, fastmath=True)
def _weighted_distances(
    columns: AnyArray,
    fours: AnyArray,
    weights: AnyArray,
    out: AnyArray,
    own: AnyArray,
    begin: int,
    end: int,
) -> None:
    """The sums of each four, out (fours, d)."""
    n_inputs, n_rows = columns.shape
    for s in range(begin, end):
        first, two, three = fours[s, 0], fours[s, 1], fours[s, 2]
        four = fours[s, 3]
        for r in range(4):
            for k in range(n_rows - first):
                own[r, k] = 0.0
            if first + r <= four:
                for k in range(first + r + 1, n_rows):
                    own[r, k - first] = weights[first + r, k]
        for j in range(n_inputs):
            a, b = columns[j, first], columns[j, two]
            c, d = columns[j, three], columns[j, four]
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
            out[s, j] = total


def weighted_distances(columns: Singles, weights: Singles, out: NDArray[np.float64]) -> None:
    """out_j = Σ_ik w_ik·|x_ij − x_kj| over the first rows i and all rows k > i.

    columns (d, m) float32; weights (first rows, m) float32, read above the diagonal; out (d,)
    float64.
    """
    fours = _fours(len(weights))
    sums = np.empty((len(fours), len(out)))
    _weighted_distances(columns, fours, weights, sums)
    # Sums that are added one after the other, as cumsum does: NumPy's own order depends on d.
    ends = 2 * (np.arange(_PARTS + 1) * row_tiles(len(fours), 2) // _PARTS)
    parts = [np.cumsum(sums[first:last], axis=0)[-1:] for first, last in pairwise(ends)]
    np.concatenate(parts).sum(axis=0, out=out)
