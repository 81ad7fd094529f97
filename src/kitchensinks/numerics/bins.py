"""Compiled kernels of random binning: hash the bins of a row, look them up."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

# Cells are clipped here before they become integers, so that no row overflows.
CELL_LIMIT = float(2**62)
_ODD = np.uint64(0x9E3779B97F4A7C15)


@numba.njit(parallel=True, cache=True)
def bin_hashes(rows: Any, shift: Any, rate: Any, multiplier: Any, out: Any) -> None:
    """The 64-bit name of the bin of every row in every grid.

    cell_j = ⌊(x_j − u_j)/δ_j⌋ in float64 whatever the dtype of the rows; each
    cell is scrambled and the bin's name is Σ_j scrambled_j·a_j mod 2⁶⁴ with the
    grid's odd random multipliers a_j: two different bins share a name with
    probability about 2⁻⁶³.

    rows (n, d); shift, rate = 1/δ, multiplier (grids, d); out (n, grids) uint64.
    """
    n_rows, n_inputs = rows.shape
    n_grids = shift.shape[0]
    for i in numba.prange(n_rows):
        for g in range(n_grids):
            name = np.uint64(0)
            for j in range(n_inputs):
                cell = np.floor((np.float64(rows[i, j]) - shift[g, j]) * rate[g, j])
                cell = min(max(cell, -CELL_LIMIT), CELL_LIMIT)
                scrambled = np.uint64(np.int64(cell)) * _ODD
                scrambled ^= scrambled >> np.uint64(32)
                name += scrambled * multiplier[g, j]
            out[i, g] = name


def bin_hashes_plain(
    rows: NDArray[Any],
    shift: NDArray[np.float64],
    rate: NDArray[np.float64],
    multiplier: NDArray[np.uint64],
    out: NDArray[np.uint64],
) -> None:
    """The same in NumPy, one grid at a time."""
    for g in range(len(shift)):
        cells = np.floor((rows.astype(np.float64) - shift[g]) * rate[g])
        cells = np.clip(cells, -CELL_LIMIT, CELL_LIMIT).astype(np.int64)
        scrambled = cells.view(np.uint64) * _ODD
        scrambled ^= scrambled >> np.uint64(32)
        out[:, g] = (scrambled * multiplier[g]).sum(axis=1, dtype=np.uint64)


@numba.njit(parallel=True, cache=True)
def find_columns(names: Any, table: Any, offsets: Any, out: Any) -> None:
    """The column of each bin name, or −1 where the bin is not in the table.

    names (n, grids); table holds the sorted names of grid g in
    table[offsets[g]:offsets[g + 1]]; out (n, grids) int64.
    """
    n_rows, n_grids = names.shape
    for i in numba.prange(n_rows):
        for g in range(n_grids):
            low, end = offsets[g], offsets[g + 1]
            high = end
            name = names[i, g]
            while low < high:
                middle = (low + high) // 2
                if table[middle] < name:
                    low = middle + 1
                else:
                    high = middle
            out[i, g] = low if low < end and table[low] == name else -1


def find_columns_plain(
    names: NDArray[np.uint64],
    table: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """The same in NumPy, one grid at a time."""
    for g in range(names.shape[1]):
        part = table[offsets[g] : offsets[g + 1]]
        place = np.searchsorted(part, names[:, g])
        found = np.zeros(len(names), dtype=bool)
        inside = place < len(part)
        found[inside] = part[place[inside]] == names[inside, g]
        out[:, g] = np.where(found, place + offsets[g], -1)


# Rows that one thread takes through all grids: enough of them to use the bins of a grid often.
_TILE = 2**16


@numba.njit(parallel=True, cache=True)
def sum_of_bins(columns: Any, values: Any, out: Any) -> None:
    """out_i = Σ_g values[columns[g, i]]: the product of a binned feature matrix with values.

    columns (grids, n), −1 for a bin without a column; values (columns, outputs); out (n, outputs).
    Grids are walked one after another, so that the bins of one stay in cache.
    """
    n_grids, n_rows = columns.shape
    n_outputs = values.shape[1]
    for tile in numba.prange((n_rows + _TILE - 1) // _TILE):
        first, last = tile * _TILE, min((tile + 1) * _TILE, n_rows)
        out[first:last] = 0.0
        for g in range(n_grids):
            for i in range(first, last):
                column = columns[g, i]
                if column >= 0:
                    for o in range(n_outputs):
                        out[i, o] += values[column, o]


def sum_of_bins_plain(
    columns: NDArray[Any], values: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """The same in NumPy."""
    out[:] = np.where((columns >= 0)[:, :, None], values[columns], 0.0).sum(axis=0)


@numba.njit(parallel=True, cache=True)
def sum_into_bins(columns: Any, values: Any, out: Any) -> None:
    """out[columns[g, i]] += values_i for every grid: the transposed product.

    columns (grids, n); values (n, outputs); out (columns, outputs). Different grids have
    different columns, so each thread takes grids of its own.
    """
    n_grids, n_rows = columns.shape
    n_outputs = values.shape[1]
    out[:] = 0.0
    for g in numba.prange(n_grids):
        for i in range(n_rows):
            column = columns[g, i]
            if column >= 0:
                for o in range(n_outputs):
                    out[column, o] += values[i, o]


def sum_into_bins_plain(
    columns: NDArray[Any], values: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """The same in NumPy."""
    out[:] = 0.0
    for part in columns:
        np.add.at(out, part[part >= 0], values[part >= 0])
