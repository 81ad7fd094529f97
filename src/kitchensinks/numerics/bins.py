"""Compiled kernels of random binning: hash the bins of a row, sum over bins."""

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from kitchensinks.numerics.arrays import AnyArray, Floats
from kitchensinks.numerics.threads import compiled, looped, row_tiles

# Cells are clipped here before they become integers, so that no row overflows.
CELL_LIMIT = float(2**50)
# Multiplier that scrambles cell numbers.
ODD = np.uint64(0x9E3779B97F4A7C15)
# A whole number c, |c| < 2⁵¹, added to 1.5·2⁵² in float64 leaves c in the low bits.
_MAGIC = 1.5 * 2.0**52
_MAGIC_BITS = np.array([_MAGIC]).view(np.uint64)[0]
# Rows that a thread hashes together, so that their columns stay in cache.
_NAMED = 1024
# Rows that are transposed together: one cache line.
_LINE = 16


@intrinsic
def _bits(typingctx: object, number: object) -> Any:
    """The bits of a float64 as a whole number."""

    def generate(context: Any, builder: Any, signature: object, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.uint64))

    return types.uint64(types.float64), generate


@compiled(inline="always")
def _name(value: Any, shift: Any, rate: Any, multiplier: Any) -> Any:
    """The scrambled cell of a value times the multiplier; branch-free, so that loops vectorise."""
    cell = min(max(np.floor((value - shift) * rate), -CELL_LIMIT), CELL_LIMIT)
    scrambled = (_bits(cell + _MAGIC) - _MAGIC_BITS) * ODD
    return (scrambled ^ (scrambled >> np.uint64(32))) * multiplier


@compiled(inline="always")
def _name_alone(
    row: AnyArray, shift: AnyArray, rate: AnyArray, multiplier: AnyArray, out: AnyArray
) -> None:
    """The names (grids,) of one row's bins."""
    for g in range(len(out)):
        total = np.uint64(0)
        for j in range(len(row)):
            total += _name(np.float64(row[j]), shift[g, j], rate[g, j], multiplier[g, j])
        out[g] = total


@compiled(inline="always")
def _survey(column: AnyArray, count: Any, ends: AnyArray, rare: AnyArray) -> None:
    """The ends (2,) of a column's range, and the places of the rarer of two values.

    rare_0: how often the rarer value comes, −1 where there are more than two values; its places
    follow. It is the second of the ends.
    """
    low = high = column[0]
    for i in range(count):
        low = min(low, column[i])
        high = max(high, column[i])
    found = 0
    for i in range(count):
        found += column[i] == high
        if column[i] != low and column[i] != high:
            found = -1
            break
    if 2 * found > count:
        low, high = high, low
    if found >= 0:
        found = 0
        for i in range(count):
            if column[i] == high:
                found += 1
                rare[found] = i
    rare[0], ends[0], ends[1] = found, low, high


@looped(lambda rows, *_: row_tiles(len(rows), _NAMED), fastmath={"nnan", "nsz"})
def bin_hashes(
    rows: AnyArray,
    shift: AnyArray,
    rate: AnyArray,
    multiplier: AnyArray,
    out: AnyArray,
    begin: int,
    end: int,
) -> None:
    """The 64-bit name of the bin of every row in every grid.

    cell_j = ⌊(x_j − u_j)/δ_j⌋ in float64 whatever the dtype of the rows; each
    cell is scrambled and the bin's name is Σ_j scrambled_j·a_j mod 2⁶⁴ with the
    grid's odd random multipliers a_j: two different bins share a name with
    probability about 2⁻⁶³.

    rows (n, d); shift, rate = 1/δ, multiplier (grids, d); out (grids, n) uint64. Rows go
    tile by tile. A column whose values in the tile all lie in one cell costs nothing, one of two
    values costs only the rows with the rarer one. One row alone goes through its columns at once.
    """
    n_rows, n_inputs = rows.shape
    if n_rows == 1:
        _name_alone(rows[0], shift, rate, multiplier, out[:, 0])
        return
    most = min(_NAMED, n_rows)
    columns = np.empty((n_inputs, most), np.float64)
    # The least and the greatest value of each column; of two values the rarer one is the second.
    ends = np.empty((n_inputs, 2), np.float64)
    # The number of rows with the rarer of two values, −1 where there are more values; the rows.
    rare = np.empty((n_inputs, 1 + most), np.int16)
    for tile in range(begin, end):
        first = tile * _NAMED
        count = min(_NAMED, n_rows - first)
        for line in range(0, count, _LINE):
            for j in range(n_inputs):
                for i in range(line, min(line + _LINE, count)):
                    columns[j, i] = rows[first + i, j]
        for j in range(n_inputs):
            _survey(columns[j], count, ends[j], rare[j])
        for g in range(shift.shape[0]):
            names = out[g, first : first + count]
            for i in range(count):
                names[i] = 0
            shared = np.uint64(0)
            for j in range(n_inputs):
                start, pace, odd = shift[g, j], rate[g, j], multiplier[g, j]
                usual = _name(ends[j, 0], start, pace, odd)
                other = _name(ends[j, 1], start, pace, odd)
                if usual == other:
                    shared += usual
                elif rare[j, 0] >= 0:
                    shared += usual
                    for k in range(1, rare[j, 0] + 1):
                        names[rare[j, k]] += other - usual
                else:
                    for i in range(count):
                        names[i] += _name(columns[j, i], start, pace, odd)
            for i in range(count):
                names[i] += shared


