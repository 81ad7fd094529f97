"""Compiled kernels of random binning: hash the bins of a row, look them up."""

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
# Names whose slots of the hash table are prefetched together.
_TOGETHER = 64


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
        for g in range(shift.shape[0]):
            total = np.uint64(0)
            for j in range(n_inputs):
                value = np.float64(rows[0, j])
                total += _name(value, shift[g, j], rate[g, j], multiplier[g, j])
            out[g, 0] = total
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


@compiled(inline="always")
def _slot(name: Any, mask: Any) -> Any:
    """The first slot that is tried for a name in a table of mask + 1 slots."""
    return np.int64((name ^ (name >> np.uint64(29))) & np.uint64(mask))


@compiled()
def _records(own: AnyArray, mask: Any) -> Any:
    """A hash table of mask + 1 slots (name, number + 1) that holds these names; zero where empty.

    As a function of its own it runs twice as fast as inlined.
    """
    records = np.empty((mask + 1, 2), np.uint64)
    for place in range(mask + 1):
        records[place, 0] = records[place, 1] = 0
    for k in range(len(own)):
        place = _slot(own[k], mask)
        while records[place, 1]:
            place = (place + 1) & mask
        records[place, 0], records[place, 1] = own[k], k + 1
    return records


@looped(lambda names, *_: len(names))
def number_names(
    names: AnyArray, found: AnyArray, counts: AnyArray, numbers: AnyArray, begin: int, end: int
) -> None:
    """The different names of each grid in the order in which they come, and every name's number.

    names (grids, n) uint64; found (grids, n) uint64, of which the first counts_g are filled;
    counts (grids,) int64; numbers (grids, n) int32: names_gi is found[g, numbers_gi]. A hash table
    with open addressing, doubled before it is half full; the slots of a few names are looked at
    together first, so that they come into the cache at the same time.
    """
    n_rows = names.shape[1]
    for g in range(begin, end):
        count, mask = 0, 0
        records = np.empty((0, 2), np.uint64)
        for first in range(0, n_rows, _TOGETHER):
            last = min(first + _TOGETHER, n_rows)
            if 2 * (count + _TOGETHER) > mask:
                mask = max(2 * mask + 1, 1023)
                records = _records(found[g, :count], mask)
            touched = np.uint64(0)
            for i in range(first, last):
                touched |= records[_slot(names[g, i], mask), 1]
            # Stored, because the compiler would otherwise remove the prefetch.
            counts[g] = np.int64(touched)
            for i in range(first, last):
                name = names[g, i]
                place = _slot(name, mask)
                while records[place, 1] and records[place, 0] != name:
                    place = (place + 1) & mask
                if records[place, 1] == 0:
                    found[g, count] = name
                    count += 1
                    records[place, 0], records[place, 1] = name, count
                    numbers[g, i] = count - 1
                else:
                    numbers[g, i] = np.int64(records[place, 1]) - 1
        counts[g] = count


def number_names_plain(
    names: AnyArray, found: AnyArray, counts: AnyArray, numbers: AnyArray
) -> None:
    for g, own in enumerate(names):
        different, first, place = np.unique(own, return_index=True, return_inverse=True)
        order = np.argsort(first)
        counts[g] = len(different)
        found[g, : len(different)] = different[order]
        numbers[g] = np.argsort(order)[place]


@compiled(inline="always")
def _found(own: AnyArray, name: Any) -> Any:
    """The place of a name among sorted ones, of which there is one at least, or −1.

    Names are spread evenly over 64 bits, so that the share of the range below a name tells nearly
    where it is; from there on in steps that double, and then by halves.
    """
    low, high = 0, len(own)
    place: Any = np.int64(((name >> np.uint64(32)) * np.uint64(high)) >> np.uint64(32))
    step = 8
    if own[place] < name:
        low = place + 1
        while low + step < high and own[low + step] < name:
            low += step
            step *= 2
        high = min(high, low + step)
    else:
        high = place
        while high - step > low and own[high - step] >= name:
            high -= step
            step *= 2
        low = max(low, high - step)
    while low < high:
        middle = (low + high) >> 1
        if own[middle] < name:
            low = middle + 1
        else:
            high = middle
    return low if low < len(own) and own[low] == name else -1


