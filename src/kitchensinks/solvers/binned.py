"""Ridge regression on bins: conjugate gradients whose vectors are walked grid by grid.

A row has one bin in each grid, so a product with the features is a gather and a scatter, and the
columns of a grid stay in cache while it is walked. A bin with a single fitted row needs no place
among the unknowns: minimised over the weights of the m_i such bins of row i,

    s_i·(e_i − Σz·w)² + α·Σw² = s_i'·e_i²,      s_i' = s_i·α/(α + m_i·z²·s_i),

so the row counts s_i' in place of s_i, and afterwards each of those bins has w = s_i'·z·e_i/α.
Most bins of a fine law are of this kind.

The bins of a coarse law are few, and many rows have the same ones in several grids: the sums over
the bins of such grids are worked out once for each combination that occurs, and looked up by row.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from kitchensinks.numerics.threads import looped
from kitchensinks.problem.losses import Array
from kitchensinks.problem.problem import Solution


class Bins(NamedTuple):
    """Which column each row has in each grid, (grids, n), −1 for none; columns of grid g are
    offsets[g] to offsets[g + 1]; scale is the value of a feature."""

    columns: NDArray[Any]
    offsets: NDArray[np.int64]
    scale: float

    @property
    def n_columns(self) -> int:
        return int(self.offsets[-1])


class Groups(NamedTuple):
    """Grids in groups, and the combinations of their bins that rows have.

    Nodes are bins, and then combinations: that of links[m] = (node, bin) is node n_columns + m. The
    combinations of group q are ends[q] to ends[q + 1]; nodes (groups, n): where each row is.
    """

    nodes: NDArray[Any]
    links: NDArray[Any]
    ends: NDArray[np.int64]


class Shared(NamedTuple):
    """Bins of two or more fitted rows, renumbered, and those of one, by row.

    Fitted rows alone are kept, in another order, `order`, in which neighbours share bins, and bins
    are numbered as they come: what is looked up next is then mostly in cache. Each grid, offsets[g]
    to offsets[g + 1], has one more column at its end, which stands for every bin that is not among
    them and whose weight is zero: products need no branch. places: where the kept columns were, and
    `kept` where they are; alone: columns of one fitted row, and its number; counts: those of a row.
    """

    groups: Groups
    offsets: NDArray[np.int64]
    scale: float
    order: NDArray[np.intp]
    places: NDArray[np.int64]
    kept: NDArray[np.int64]
    alone: NDArray[np.int64]
    owner: NDArray[np.int32]
    counts: Array

    @property
    def n_columns(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_nodes(self) -> int:
        return self.n_columns + len(self.groups.links)


@looped()
def _count_rows(columns: Any, fitted: Any, counts: Any, owners: Any) -> None:
    """counts_c: how many fitted rows column c has; owners_c: the last of them."""
    n_grids, n_rows = columns.shape
    for g in numba.prange(n_grids):
        own = columns[g]
        for i in range(n_rows):
            if fitted[i] and own[i] >= 0:
                counts[own[i]] += 1
                owners[own[i]] = i


@looped()
def _renumber(columns: Any, order: Any, counts: Any, ends: Any, numbers: Any, out: Any) -> None:
    """numbers_c: the new number of column c, as it comes; out: those of the rows in their order;
    ends: the new offsets."""
    n_grids = columns.shape[0]
    for g in numba.prange(n_grids):
        number, rest = ends[g], ends[g + 1] - 1
        for i in range(len(order)):
            column = columns[g, order[i]]
            out[g, i] = rest
            if column >= 0 and counts[column] > 1:
                if numbers[column] < 0:
                    numbers[column] = number
                    number += 1
                out[g, i] = numbers[column]


@numba.njit(cache=True, nogil=True)
def _combine(nodes: Any, bins: Any, first: Any, slots: Any, links: Any, out: Any) -> Any:
    """How many pairs (nodes_i, bins_i) there are, or −1 where they do not fit into `links`.

    The pairs as they come are put into links, and out_i is `first` and the number of pair i. The
    slots of a hash table with open addressing are a power of two, twice the pairs or more.
    """
    slots[:] = -1
    mask = np.int64(len(slots) - 1)
    count = 0
    for i in range(len(nodes)):
        one, two = nodes[i], bins[i]
        name = np.uint64(one) * _ODD ^ np.uint64(two) * _OTHER_ODD
        place = np.int64(name >> np.uint64(32)) & mask
        while slots[place] >= 0 and (
            links[slots[place], 0] != one or links[slots[place], 1] != two
        ):
            place = (place + 1) & mask
        if slots[place] < 0:
            if count == len(links):
                return -1
            slots[place] = count
            links[count, 0], links[count, 1] = one, two
            count += 1
        out[i] = first + slots[place]
    return count


def _grouped(columns: NDArray[Any], offsets: NDArray[np.int64]) -> Groups:
    """Grids in groups, the coarse ones first, while rows have few combinations of their bins.

    One more grid in a group saves a look-up for each row and costs two for each combination.
    `columns` (grids, n) is written over.
    """
    most = columns.shape[1] // _ROWS_A_COMBINATION
    slots = np.empty(1 << max(2 * most - 1, 1).bit_length(), dtype=np.int32)
    spare, pairs = np.empty_like(columns[0]), np.empty((most, 2), dtype=columns.dtype)
    links, ends, done = [pairs[:0].copy()], [], 0
    nodes: list[NDArray[Any]] = []
    for g in np.argsort(np.diff(offsets), kind="stable"):
        count = -1
        if nodes:
            count = _combine(nodes[-1], columns[g], offsets[-1] + done, slots, pairs, spare)
        if count < 0:
            nodes.append(columns[g])
            ends.append(done)
        else:
            nodes[-1][:] = spare
            links.append(pairs[:count].copy())
            done += count
    ends.append(done)
    return Groups(np.stack(nodes), np.concatenate(links), np.array(ends, dtype=np.int64))


def share_bins(bins: Bins, fitted: NDArray[np.bool_]) -> Shared:
    """Put the bins apart that one fitted row has to itself."""
    n_rows = bins.columns.shape[1]
    counts = np.zeros(bins.n_columns, dtype=np.int32)
    owner = np.zeros(bins.n_columns, dtype=np.int32)
    _count_rows(bins.columns, fitted, counts, owner)
    kept = np.concatenate([[0], np.cumsum(counts > 1)])[bins.offsets]
    ends = (kept + np.arange(len(kept))).astype(np.int64)
    order = np.flatnonzero(fitted)
    if n_rows > _FITTING:
        coarsest = np.argsort(np.diff(bins.offsets), kind="stable")[:_SORTED_BY]
        order = order[np.lexsort(bins.columns[coarsest[::-1]][:, order])]
    numbers = np.full(bins.n_columns, -1, dtype=bins.columns.dtype)
    columns = np.empty((len(bins.columns), len(order)), dtype=bins.columns.dtype)
    _renumber(bins.columns, order, counts, ends, numbers, columns)
    places, alone = np.flatnonzero(counts > 1), np.flatnonzero(counts == 1)
    own = np.bincount(owner[alone], minlength=n_rows).astype(np.float64)
    return Shared(
        _grouped(columns, ends),
        ends,
        bins.scale,
        order,
        places,
        numbers[places],
        alone,
        owner[alone],
        own[order],
    )


_ODD, _OTHER_ODD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
# Grids are put together while there is one combination of their bins for this many rows or more.
_ROWS_A_COMBINATION = 4
# Rows that one thread takes through all groups.
_TILE = 2**15
# The bins of one grid of this many rows stay in cache whatever their order; more rows are sorted
# by their bins in this many of the coarsest grids.
_FITTING, _SORTED_BY = 2**16, 3


@looped()
def _gather(nodes: Any, links: Any, ends: Any, n_columns: Any, values: Any, out: Any) -> None:
    """out_i = Σ_q values[nodes[q, i]], two groups at a time: sums are stored half as often.

    values (nodes, outputs), those of combinations are filled here; out (n, outputs).
    """
    n_groups, n_rows = nodes.shape
    n_outputs = values.shape[1]
    for q in numba.prange(n_groups):
        for m in range(ends[q], ends[q + 1]):
            one, two = links[m, 0], links[m, 1]
            for o in range(n_outputs):
                values[n_columns + m, o] = values[one, o] + values[two, o]
    for tile in numba.prange((n_rows + _TILE - 1) // _TILE):
        first, last = tile * _TILE, min((tile + 1) * _TILE, n_rows)
        out[first:last] = 0.0
        for q in range(0, n_groups, 2):
            one = nodes[q, first:last]
            two = nodes[min(q + 1, n_groups - 1), first:last]
            both = 1.0 if q + 1 < n_groups else 0.0
            if n_outputs == 1:
                only, total = values[:, 0], out[first:last, 0]
                for i in range(len(one)):
                    total[i] += only[one[i]] + both * only[two[i]]
            else:
                for i in range(len(one)):
                    total, left, right = out[first + i], values[one[i]], values[two[i]]
                    for o in range(n_outputs):
                        total[o] += left[o] + both * right[o]


@looped()
def _scatter(nodes: Any, links: Any, ends: Any, offsets: Any, values: Any, out: Any) -> None:
    """out[nodes[q, i]] += values_i for every group, zero for the last column of each grid.

    values (n, outputs); out (nodes, outputs): combinations are passed on to their bins.
    """
    n_groups, n_rows = nodes.shape
    n_outputs, n_columns = values.shape[1], offsets[-1]
    out[:] = 0.0
    for q in numba.prange(n_groups):
        own = nodes[q]
        if n_outputs == 1:
            given, total = values[:, 0], out[:, 0]
            for i in range(n_rows):
                total[own[i]] += given[i]
        else:
            for i in range(n_rows):
                here, more = out[own[i]], values[i]
                for o in range(n_outputs):
                    here[o] += more[o]
        for m in range(ends[q + 1] - 1, ends[q] - 1, -1):
            one, two = links[m, 0], links[m, 1]
            for o in range(n_outputs):
                passed = out[n_columns + m, o]
                out[one, o] += passed
                out[two, o] += passed
    for g in range(len(offsets) - 1):
        out[offsets[g + 1] - 1] = 0.0


@looped()
def _step(offsets: Any, alphas: Any, direction: Any, image: Any, bend: Any) -> None:
    """image += α·direction, and bend_go = Σ direction·image over the columns of grid g."""
    for g in numba.prange(len(offsets) - 1):
        for o in range(direction.shape[1]):
            total, alpha = 0.0, alphas[min(o, len(alphas) - 1)]
            for c in range(offsets[g], offsets[g + 1]):
                image[c, o] += alpha * direction[c, o]
                total += direction[c, o] * image[c, o]
            bend[g, o] = total


@looped()
def _move(
    offsets: Any,
    length: Any,
    spread: Any,
    cross: Any,
    weights: Any,
    residual: Any,
    direction: Any,
    image: Any,
    sums: Any,
) -> None:
    """β += length·direction, r −= length·image; sums_g: r'M⁻¹r, r'r and β'(cross + r)."""
    last = spread.shape[1] - 1
    for g in numba.prange(len(offsets) - 1):
        for o in range(weights.shape[1]):
            shaped, square, inner = 0.0, 0.0, 0.0
            step = length[o]
            for c in range(offsets[g], offsets[g + 1]):
                beta = weights[c, o] + step * direction[c, o]
                left = residual[c, o] - step * image[c, o]
                weights[c, o], residual[c, o] = beta, left
                shaped += left * left / spread[c, min(o, last)]
                square += left * left
                inner += beta * (cross[c, o] + left)
            sums[0, g, o], sums[1, g, o], sums[2, g, o] = shaped, square, inner