def bin_hashes_plain(
    rows: AnyArray, shift: AnyArray, rate: AnyArray, multiplier: AnyArray, out: AnyArray
) -> None:
    for g in range(len(shift)):
        cells = np.floor((rows.astype(np.float64) - shift[g]) * rate[g])
        cells = np.clip(cells, -CELL_LIMIT, CELL_LIMIT).astype(np.int64)
        scrambled = cells.view(np.uint64) * ODD
        scrambled ^= scrambled >> np.uint64(32)
        out[g] = (scrambled * multiplier[g]).sum(axis=1, dtype=np.uint64)


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
        last = min(first + _NAMED, len(rows))
        for t in range(column.shape[0]):
            for i in range(first, last):
                node = 0
                while column[t, node] >= 0:
                    if rows[i, column[t, node]] <= cut[t, node]:
                        node = below[t, node]
                    else:
                        node = above[t, node]
                out[t, i] = node


def leaf_names_plain(
    rows: AnyArray, column: AnyArray, cut: AnyArray, below: AnyArray, above: AnyArray, out: AnyArray
) -> None:
    """The same in NumPy, one tree and one level at a time."""
    for t in range(len(column)):
        node = np.zeros(len(rows), np.intp)
        while (inner := column[t, node] >= 0).any():
            entry = rows[np.arange(len(rows)), np.maximum(column[t, node], 0)]
            child = np.where(entry <= cut[t, node], below[t, node], above[t, node])
            node = np.where(inner, child, node)
        out[t] = node


# Rows that go through all grids together: enough of them to use the bins of a grid often.
_TILE = 2**16


@looped(lambda columns, *_: columns.shape[1])
def sum_of_bins(columns: AnyArray, values: AnyArray, out: AnyArray, begin: int, end: int) -> None:
    """out_i = Σ_g values[columns[g, i]]: the product of a binned feature matrix with values.

    columns (grids, n), −1 for a bin without a column; values (columns, outputs); out (n, outputs).
    Grids are walked one after another, so that the bins of one stay in cache.
    """
    n_grids, n_outputs = columns.shape[0], values.shape[1]
    for first in range(begin, end, _TILE):
        last = min(first + _TILE, end)
        for i in range(first, last):
            for o in range(n_outputs):
                out[i, o] = 0.0
        if n_outputs == 1:
            only, total = values[:, 0], out[first:last, 0]
            for g in range(n_grids):
                own = columns[g, first:last]
                for i in range(len(own)):
                    if own[i] >= 0:
                        total[i] += only[own[i]]
        else:
            for g in range(n_grids):
                for i in range(first, last):
                    column = columns[g, i]
                    if column >= 0:
                        for o in range(n_outputs):
                            out[i, o] += values[column, o]


def sum_of_bins_plain(columns: AnyArray, values: Floats, out: Floats) -> None:
    out[:] = np.where((columns >= 0)[:, :, None], values[columns], 0.0).sum(axis=0)


@looped(lambda columns, *_: len(columns))
def _sum_into_bins(
    columns: AnyArray, values: AnyArray, out: AnyArray, begin: int, end: int
) -> None:
    n_rows, n_outputs = values.shape
    for g in range(begin, end):
        if n_outputs == 1:
            for i in range(n_rows):
                column = columns[g, i]
                if column >= 0:
                    out[column, 0] += values[i, 0]
        else:
            for i in range(n_rows):
                column = columns[g, i]
                if column >= 0:
                    for o in range(n_outputs):
                        out[column, o] += values[i, o]


def sum_into_bins(columns: AnyArray, values: AnyArray, out: Any) -> None:
    """out[columns[g, i]] += values_i for every grid: the transposed product.

    columns (grids, n); values (n, outputs); out (columns, outputs). Different grids have
    different columns, so each thread takes grids of its own.
    """
    out[:] = 0.0
    _sum_into_bins(columns, values, out)


def sum_into_bins_plain(columns: AnyArray, values: Floats, out: Floats) -> None:
    out[:] = 0.0
    for part in columns:
        np.add.at(out, part[part >= 0], values[part >= 0])
