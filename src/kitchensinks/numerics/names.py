"""Compiled tables of names of bins: number the names of a grid, find them, add their weights."""

from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.numerics.threads import inlined, looped

# Names that are numbered between two looks at how full the hash table is.
_TOGETHER = 64
# Rows whose places are found before their values are added.
_TILE = 1024
# Sums of unsigned and signed integers would be floats.
_ONE = np.uint64(1)
# Zero in the type that counts have: a literal one has a type of its own.
_NOTHING: Any = np.int64(0)


def _room(count: Any) -> int:
    """Slots for this many names: a power of two, so that at most a quarter of them is filled."""
    return 1 << max(10, (4 * int(count) - 1).bit_length())


@inlined()
def _slot(name: Any, mask: Any) -> Any:
    """The first slot that is tried for a name in a table of mask + 1 slots."""
    return (name ^ (name >> np.uint64(29))) & mask


@inlined()
def _fill_slots(own: AnyArray, count: Any, slots: AnyArray, size: Any) -> Any:
    """A hash table with open addressing of the indices of the first names, −1 in empty slots.

    It takes the first `size` slots, a power of two; returns size − 1.
    """
    for place in range(size):
        slots[place] = -1
    mask = np.uint64(size - 1)
    for k in range(count):
        place = _slot(own[k], mask)
        while slots[place] >= 0:
            place = (place + _ONE) & mask
        slots[place] = k
    return mask


@inlined()
def _slots_of(own: AnyArray, slots: AnyArray) -> Any:
    """The table of all names. Less than a quarter of it is filled, so that most names are found in
    the first slot that is tried."""
    size = 16
    while size < 4 * len(own):
        size *= 2
    return _fill_slots(own, len(own), slots, size)


@inlined()
def _look_up(name: Any, own: AnyArray, slots: AnyArray, mask: Any) -> Any:
    """The slot that holds the index of a name, or the empty one where it belongs."""
    place = _slot(name, mask)
    # Indices without a sign save a comparison each.
    while slots[place] >= 0 and own[np.uint32(slots[place])] != name:
        place = (place + _ONE) & mask
    return place


@looped(
    lambda names, *_: len(names),
    scratch=lambda names, *_: np.empty(_room(names.shape[1] + _TOGETHER), np.int32),
)
def number_names(
    names: AnyArray,
    found: AnyArray,
    counts: AnyArray,
    numbers: AnyArray,
    slots: AnyArray,
    begin: int,
    end: int,
) -> None:
    """The different names of each grid in the order in which they come, and every name's number.

    names (grids, n) uint64; found (grids, n) uint64, of which the first counts_g are filled;
    counts (grids,) int64; numbers (grids, n) int32: names_gi is found[g, numbers_gi]. The hash
    table is doubled before a third of it is filled.
    """
    n_rows = names.shape[1]
    for g in range(begin, end):
        # A literal 0 would have a type of its own, for which the table is compiled once more.
        own, count, size = found[g], _NOTHING, _NOTHING
        mask = np.uint64(0)
        for first in range(0, n_rows, _TOGETHER):
            last = first + _TOGETHER if first + _TOGETHER < n_rows else n_rows
            if 3 * (count + _TOGETHER) > size:
                size = 2 * size if size else 1024
                mask = _fill_slots(own, count, slots, size)
            for i in range(first, last):
                name = names[g, i]
                place = _look_up(name, own, slots, mask)
                if slots[place] < 0:
                    own[count] = name
                    slots[place] = count
                    count += 1
                numbers[g, i] = slots[place]
        counts[g] = count


