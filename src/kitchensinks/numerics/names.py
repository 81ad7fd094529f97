"""Compiled tables of names of bins: number the names of a grid, find them, add their weights."""

from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.numerics.threads import compiled, looped

# Names whose slots of the hash table are prefetched together.
_TOGETHER = 64


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
    """A hash table of the indices of the names, −1 in empty slots.

    It is less than a quarter full, so that most names are found in the first slot that is tried.
    """
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
