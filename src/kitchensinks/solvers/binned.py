"""Ridge regression on bins: conjugate gradients whose vectors are walked grid by grid.

A row has one bin in each grid, so a product with the features is a gather and a scatter, and the
columns of a grid stay in cache while it is walked. A bin with a single fitted row needs no place
among the unknowns: minimised over the weights of the m_i such bins of row i,

    s_i·(e_i − Σz·w)² + α·Σw² = s_i'·e_i²,      s_i' = s_i·α/(α + m_i·z²·s_i),

so the row counts s_i' in place of s_i, and afterwards each of those bins has w = s_i'·z·e_i/α.
Most bins of a fine law are of this kind.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from kitchensinks.losses import Array
from kitchensinks.numerics.threads import looped
from kitchensinks.solvers.problem import Solution


class Bins(NamedTuple):
    """Which column each row has in each grid, (grids, n), −1 for none; columns of grid g are
    offsets[g] to offsets[g + 1]; scale is the value of a feature."""

    columns: NDArray[Any]
    offsets: NDArray[np.int64]
    scale: float

    @property
    def n_columns(self) -> int:
        return int(self.offsets[-1])


class Shared(NamedTuple):
    """Bins of two or more fitted rows, renumbered, and those of one, by row.

    Rows are in another order, `order`, in which neighbours share bins, and bins are numbered as
    they come: what is looked up next is then mostly in cache. Each grid has one more column at its
    end, which stands for every bin that is not among them and whose weight is zero: products need
    no branch. places: where the kept columns were, and `kept` where they are; alone: columns of one
    fitted row, and its number; counts (n,): those of a row.
    """

    bins: Bins
    order: NDArray[np.intp]
    places: NDArray[np.int64]
    kept: NDArray[np.int64]
    alone: NDArray[np.int64]
    owner: NDArray[np.int32]
    counts: Array


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
    n_grids, n_rows = columns.shape
    for g in numba.prange(n_grids):
        number, rest = ends[g], ends[g + 1] - 1
        for i in range(n_rows):
            column = columns[g, order[i]]
            out[g, i] = rest
            if column >= 0 and counts[column] > 1:
                if numbers[column] < 0:
                    numbers[column] = number
                    number += 1
                out[g, i] = numbers[column]


def share_bins(bins: Bins, fitted: NDArray[np.bool_]) -> Shared:
    """Put the bins apart that one fitted row has to itself."""
    n_rows = bins.columns.shape[1]
    counts = np.zeros(bins.n_columns, dtype=np.int32)
    owner = np.zeros(bins.n_columns, dtype=np.int32)
    _count_rows(bins.columns, fitted, counts, owner)
    kept = np.concatenate([[0], np.cumsum(counts > 1)])[bins.offsets]
    ends = kept + np.arange(len(kept))
    order = np.arange(n_rows)
    if n_rows > _FITTING:
        coarsest = np.argsort(np.diff(bins.offsets), kind="stable")[:_SORTED_BY]
        order = np.lexsort(bins.columns[coarsest[::-1]])
    numbers = np.full(bins.n_columns, -1, dtype=bins.columns.dtype)
    columns = np.empty_like(bins.columns)
    _renumber(bins.columns, order, counts, ends, numbers, columns)
    places, alone = np.flatnonzero(counts > 1), np.flatnonzero(counts == 1)
    own = np.bincount(owner[alone], minlength=n_rows).astype(np.float64)
    shared = Bins(columns, ends.astype(np.int64), bins.scale)
    return Shared(shared, order, places, numbers[places], alone, owner[alone], own[order])


# Rows that one thread takes through all grids.
_TILE = 2**15
# The bins of one grid of this many rows stay in cache whatever their order; more rows are sorted
# by their bins in this many of the coarsest grids.
_FITTING, _SORTED_BY = 2**16, 3


@looped()
def _gather(columns: Any, values: Any, out: Any) -> None:
    """out_i = Σ_g values[columns[g, i]], two grids at a time: sums are stored half as often.

    columns (grids, n), values (columns, outputs), out (n, outputs).
    """
    n_grids, n_rows = columns.shape
    n_outputs = values.shape[1]
    for tile in numba.prange((n_rows + _TILE - 1) // _TILE):
        first, last = tile * _TILE, min((tile + 1) * _TILE, n_rows)
        out[first:last] = 0.0
        for g in range(0, n_grids, 2):
            one = columns[g, first:last]
            two = columns[min(g + 1, n_grids - 1), first:last]
            both = 1.0 if g + 1 < n_grids else 0.0
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
def _scatter(columns: Any, offsets: Any, values: Any, out: Any) -> None:
    """out[columns[g, i]] += values_i for every grid, and zero for the last column of each."""
    n_grids, n_rows = columns.shape
    n_outputs = values.shape[1]
    for g in numba.prange(n_grids):
        own = columns[g]
        out[offsets[g] : offsets[g + 1]] = 0.0
        if n_outputs == 1:
            given, total = values[:, 0], out[:, 0]
            for i in range(n_rows):
                total[own[i]] += given[i]
        else:
            for i in range(n_rows):
                here, more = out[own[i]], values[i]
                for o in range(n_outputs):
                    here[o] += more[o]
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
    bins, scale = shared.bins, shared.bins.scale
    targets, shares = targets[shared.order], shares[shared.order]
    alphas = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    # (n, 1), or (n, outputs) where each has a ridge of its own; so are the sums over it.
    own = shares[:, None] * alphas / (alphas + scale**2 * (shared.counts * shares)[:, None])
    total = own.sum(axis=0)
    level = _weighted(own, targets) / total * fit_intercept
    centred = targets - level
    size = (bins.n_columns, targets.shape[1])

    def product(vector: Array, out: Array, part: Array) -> None:
        """out = Z'S(Zv − mean): what is constant goes to b."""
        _gather(bins.columns, vector, part)
        if fit_intercept:
            part -= _weighted(own, part) / total
        part *= scale**2 * own
        _scatter(bins.columns, bins.offsets, part, out)

    part = np.empty((len(targets), size[1]))
    cross, image = np.empty(size), np.empty(size)
    _scatter(bins.columns, bins.offsets, scale * own * centred, cross)
    count = np.empty((size[0], own.shape[1]))
    _scatter(bins.columns, bins.offsets, own, count)
    mean = scale * count * fit_intercept
    spread = np.maximum(scale**2 * count - mean**2 / total, 0.0) + alphas
    weights = np.zeros(size)
    if start is not None:
        weights[shared.kept] = start[shared.places]
    residual = cross.copy()
    if start is not None:
        product(weights, image, part)
        residual -= image + alphas * weights
    direction = residual / spread
    squares = _weighted(own, centred**2)
    floor = 1e-12 * squares + np.finfo(float).tiny
    fall = np.sum(residual * direction, axis=0)
    sums = np.zeros((3, len(bins.offsets) - 1, size[1]))
    bend = np.zeros(sums.shape[1:])
    iteration, before = 0, np.full(size[1], np.inf)
    inner = np.sum(weights * (cross + residual), axis=0)
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
        product(direction, image, part)
        _step(bins.offsets, alphas, direction, image, bend)
        below = bend.sum(axis=0)
        length = np.divide(fall, below, out=np.zeros_like(fall), where=below > 0.0)
        length[near] = 0.0
        _move(bins.offsets, length, spread, cross, weights, residual, direction, image, sums)
        fallen, square, inner = sums.sum(axis=1)
        keep = np.divide(fallen, fall, out=np.zeros_like(fall), where=fall > 0.0)
        _turn(bins.offsets, keep, spread, residual, direction)
        fall = fallen
        iteration += 1
    _gather(bins.columns, weights, part)
    part *= scale
    intercept = level - _weighted(own, part) / total * fit_intercept
    full = np.zeros((n_columns, size[1]))
    full[shared.places] = weights[shared.kept]
    error = targets - intercept - part
    error *= own
    unsorted = np.empty_like(error)
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