@inlined()
def _guess(count: Any, name: Any) -> Any:
    """About where a name is among sorted ones: they are spread evenly over 64 bits."""
    return np.int64(((name >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


@inlined()
def _found(own: AnyArray, name: Any) -> Any:
    """The place of a name among sorted ones, of which there is one at least, or −1.

    From the guess on in steps that double, and then by halves.
    """
    low, high = 0, len(own)
    place = _guess(high, name)
    step = 8
    if own[place] < name:
        low = place + 1
        while low + step < high and own[low + step] < name:
            low += step
            step *= 2
        high = low + step if low + step < high else high
    else:
        high = place
        while high - step > low and own[high - step] >= name:
            high -= step
            step *= 2
        low = high - step if high - step > low else low
    while low < high:
        middle = (low + high) >> 1
        if own[middle] < name:
            low = middle + 1
        else:
            high = middle
    return low if low < len(own) and own[low] == name else -1


def _memory(offsets: AnyArray, more: int = 0) -> AnyArray:
    """Memory for the hash table of any grid, and `more` places."""
    return np.empty(more + _room(np.diff(offsets).max(initial=0)), np.int32)


@looped(lambda names, *_: len(names), scratch=lambda names, table, offsets, *_: _memory(offsets))
def find_columns(
    names: AnyArray,
    table: AnyArray,
    offsets: AnyArray,
    out: AnyArray,
    slots: AnyArray,
    begin: int,
    end: int,
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
            mask = _slots_of(own, slots)
            for i in range(n_rows):
                found = slots[_look_up(names[g, i], own, slots, mask)]
                out[g, i] = start + found if found >= 0 else -1


@looped(lambda names, *_: names.shape[1])
def _add_few(
    names: AnyArray,
    table: AnyArray,
    offsets: AnyArray,
    values: AnyArray,
    out: AnyArray,
    begin: int,
    end: int,
) -> Any:
    """Names are looked up one by one.

    What is near to the guesses of a row is read first: the reads of all grids then wait for memory
    together. Their sum is returned, so that the compiler keeps them.
    """
    touched = np.uint64(0)
    for i in range(begin, end):
        for g in range(len(names)):
            count = offsets[g + 1] - offsets[g]
            if count > 0:
                place = offsets[g] + _guess(count, names[g, i])
                touched += table[place] + np.uint64(values[place, 0] > 0.0)
        for g in range(len(names)):
            start = offsets[g]
            own = table[start : offsets[g + 1]]
            found = _found(own, names[g, i]) if len(own) > 0 else -1
            if found >= 0:
                for o in range(values.shape[1]):
                    out[i, o] += values[start + found, o]
    return touched


@looped(
    lambda names, *_: names.shape[1],
    scratch=lambda names, table, offsets, *_: _memory(offsets, _TILE),
)
def _add_many(
    names: AnyArray,
    table: AnyArray,
    offsets: AnyArray,
    values: AnyArray,
    out: AnyArray,
    space: AnyArray,
    begin: int,
    end: int,
) -> None:
    """Names are looked up in a hash table of the grid's names."""
    places, slots = space[:_TILE], space[_TILE:]
    for g in range(len(names)):
        start = offsets[g]
        own, gains = table[start : offsets[g + 1]], values[start : offsets[g + 1]]
        mask = _slots_of(own, slots)
        for first in range(begin, end, _TILE):
            count = _TILE if end - first > _TILE else end - first
            for i in range(count):
                places[i] = slots[_look_up(names[g, first + i], own, slots, mask)]
            for o in range(values.shape[1]):
                for i in range(count):
                    if places[i] >= 0:
                        out[first + i, o] += gains[places[i], o]


def add_scores(
    names: AnyArray, table: AnyArray, offsets: AnyArray, values: AnyArray, out: AnyArray
) -> None:
    """out_i += Σ_g values[column of names_gi]; bins that are not in the table add nothing.

    names, table, offsets: as `find_columns` has them; values (columns, outputs); out (n, outputs).
    Grids are added in their order, whichever rows and grids come together: a row's score has the
    same bits.
    """
    few = 4 * names.size < offsets[-1] - offsets[0]
    (_add_few if few else _add_many)(names, table, offsets, values, out)
