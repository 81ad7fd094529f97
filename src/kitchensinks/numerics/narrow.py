"""Compiled products of many features with a few columns.

BLAS copies a matrix before it multiplies it, which costs more than a product with ten columns.
Four rows meet five columns at a time here, so that twenty sums stay in registers and every number
that is loaded is used four or five times.
"""

from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import AnyArray, DType
from kitchensinks.numerics.threads import compiled

# Columns that are worked on together; the last are filled up with zeros.
TOGETHER = 5


@compiled(fastmath=True)
def _times(rows: Any, columns: Any, out: Any) -> None:
    size = rows.shape[1]
    zero = rows.dtype.type(0)
    for i in range(0, rows.shape[0], 4):
        j, k, m = i + 1, i + 2, i + 3
        one, two, three, four = rows[i], rows[j], rows[k], rows[m]
        for o in range(0, columns.shape[0], 5):
            p, q, r = columns[o], columns[o + 1], columns[o + 2]
            s, t = columns[o + 3], columns[o + 4]
            a0 = a1 = a2 = a3 = a4 = b0 = b1 = b2 = b3 = b4 = zero
            c0 = c1 = c2 = c3 = c4 = d0 = d1 = d2 = d3 = d4 = zero
            for z in range(size):
                a, b, c, d = one[z], two[z], three[z], four[z]
                v, w, x, y, u = p[z], q[z], r[z], s[z], t[z]
                a0 += a * v
                a1 += a * w
                a2 += a * x
                a3 += a * y
                a4 += a * u
                b0 += b * v
                b1 += b * w
                b2 += b * x
                b3 += b * y
                b4 += b * u
                c0 += c * v
                c1 += c * w
                c2 += c * x
                c3 += c * y
                c4 += c * u
                d0 += d * v
                d1 += d * w
                d2 += d * x
                d3 += d * y
                d4 += d * u
            out[i, o], out[i, o + 1], out[i, o + 2], out[i, o + 3] = a0, a1, a2, a3
            out[j, o], out[j, o + 1], out[j, o + 2], out[j, o + 3] = b0, b1, b2, b3
            out[k, o], out[k, o + 1], out[k, o + 2], out[k, o + 3] = c0, c1, c2, c3
            out[m, o], out[m, o + 1], out[m, o + 2], out[m, o + 3] = d0, d1, d2, d3
            out[i, o + 4], out[j, o + 4], out[k, o + 4], out[m, o + 4] = a4, b4, c4, d4


@compiled(fastmath=True)
def _add_image(rows: Any, columns: Any, out: Any) -> None:
    size = rows.shape[1]
    for i in range(0, rows.shape[0], 4):
        one, two, three, four = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for o in range(0, columns.shape[1], 5):
            a0, b0, c0, d0 = columns[i, o], columns[i + 1, o], columns[i + 2, o], columns[i + 3, o]
            p = o + 1
            a1, b1, c1, d1 = columns[i, p], columns[i + 1, p], columns[i + 2, p], columns[i + 3, p]
            q = o + 2
            a2, b2, c2, d2 = columns[i, q], columns[i + 1, q], columns[i + 2, q], columns[i + 3, q]
            r = o + 3
            a3, b3, c3, d3 = columns[i, r], columns[i + 1, r], columns[i + 2, r], columns[i + 3, r]
            s = o + 4
            a4, b4, c4, d4 = columns[i, s], columns[i + 1, s], columns[i + 2, s], columns[i + 3, s]
            v, w, x, y, u = out[o], out[p], out[q], out[r], out[s]
            for z in range(size):
                a, b, c, d = one[z], two[z], three[z], four[z]
                v[z] += a0 * a + b0 * b + c0 * c + d0 * d
                w[z] += a1 * a + b1 * b + c1 * c + d1 * d
                x[z] += a2 * a + b2 * b + c2 * c + d2 * d
                y[z] += a3 * a + b3 * b + c3 * c + d3 * d
                u[z] += a4 * a + b4 * b + c4 * c + d4 * d


def filled(columns: AnyArray, dtype: DType) -> AnyArray:
    """Columns (outputs, K) with rows of zeros behind them, as many as loops take together."""
    out = np.zeros((_whole(len(columns)), columns.shape[1]), dtype)
    out[: len(columns)] = columns
    return out


def _whole(count: int) -> int:
    return -(-count // TOGETHER) * TOGETHER


def times(rows: AnyArray, columns: AnyArray) -> AnyArray:
    """rows·columns' of rows (n, K) and `filled` columns (outputs, K), (n, outputs)."""
    even = len(rows) - len(rows) % 4
    out = np.empty((len(rows), len(columns)), rows.dtype)
    _times(rows[:even], columns, out)
    if even < len(rows):
        out[even:] = rows[even:] @ columns.T
    return out


def add_image(rows: AnyArray, columns: AnyArray, out: AnyArray) -> None:
    """out += columns'·rows of rows (n, K) and columns (n, outputs); out (whole fives, K)."""
    count, even = columns.shape[1], len(rows) - len(rows) % 4
    whole = np.zeros((even, len(out)), rows.dtype)
    whole[:, :count] = columns[:even]
    _add_image(rows[:even], whole, out)
    if even < len(rows):
        out[:count] += columns[even:].astype(rows.dtype).T @ rows[even:]
