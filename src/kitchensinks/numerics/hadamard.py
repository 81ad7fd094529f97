"""Fast Walsh–Hadamard products of many rows."""

import numpy as np

from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.numerics.threads import inlined, looped, row_tiles

# Rows that go through a transform together: one vector register and more of each.
_TILE = 16


@inlined()
def _transform(work: AnyArray) -> None:
    """Replace each column x of work (P, tile) by Hx, H_jk = (−1)^⟨bits of j, bits of k⟩.

    Two steps of the transform at a time, half as many walks over the memory; rows of a step that
    follow each other are one long vector.
    """
    flat = work.reshape(work.size)
    half = work.shape[1]
    while 2 * half < flat.size:
        for start in range(0, flat.size, 4 * half):
            one, two = flat[start : start + half], flat[start + half : start + 2 * half]
            three = flat[start + 2 * half : start + 3 * half]
            four = flat[start + 3 * half : start + 4 * half]
            for t in range(half):
                a, b, c, d = one[t], two[t], three[t], four[t]
                one[t], two[t] = (a + b) + (c + d), (a - b) + (c - d)
                three[t], four[t] = (a + b) - (c + d), (a - b) - (c - d)
        half *= 4
    if half < flat.size:
        one, two = flat[:half], flat[half:]
        for t in range(half):
            one[t], two[t] = one[t] + two[t], one[t] - two[t]


@looped(lambda rows, *_: row_tiles(len(rows), _TILE))
def fastfood(
    rows: AnyArray,
    signs: AnyArray,
    order: AnyArray,
    normals: AnyArray,
    radius: AnyArray,
    start: int,
    out: AnyArray,
    begin: int,
    end: int,
) -> None:
    """out_k = radius_k·(H·G·Π·H·B·x)_(start + k) for every row x, block after block.

    rows (n, d), d ≤ P, filled up with zeros; signs, order, normals (blocks, P) hold the
    diagonals B, G and the permutation Π of each block; radius (K,); out (n, K).
    2P log P additions a row and block, no matrix. Sixteen rows go together, so that every
    step is a vector operation.
    """
    n_rows, width = rows.shape
    n_blocks, size = signs.shape
    n_out = radius.shape[0]
    for tile in range(begin, end):
        first = tile * _TILE
        count = min(_TILE, n_rows - first)
        inputs = np.zeros((size, _TILE), dtype=rows.dtype)
        work = np.empty((size, _TILE), dtype=rows.dtype)
        shuffled = np.empty((size, _TILE), dtype=rows.dtype)
        for t in range(count):
            for j in range(width):
                inputs[j, t] = rows[first + t, j]
        for b in range(n_blocks):
            for j in range(size):
                for t in range(_TILE):
                    work[j, t] = inputs[j, t] * signs[b, j]
            _transform(work)
            for j in range(size):
                for t in range(_TILE):
                    shuffled[j, t] = work[order[b, j], t] * normals[b, j]
            _transform(shuffled)
            low = max(0, b * size - start)
            high = min((b + 1) * size - start, n_out)
            for t in range(count):
                for k in range(low, high):
                    out[first + t, k] = radius[k] * shuffled[k + start - b * size, t]
