"""Compiled products with bins whose rows share combinations of them.

A row has one bin in each grid. Grids are put into groups, and each combination of bins that a group
has is a node of its own: node n_columns + m stands for the two nodes links[m]. The combinations of
group q are links[ends[q]:ends[q + 1]], and nodes (groups, n) says where each row is.
"""

from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.numerics.threads import compiled, looped

# Odd multipliers that spread pairs over a hash table.
_ODD, _OTHER_ODD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
# Rows that go through all groups together.
_TILE = 2**15


@looped(lambda columns, *_: len(columns))
def count_rows(
    columns: AnyArray, fitted: AnyArray, counts: AnyArray, owners: AnyArray, begin: int, end: int
) -> None:
    """counts_c: the number of fitted rows in column c; owners_c: the last of them.

    columns (grids, n), −1 for none; fitted (n,); counts and owners (columns,), zero at first.
    """
    n_rows = columns.shape[1]
    for g in range(begin, end):
        for i in range(n_rows):
            column = columns[g, i]
            if fitted[i] and column >= 0:
                counts[column] += 1
                owners[column] = i


@looped(lambda columns, *_: len(columns))
def renumber(
    columns: AnyArray,
    order: AnyArray,
    counts: AnyArray,
    ends: AnyArray,
    numbers: AnyArray,
    out: AnyArray,
    begin: int,
    end: int,
) -> None:
    """Number the columns of two or more rows as the rows meet them.

    numbers_c: the new number of column c, −1 at first. out (grids, len(order)): the numbers of the
    rows in their order; all other columns of grid g have its last number, ends[g + 1] − 1.
    """
    for g in range(begin, end):
        number, rest = ends[g], ends[g + 1] - 1
        for i in range(len(order)):
            column = columns[g, order[i]]
            out[g, i] = rest
            if column >= 0 and counts[column] > 1:
                if numbers[column] < 0:
                    numbers[column] = number
                    number += 1
                out[g, i] = numbers[column]


@compiled()
def combine(
    nodes: AnyArray, bins: AnyArray, first: int, slots: AnyArray, links: AnyArray, out: AnyArray
) -> Any:
    """The number of different pairs (nodes_i, bins_i), or −1 where they do not fit into `links`.

    links: the pairs in the order in which they come; out_i: `first` plus the number of pair i. The
    slots of a hash table with open addressing, −1 at first, are a power of two, at least twice
    len(links).
    """
    mask = np.int64(len(slots) - 1)
    count = 0
    for i in range(len(nodes)):
        one, two = nodes[i], bins[i]
        name = np.uint64(one) * _ODD ^ np.uint64(two) * _OTHER_ODD
        place = np.int64(name >> np.uint64(32)) & mask
        number = slots[place]
        while number >= 0 and (links[number, 0] != one or links[number, 1] != two):
            place = (place + 1) & mask
            number = slots[place]
        if number < 0:
            if count == len(links):
                return -1
            slots[place] = number = count
            links[count, 0], links[count, 1] = one, two
            count += 1
        out[i] = first + number
    return count


@looped(lambda links, ends, *_: len(ends) - 1)
def fill_links(links: AnyArray, ends: AnyArray, values: AnyArray, begin: int, end: int) -> None:
    """Put the sum of the values of its two nodes into that of each combination.

    values (nodes, outputs); those of the bins are given.
    """
    n_columns = len(values) - len(links)
    for q in range(begin, end):
        for m in range(ends[q], ends[q + 1]):
            one, two = links[m, 0], links[m, 1]
            for o in range(values.shape[1]):
                values[n_columns + m, o] = values[one, o] + values[two, o]


@looped(lambda nodes, *_: nodes.shape[1])
def sum_nodes(nodes: AnyArray, values: AnyArray, out: AnyArray, begin: int, end: int) -> None:
    """out_i += Σ_q values[nodes[q, i]], two groups at a time: sums are stored half as often."""
    n_groups, n_outputs = nodes.shape[0], values.shape[1]
    for first in range(begin, end, _TILE):
        last = first + _TILE if first + _TILE < end else end
        total = out[first:last]
        for q in range(0, n_groups, 2):
            p = q + 1 if q + 1 < n_groups else q
            both = 1.0 if p > q else 0.0
            one, two = nodes[q, first:last], nodes[p, first:last]
            if n_outputs == 1:
                for i in range(len(one)):
                    total[i, 0] += values[one[i], 0] + both * values[two[i], 0]
            else:
                for i in range(len(one)):
                    left, right = one[i], two[i]
                    for o in range(n_outputs):
                        total[i, o] += values[left, o] + both * values[right, o]


@looped(lambda nodes, *_: len(nodes))
def add_to_nodes(
    nodes: AnyArray,
    links: AnyArray,
    ends: AnyArray,
    values: AnyArray,
    out: AnyArray,
    begin: int,
    end: int,
) -> None:
    """out[nodes[q, i]] += values_i for every group, passed on from combinations to their bins.

    values (n, outputs); out (nodes, outputs), zero at first.
    """
    (n_rows, n_outputs), n_columns = values.shape, len(out) - len(links)
    for q in range(begin, end):
        if n_outputs == 1:
            for i in range(n_rows):
                out[nodes[q, i], 0] += values[i, 0]
        else:
            for i in range(n_rows):
                node = nodes[q, i]
                for o in range(n_outputs):
                    out[node, o] += values[i, o]
        for m in range(ends[q + 1] - 1, ends[q] - 1, -1):
            one, two = links[m, 0], links[m, 1]
            for o in range(n_outputs):
                passed = out[n_columns + m, o]
                out[one, o] += passed
                out[two, o] += passed


def sum_of_bins(columns: AnyArray, values: AnyArray, scale: float, out: AnyArray) -> None:
    """out_i = scale·Σ_g values[columns[g, i]]: the product of a binned feature matrix with values.

    columns (grids, n), −1 for a bin without a column; values (columns, outputs); out (n, outputs).
    """
    # −1 is the last place: its value is zero. One copy serves it and the scale.
    scaled = np.zeros((len(values) + 1, values.shape[1]))
    np.multiply(values, scale, out=scaled[:-1])
    out[:] = 0.0
    sum_nodes(columns, scaled, out)


def sum_into_bins(columns: AnyArray, values: AnyArray, n_columns: int) -> AnyArray:
    """out[columns[g, i]] += values_i for every grid: the transposed product.

    columns (grids, n), −1 for a bin without a column; values (n, outputs); out (columns, outputs).
    """
    # No combinations; −1 is the last place, which is left out.
    links, ends = np.empty((0, 2), columns.dtype), np.zeros(len(columns) + 1, np.int64)
    sums = np.zeros((n_columns + 1, values.shape[1]))
    add_to_nodes(columns, links, ends, values, sums)
    return sums[:-1]
