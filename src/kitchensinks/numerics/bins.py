"""Compiled kernels of random binning: hash the bins of a row, sum over bins."""

from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from kitchensinks.numerics.arrays import AnyArray, Floats
from kitchensinks.numerics.threads import in_order, inlined, looped, row_tiles

# Cells are clipped here before they become integers, so that no row overflows.
CELL_LIMIT = float(2**50)
# Multiplier that scrambles cell numbers.
ODD = np.uint64(0x9E3779B97F4A7C15)
# A whole number c, |c| < 2⁵¹, added to 1.5·2⁵² in float64 leaves c in the low bits.
_MAGIC = 1.5 * 2.0**52
_MAGIC_BITS = np.array([_MAGIC]).view(np.uint64)[0]
# Rows that are hashed together, so that their columns stay in cache.
_NAMED = 1024
# Up to this many borders between cells, comparisons with each are faster than hashes of cells.
_BORDERS = 3
# Values are numbers, and zeros have no sign.
_NUMBERS = {"nnan", "nsz"}


@intrinsic
def _bits(typingctx: object, number: object) -> Any:
    """The bits of a float64 as a whole number."""

    def generate(context: Any, builder: Any, signature: object, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.uint64))

    return types.uint64(types.float64), generate


@inlined(fastmath=_NUMBERS)
def _name(cell: Any, multiplier: Any) -> Any:
    """The scrambled cell times the multiplier; branch-free, so that loops vectorise."""
    cell = -CELL_LIMIT if cell < -CELL_LIMIT else cell
    cell = CELL_LIMIT if cell > CELL_LIMIT else cell
    scrambled = (_bits(cell + _MAGIC) - _MAGIC_BITS) * ODD
    return (scrambled ^ (scrambled >> np.uint64(32))) * multiplier


class Tiles(NamedTuple):
    """Rows cut into tiles whose columns are contiguous; made once, hashed by any number of grids.

    columns (tiles, d, rows of a tile); ends (tiles, 3, d): the least and the greatest value of
    each column, and −1. For a column of two values, these are the more frequent value, the rarer
    one, and how many rows have the rarer one; the column then begins with the indices of those rows
    in place of its values.
    """

    columns: AnyArray
    ends: Floats


def tiled(rows: AnyArray) -> Tiles:
    """The tiles of rows (n, d)."""
    if len(rows) == 1:
        # Of one row nothing but its values is needed.
        ends = np.empty((1, 3, rows.shape[1]))
        ends[0, 0] = rows[0]
        return Tiles(rows.reshape(1, -1, 1), ends)
    size = min(_NAMED, max(1, len(rows)))
    shape = row_tiles(len(rows), size), rows.shape[1]
    tiles = Tiles(np.empty((*shape, size), rows.dtype), np.empty((shape[0], 3, shape[1])))
    for _ in in_order(
        lambda tile: _fill_tile(rows[tile * size : (tile + 1) * size], tiles, tile), range(shape[0])
    ):
        pass
    return tiles


def _fill_tile(rows: AnyArray, tiles: Tiles, tile: int) -> None:
    columns, ends = tiles.columns[tile, :, : len(rows)], tiles.ends[tile]
    columns[:] = rows.T
    low, high = columns.min(axis=1), columns.max(axis=1)
    ends[0], ends[1], ends[2] = low, high, -1.0
    is_high = columns == high[:, None]
    has_two = (is_high | (columns == low[:, None])).all(axis=1)
    for j in np.flatnonzero(has_two):
        rare = np.flatnonzero(is_high[j])
        if 2 * len(rare) > len(rows):
            rare, (ends[0, j], ends[1, j]) = np.flatnonzero(~is_high[j]), (high[j], low[j])
        columns[j, : len(rare)], ends[2, j] = rare, len(rare)


@looped(lambda columns, *_: len(columns), fastmath=_NUMBERS)
def hash_tiles(
    columns: AnyArray,
    ends: AnyArray,
    shift: AnyArray,
    rate: AnyArray,
    multiplier: AnyArray,
    out: AnyArray,
    begin: int,
    end: int,
) -> None:
    """The 64-bit name of the bin of every row of `Tiles` in every grid.

    cell_j = ⌊(x_j − u_j)/δ_j⌋ in float64 whatever the dtype of the rows; each cell is scrambled
    and the bin's name is Σ_j scrambled_j·a_j mod 2⁶⁴ with the grid's odd random multipliers a_j:
    two different bins share a name with probability about 2⁻⁶³. shift, rate = 1/δ, multiplier
    (grids, d); out (grids, n) uint64.

    A column whose values in the tile all lie in one cell costs nothing for each row, one of two
    values costs only the rows with the rarer one, one of few cells a comparison for each border.
    """
    n_inputs, size = columns.shape[1], columns.shape[2]
    for tile in range(begin, end):
        first = tile * size
        for g in range(shift.shape[0]):
            shared = np.uint64(0)
            for j in range(n_inputs):
                cell = np.floor((ends[tile, 0, j] - shift[g, j]) * rate[g, j])
                shared += _name(cell, multiplier[g, j])
            names = out[g, first : first + size]
            count = len(names)
            for i in range(count):
                names[i] = shared
            if count == 1:
                continue
            for j in range(n_inputs):
                start, pace, odd = shift[g, j], rate[g, j], multiplier[g, j]
                # Clipped as in names: farther out, one more may be the same number, for ever.
                bottom = np.floor((ends[tile, 0, j] - start) * pace)
                bottom = min(max(bottom, -CELL_LIMIT), CELL_LIMIT)
                top = np.floor((ends[tile, 1, j] - start) * pace)
                top = min(max(top, -CELL_LIMIT), CELL_LIMIT)
                if bottom == top:
                    continue
                column = columns[tile, j]
                usual = _name(bottom, odd)
                if ends[tile, 2, j] >= 0.0:
                    change = _name(top, odd) - usual
                    for k in range(np.int64(ends[tile, 2, j])):
                        names[np.int64(column[k])] += change
                elif top - bottom <= _BORDERS:
                    while bottom < top:
                        bottom += 1.0
                        other = _name(bottom, odd)
                        change, usual = other - usual, other
                        for i in range(count):
                            above = (np.float64(column[i]) - start) * pace >= bottom
                            names[i] += change if above else np.uint64(0)
                else:
                    for i in range(count):
                        cell = np.floor((np.float64(column[i]) - start) * pace)
                        names[i] += _name(cell, odd) - usual


@looped(lambda rows, *_: row_tiles(len(rows), _NAMED))
def leaf_names(
    rows: Any, column: Any, cut: Any, below: Any, above: Any, out: Any, begin: int, end: int
) -> None:
    """The leaf of every row in every tree, as the number of its node.

    rows (n, d); column, cut, below, above (trees, nodes): a row whose entry in `column` is at most
    `cut` goes on to `below`, others to `above`; the column of a leaf is negative. Children have
    larger numbers than their parents. out (trees, n) uint64. Rows go tile by tile.
    """
    for tile in range(begin, end):
        first = tile * _NAMED
        last = first + _NAMED if first + _NAMED < len(rows) else len(rows)
        for t in range(column.shape[0]):
            for i in range(first, last):
                node = 0
                while column[t, node] >= 0:
                    if rows[i, column[t, node]] <= cut[t, node]:
                        node = below[t, node]
                    else:
                        node = above[t, node]
                out[t, i] = node