@looped()
def _turn(offsets: Any, keep: Any, spread: Any, residual: Any, direction: Any) -> None:
    """direction = M⁻¹r + keep·direction."""
    last = spread.shape[1] - 1
    for g in numba.prange(len(offsets) - 1):
        for c in range(offsets[g], offsets[g + 1]):
            for o in range(direction.shape[1]):
                shaped = residual[c, o] / spread[c, min(o, last)]
                direction[c, o] = shaped + keep[o] * direction[c, o]


def _weighted(own: Array, values: Array) -> Array:
    """Σ_i own_i·values_i of each output; own (n, 1) or (n, outputs)."""
    summed: Array = own[:, 0] @ values if own.shape[1] == 1 else np.sum(own * values, axis=0)
    return summed


def binned_ridge(
    shared: Shared,
    n_columns: int,
    targets: Array,
    shares: Array,
    alpha: float | Array,
    *,
    fit_intercept: bool = True,
    start: Array | None = None,
    tol: float = 1e-3,
    settled: float = 0.0,
    max_iter: int = 200,
    callback: Callable[[int, float, float], None] | None = None,
) -> Solution:
    """Minimise Σ s_i·(y_i − b − z_i'β)² + α‖β‖² over β (n_columns, outputs) and b, α > 0.

    alpha: one ridge, or one for each output (a path of ridges is one fit with the targets repeated:
    to look up a bin costs more than to add to it); each output stops for itself.
    shares (n,) sum to one and are zero for rows that are not fitted. Preconditioned by the diagonal
    of the equations; stops where the certified gap ‖r‖²/α is below `tol` of the objective, or where
    a step has lowered every objective by less than the share `settled` of it.
    """
    scale, offsets, n_kept = shared.scale, shared.offsets, shared.n_columns
    targets, all_rows = targets[shared.order], len(targets)
    shares = shares[shared.order]
    alphas = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    # (n, 1), or (n, outputs) where each has a ridge of its own; so are the sums over it.
    own = shares[:, None] * alphas / (alphas + scale**2 * (shared.counts * shares)[:, None])
    shaped = scale**2 * own
    total = own.sum(axis=0)
    level = _weighted(own, targets) / total * fit_intercept
    centred = targets - level
    # Bins, and behind them the combinations that products use.
    size = (shared.n_nodes, targets.shape[1])

    def gather(vector: Array) -> None:
        """part = Zv/scale."""
        _gather(*shared.groups, n_kept, vector, part)

    def scatter(values: Array, out: Array) -> None:
        """out = Z'values/scale."""
        _scatter(*shared.groups, offsets, values, out)

    def product(vector: Array, out: Array) -> None:
        """out = Z'S(Zv − mean): what is constant goes to b."""
        gather(vector)
        if fit_intercept:
            np.subtract(part, _weighted(own, part) / total, out=part)
        np.multiply(part, shaped, out=part)
        scatter(part, out)

    part = np.empty((len(targets), size[1]))
    cross, image, direction, weights = (np.zeros(size) for _ in range(4))
    scatter(scale * own * centred, cross)
    count = np.empty((size[0], own.shape[1]))
    scatter(own, count)
    cross, count = cross[:n_kept], count[:n_kept]
    mean = scale * count * fit_intercept
    spread = np.maximum(scale**2 * count - mean**2 / total, 0.0) + alphas
    if start is not None:
        weights[shared.kept] = start[shared.places]
    residual = cross.copy()
    if start is not None:
        product(weights, image)
        residual -= image[:n_kept] + alphas * weights[:n_kept]
    direction[:n_kept] = residual / spread
    squares = _weighted(own, centred**2)
    floor = 1e-12 * squares + np.finfo(float).tiny
    fall = np.sum(residual * direction[:n_kept], axis=0)
    sums = np.zeros((3, len(offsets) - 1, size[1]))
    bend = np.zeros(sums.shape[1:])
    iteration, before = 0, np.full(size[1], np.inf)
    inner = np.sum(weights[:n_kept] * (cross + residual), axis=0)
    square = np.sum(residual**2, axis=0)
    while True:
        objective = np.maximum(squares - inner, 0.0)
        gap = square / alphas
        near = gap <= tol * (objective + floor)
        near |= before - objective < settled * objective
        before = objective
        if callback is not None:
            callback(iteration, float(objective.sum()), float(gap.sum()))
        if near.all() or iteration >= max_iter:
            break
        product(direction, image)
        _step(offsets, alphas, direction, image, bend)
        below = bend.sum(axis=0)
        length = np.divide(fall, below, out=np.zeros_like(fall), where=below > 0.0)
        length[near] = 0.0
        _move(offsets, length, spread, cross, weights, residual, direction, image, sums)
        fallen, square, inner = sums.sum(axis=1)
        keep = np.divide(fallen, fall, out=np.zeros_like(fall), where=fall > 0.0)
        _turn(offsets, keep, spread, residual, direction)
        fall = fallen
        iteration += 1
    gather(weights)
    part *= scale
    intercept = level - _weighted(own, part) / total * fit_intercept
    full = np.zeros((n_columns, size[1]))
    full[shared.places] = weights[shared.kept]
    error = targets - intercept - part
    error *= own
    unsorted = np.zeros((all_rows, size[1]))
    unsorted[shared.order] = error
    full[shared.alone] = unsorted[shared.owner] * (scale / alphas)
    return Solution(
        full,
        intercept,
        float(objective.sum()),
        float(gap.sum()),
        iteration,
        iteration,
        bool(near.all()),
        "conjugate gradients",
    )