@compiled(inline="always")
def _slots(own: AnyArray) -> AnyArray:
    """A hash table of the indices of the names, −1 in empty slots, less than half full."""
    mask = 15
    while mask < 4 * len(own):
        mask = 2 * mask + 1
    slots = np.empty(mask + 1, np.int32)
    for place in range(mask + 1):
        slots[place] = -1
    for k in range(len(own)):
        place = _slot(own[k], mask)
        while slots[place] >= 0:
            place = (place + 1) & mask
        slots[place] = k
    return slots


@looped(lambda names, *_: len(names))
def find_columns(
    names: AnyArray, table: AnyArray, offsets: AnyArray, out: AnyArray, begin: int, end: int
) -> None:
    """The column of each bin name, or −1 where the bin is not in the table.

    names (grids, n); table holds the different names of grid g in
    table[offsets[g]:offsets[g + 1]], sorted; out (grids, n) of int32 or int64. Few names are
    looked up one by one, many in a hash table that is made of the grid's names first.
    """
    n_rows = names.shape[1]
    for g in range(begin, end):
        start = offsets[g]
        own = table[start : offsets[g + 1]]
        if 4 * n_rows < len(own):
            for i in range(n_rows):
                place = _found(own, names[g, i])
                out[g, i] = start + place if place >= 0 else -1
        else:
            slots = _slots(own)
            mask = len(slots) - 1
            for i in range(n_rows):
                name = names[g, i]
                place = _slot(name, mask)
                while slots[place] >= 0 and own[slots[place]] != name:
                    place = (place + 1) & mask
                out[g, i] = start + slots[place] if slots[place] >= 0 else -1


def find_columns_plain(names: AnyArray, table: AnyArray, offsets: AnyArray, out: AnyArray) -> None:
    for g, own in enumerate(names):
        part = table[offsets[g] : offsets[g + 1]]
        place = np.searchsorted(part, own)
        found = np.zeros(len(own), dtype=bool)
        inside = place < len(part)
        found[inside] = part[place[inside]] == own[inside]
        out[g] = np.where(found, place + offsets[g], -1)


@looped(lambda names, *_: names.shape[1])
def add_scores(
    names: AnyArray,
    table: AnyArray,
    offsets: AnyArray,
    values: AnyArray,
    out: AnyArray,
    begin: int,
    end: int,
) -> None:
    """out_i += Σ_g values[column of names_gi]; bins that are not in the table add nothing.

    names, table, offsets: as `find_columns` has them; values (columns, outputs); out (n, outputs).
    Grids are added in their order, whichever rows and grids come together: a row's score has the
    same bits.
    """
    n_outputs = values.shape[1]
    for g in range(len(names)):
        start = offsets[g]
        own = table[start : offsets[g + 1]]
        if 4 * (end - begin) < len(own):
            for i in range(begin, end):
                found = _found(own, names[g, i])
                if found >= 0:
                    for o in range(n_outputs):
                        out[i, o] += values[start + found, o]
            continue
        slots = _slots(own)
        mask = len(slots) - 1
        for i in range(begin, end):
            name = names[g, i]
            place = _slot(name, mask)
            while slots[place] >= 0 and own[slots[place]] != name:
                place = (place + 1) & mask
            if slots[place] >= 0:
                for o in range(n_outputs):
                    out[i, o] += values[start + slots[place], o]


def add_scores_plain(
    names: AnyArray, table: AnyArray, offsets: AnyArray, values: AnyArray, out: AnyArray
) -> None:
    columns = np.empty(names.shape, np.int64)
    find_columns_plain(names, table, offsets, columns)
    for own in columns:
        out[own >= 0] += values[own[own >= 0]]


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
