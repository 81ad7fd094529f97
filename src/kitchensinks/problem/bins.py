"""The features of random binning as a design: one column for each row in each grid.

A row has one bin in each grid, so products with the features are gathers and scatters. `SharedBins`
prepares the bins for many products with the same fitted rows, in two ways.

Bins of a single fitted row need no place among the unknowns of a ridge fit. Minimised over the
weights of the m_i such bins of row i,

    s_i·(e_i − Σz·w)² + α·Σw² = s_i'·e_i²,      s_i' = s_i·α/(α + m_i·z²·s_i),

so the row has the weight s_i' in place of s_i, and afterwards each of those bins has
w = s_i'·z·e_i/α. Most bins of a fine law are of this kind.

A coarse law has few bins, and many rows share their bins in several grids: sums over the bins of
such grids are computed once for each combination that occurs, and looked up for each row.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchensinks.numerics.arrays import AnyArray, Bools, DType, Ints
from kitchensinks.numerics.combinations import (
    add_to_nodes,
    combine,
    count_rows,
    fill_links,
    renumber,
    sum_into_bins,
    sum_nodes,
    sum_of_bins,
)
from kitchensinks.numerics.threads import in_order
from kitchensinks.problem.design import ProductDesign
from kitchensinks.problem.losses import Array

# (grid, out): puts the columns of the rows in that grid into out (n,).
ReadColumn = Callable[[int, AnyArray], None]

# Grids are grouped while a combination of their bins has at least this many rows on average.
_ROWS_A_COMBINATION = 4
# Chains of grids whose groups are found side by side.
_CHAINS = 4
# Neighbouring grids that a chain takes in turn: grids of equal bins, as trees that are drawn again
# have, stay together.
_DEALT = 8
# The bins of one grid of this many rows stay in cache whatever the order of the rows.
_FITTING = 2**16
# More rows are sorted by their bins in this many of the coarsest grids.
_SORTED_BY = 3


class Combinations(NamedTuple):
    """Grids in groups, and the combinations of their bins that rows have.

    Nodes are bins, and then combinations: that of links[m] = (node, bin) is node n_columns + m. The
    combinations of group q are ends[q] to ends[q + 1]; nodes (groups, n): where each row is.
    """

    nodes: AnyArray
    links: AnyArray
    ends: Ints

    @classmethod
    def of(cls, read: ReadColumn, offsets: Ints, n_rows: int, dtype: DType) -> "Combinations":
        """Group the coarse grids first, as long as rows have few combinations of their bins.

        One more grid in a group saves a look-up for each row and costs two for each combination.
        Grids are dealt out to chains, whose groups are found side by side. read(g, out) puts the
        columns of grid g into out (n_rows,): those of all grids are never in memory together.
        """
        order = np.argsort(np.diff(offsets), kind="stable")
        dealt = np.arange(len(order)) // _DEALT % _CHAINS
        chains = [order[dealt == chain] for chain in range(_CHAINS)]
        first = int(offsets[-1])
        found = list(
            in_order(
                lambda grids: _Groups.of(read, grids, first, n_rows, dtype),
                (grids for grids in chains if len(grids)),
            )
        )
        nodes, links, ends = [], [], []
        done = 0
        for chain in found:
            # Each chain has numbered its combinations from `first` on.
            nodes += [(node, done) for node in chain.nodes]
            links += [_moved(own, first, done) for own in chain.links]
            ends += [end + done for end in chain.ends]
            done += sum(map(len, chain.links))
        rows = np.empty((len(nodes), n_rows), dtype)

        def put(k: int) -> None:
            own, step = nodes[k]
            rows[k] = _moved(own, first, step)

        for _ in in_order(put, range(len(nodes))):
            pass
        pairs = np.concatenate([np.empty((0, 2), dtype), *links])
        return cls(rows, pairs, np.array([*ends, done], dtype=np.int64))


def _moved(numbers: AnyArray, first: int, step: int) -> AnyArray:
    """The numbers with those from `first` on moved by a step."""
    return numbers if step == 0 else np.where(numbers >= first, numbers + step, numbers)


class _Groups(NamedTuple):
    """The groups of a chain of grids, as `Combinations` has them, an array for each."""

    nodes: list[AnyArray]
    links: list[AnyArray]
    ends: list[int]

    @classmethod
    def of(
        cls, read: ReadColumn, grids: NDArray[np.intp], first: int, n_rows: int, dtype: DType
    ) -> "_Groups":
        """The groups of these grids in their order; combinations are numbered from `first` on."""
        most = n_rows // _ROWS_A_COMBINATION
        slots = np.empty(1 << max(2 * most - 1, 1).bit_length(), dtype=np.int32)
        own, spare = np.empty((2, n_rows), dtype)
        pairs = np.empty((most, 2), dtype)
        found, done = cls([], [], []), 0
        for g in grids:
            read(g, own)
            count = -1
            if found.nodes:
                slots.fill(-1)
                count = combine(found.nodes[-1], own, first + done, slots, pairs, spare)
            if count < 0:
                found.nodes.append(own.copy())
                found.ends.append(done)
            else:
                found.nodes[-1][:] = spare
                found.links.append(pairs[:count].copy())
                done += count
        return found


class SharedBins(NamedTuple):
    """Bins of two or more fitted rows, renumbered, and those of one row, listed by row.

    Only fitted rows are kept, in an order, `order`, in which neighbours share bins, and bins are
    numbered in the order in which rows use them, so that look-ups mostly hit the cache. Grid g has
    the columns offsets[g] to offsets[g + 1]; the last one represents all bins that are not kept and
    has weight zero, so that products need no branch. `places` are the kept columns in the original
    numbering and `kept` in the new one. `alone` are the columns of a single fitted row, `owner` is
    that row, and counts (fitted rows,) their number by row.
    """

    combinations: Combinations
    offsets: Ints
    order: NDArray[np.intp]
    places: Ints
    kept: Ints
    alone: Ints
    owner: NDArray[np.int32]
    counts: Array

    @property
    def n_columns(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_nodes(self) -> int:
        return self.n_columns + len(self.combinations.links)

    def gather(self, values: Array, out: Array) -> None:
        """out (fitted rows, outputs) = Σ of the values (nodes, outputs) of each row's bins.

        The values of combinations are filled in.
        """
        fill_links(self.combinations.links, self.combinations.ends, values)
        out[:] = 0.0
        sum_nodes(self.combinations.nodes, values, out)

    def scatter(self, values: Array, out: Array) -> None:
        """out (nodes, outputs) = Σ of the values (fitted rows, outputs) of the rows in each bin."""
        out[:] = 0.0
        add_to_nodes(*self.combinations, values, out)
        out[self.offsets[1:] - 1] = 0.0


class Bins(ProductDesign):
    """Which column each row has in each grid, (grids, n), −1 for none, times a scale.

    The columns of grid g are offsets[g] to offsets[g + 1]. A quarter of the memory of a CSR matrix,
    and products that all threads share.

    >>> bins = Bins(np.array([[0, 1], [2, 2]]), np.array([0, 2, 3]), 0.5)
    >>> bins.scores(np.array([[1.0], [2.0], [4.0]])).ravel()
    array([2.5, 3. ])
    """

    def __init__(self, columns: AnyArray, offsets: Ints, scale: float) -> None:
        super().__init__(columns.shape[1], int(offsets[-1]))
        self.columns, self.offsets, self.scale = columns, offsets, scale
        self._shared: tuple[Bools, SharedBins] | None = None

    def first(self, count: int, scale: float) -> "Bins":
        return Bins(self.columns[:count], self.offsets[: count + 1], scale)

    def times(self, vector: Array) -> Array:
        out = np.empty((self.n_rows, vector.shape[1]))
        sum_of_bins(self.columns, vector, self.scale, out)
        return out

    def transposed(self, vector: Array) -> Array:
        return sum_into_bins(self.columns, self.scale * vector, self.n_columns)

    def inner(self, coefficients: Array, fitted: Bools) -> Array:
        """ZZ'·coefficients: bins of one row add to the diagonal alone."""
        self.passes += 1
        shared, product = self.shared(fitted), np.zeros_like(coefficients)
        own = coefficients[shared.order]
        sums, image = np.zeros((shared.n_nodes, own.shape[1])), np.empty_like(own)
        shared.scatter(own, sums)
        shared.gather(sums, image)
        product[shared.order] = self.scale**2 * (image + shared.counts[:, None] * own)
        return product

    def squares(self, shares: Array) -> Array:
        return self.scale * self.transposed(shares[:, None])[:, 0]

    def entries(self) -> tuple[AnyArray, Array, float]:
        return np.ascontiguousarray(self.columns.T), np.empty((0, 0)), self.scale

    def norms(self) -> Array:
        return np.asarray(self.scale**2 * np.count_nonzero(self.columns >= 0, axis=0))

    def dense(self, rows: slice) -> Array:
        own = self.columns[:, rows]
        out = np.zeros((own.shape[1], self.n_columns))
        for columns in own:
            found = np.flatnonzero(columns >= 0)
            out[found, columns[found]] = self.scale
        return out

    def shared(self, fitted: Bools) -> SharedBins:
        """The bins prepared for fits to the rows `fitted`; the last result is cached."""
        if self._shared is None or not np.array_equal(self._shared[0], fitted):
            self._shared = fitted, self._share(fitted)
        return self._shared[1]

    def _share(self, fitted: Bools) -> SharedBins:
        counts = np.zeros(self.n_columns, dtype=np.int32)
        owner = np.zeros(self.n_columns, dtype=np.int32)
        count_rows(self.columns, fitted, counts, owner)
        kept = np.concatenate([[0], np.cumsum(counts > 1)])[self.offsets]
        ends = (kept + np.arange(len(kept))).astype(np.int64)
        order = np.flatnonzero(fitted)
        if self.n_rows > _FITTING:
            coarsest = np.argsort(np.diff(self.offsets), kind="stable")[:_SORTED_BY]
            order = order[np.lexsort(self.columns[coarsest[::-1]][:, order])]
        numbers = np.full(self.n_columns, -1, dtype=self.columns.dtype)

        def read(g: int, out: AnyArray) -> None:
            part = slice(g, g + 1)
            renumber(self.columns[part], order, counts, ends[g : g + 2], numbers, out[None])

        combinations = Combinations.of(read, ends, len(order), numbers.dtype)
        places, alone = np.flatnonzero(counts > 1), np.flatnonzero(counts == 1)
        own = np.bincount(owner[alone], minlength=self.n_rows).astype(np.float64)
        return SharedBins(
            combinations,
            ends,
            order,
            places,
            numbers[places],
            alone,
            owner[alone],
            own[order],
        )
