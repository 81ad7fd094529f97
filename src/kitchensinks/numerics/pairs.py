"""Compiled sums over all pairs of a batch of rows: the two products that learning scales needs.

A batch is small, and threads that wait for each other after every millisecond of work cost more
than they save: these run on one, without the interpreter's lock, so that batches go side by side.
"""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@numba.njit(cache=True, fastmath=True)
def _add_distances(rows: Any, others: Any, out: Any) -> None:
    """out_rk += Σ_j |rows_jr − others_jk|: four rows (d, 4) against others (d, m)."""
    n_inputs, count = others.shape
    one, two, three, four = out[0], out[1], out[2], out[3]
    j = 0
    # Two columns at a time: each sum is loaded and stored half as often.
    while j < n_inputs:
        second = min(j + 1, n_inputs - 1)
        keep = np.float32(1.0 if second > j else 0.0)
        x, y = others[j], others[second]
        a, b, c, d = rows[j, 0], rows[j, 1], rows[j, 2], rows[j, 3]
        e, f, g, h = rows[second, 0], rows[second, 1], rows[second, 2], rows[second, 3]
        for k in range(count):
            left, right = x[k], y[k]
            one[k] += abs(a - left) + keep * abs(e - right)
            two[k] += abs(b - left) + keep * abs(f - right)
            three[k] += abs(c - left) + keep * abs(g - right)
            four[k] += abs(d - left) + keep * abs(h - right)
        j += 2


@numba.njit(cache=True, fastmath=True, nogil=True)
def pair_distances(columns: Any, out: Any) -> None:
    """out_ik = Σ_j |x_ij − x_kj| for every pair of rows.

    columns (d, m) float32, the rows stored column by column; out (m, m) float32. Four rows at a
    time; each pair is worked out once, pairs within the four twice.
    """
    n_inputs, n_rows = columns.shape
    four = np.empty((n_inputs, 4), np.float32)
    for first in range(0, n_rows, 4):
        last = min(first + 4, n_rows)
        sums = np.zeros((4, n_rows - first), np.float32)
        for r in range(4):
            four[:, r] = columns[:, min(first + r, last - 1)]
        _add_distances(four, columns[:, first:], sums)
        out[first:last, first:] = sums[: last - first]
    mirror(out)


@numba.njit(cache=True, nogil=True)
def mirror(matrix: Any) -> None:
    """Copy the part above the diagonal below it, tile by tile."""
    n_rows = matrix.shape[0]
    tile = 32
    for a in range((n_rows + tile - 1) // tile):
        for b in range(a + 1):
            for i in range(a * tile, min(n_rows, (a + 1) * tile)):
                for k in range(b * tile, min(i, (b + 1) * tile)):
                    matrix[i, k] = matrix[k, i]


def pair_distances_plain(columns: Floats, out: Floats) -> None:
    """The same in NumPy."""
    out[:] = 0.0
    for column in columns:
        out += np.abs(column[:, None] - column)


@numba.njit(cache=True, fastmath=True)
def _weigh_distances(a: Any, b: Any, c: Any, d: Any, others: Any, weights: Any) -> Any:
    """Σ_k of the weighted distances of four numbers from others (m,); weights (4, m)."""
    one, two, three, four = weights[0], weights[1], weights[2], weights[3]
    total = np.float32(0.0)
    for k in range(others.shape[0]):
        x = others[k]
        total += (
            one[k] * abs(a - x) + two[k] * abs(b - x) + three[k] * abs(c - x) + four[k] * abs(d - x)
        )
    return total


@numba.njit(cache=True, fastmath=True, nogil=True)
def weighted_distances(columns: Any, weights: Any, out: Any) -> None:
    """out_j = Σ_i Σ_k w_ik·|x_ij − x_kj| for symmetric weights.

    columns (d, m) float32; weights (m, m) float32, read above the diagonal; out (d,) float64.
    """
    n_inputs, n_rows = columns.shape
    out[:] = 0.0
    for first in range(0, n_rows, 4):
        last = min(first + 4, n_rows)
        own = np.zeros((4, n_rows - first), np.float32)
        for r in range(last - first):
            own[r, r + 1 :] = np.float32(2.0) * weights[first + r, first + r + 1 :]
        for j in range(n_inputs):
            x = columns[j]
            a, b = x[first], x[min(first + 1, last - 1)]
            c, d = x[min(first + 2, last - 1)], x[last - 1]
            out[j] += _weigh_distances(a, b, c, d, x[first:], own)


def weighted_distances_plain(columns: Floats, weights: Floats, out: NDArray[np.float64]) -> None:
    """The same in NumPy."""
    for j, column in enumerate(columns):
        out[j] = np.sum(weights * np.abs(column[:, None] - column), dtype=np.float64)
