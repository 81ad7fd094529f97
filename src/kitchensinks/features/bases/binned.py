"""Bases whose draws partition the space into bins; features are indicators of bins."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kitchensinks.features.bases.base import Basis
from kitchensinks.features.bases.draw import Draw, Graph, Scorer, Theta
from kitchensinks.numerics.arrays import AnyArray, Arrays, Floats, Ints, Matrix
from kitchensinks.numerics.names import add_scores, find_columns, number_names
from kitchensinks.numerics.threads import in_order

Names = NDArray[np.uint64]
# Of some grids: the names of the occupied bins, how many they are, and the number of every row's
# bin, (grids, n) each but for the counts.
Numbered = tuple[Sequence[Names], Ints, Sequence[AnyArray]]

# Hashes of bins that are collected before duplicates are removed.
_WAITING_NAMES = 2**25
# Hashes that are numbered at a time: memory that is reused, and mostly stays in cache. Eight times
# as many took two to ten times as long where pages are new.
_NUMBERED = 2**20
# Grids that are numbered at a time for the threads to share, where they have more rows, and the
# most hashes of them.
_SHARED_GRIDS, _MOST_NUMBERED = 8, 2**23
# Hashes that are looked up at a time.
_LOOKED_UP = 2**20
# Temporary entries for each scored row: few, so that many rows share the hash table of a draw.
_SCORED_ENTRIES = 64
# Most columns of an exported transformer: ONNX has no sparse features.
_DENSE_COLUMNS = 2**14


class Binned(Basis):
    """A draw is a partition of the space into bins, and its features indicate the bin of x.

    A subclass computes 64-bit names of the bins of rows, `fill_names`, and their ONNX form,
    `onnx_bins`. The columns are the bins that the rows of `fit` occupy; other bins give zeros.
    """

    sparse = True
    binned = True
    tells_bins = True
    keeps_float64 = True
    bound = 1.0
    drawn: ClassVar[tuple[str, ...]]
    """The arrays of θ, whose first axis is the draw."""
    part: ClassVar[str] = "grid"
    """The word for a draw in the names of the columns."""

    def ready(self, rows: AnyArray) -> Any:
        """Rows as `fill_names` takes them: made once for any number of draws."""
        return np.ascontiguousarray(rows)

    def fill_names(self, theta: Theta, rows: Any, names: Names) -> None:
        """The name of the bin of every row in every draw, into names (draws, n)."""
        raise NotImplementedError

    def onnx_bins(self, graph: Graph, draw: Draw, rows: str) -> str:
        """`bins` as nodes, (n, draws), with the number of all columns for a bin never seen."""
        raise NotImplementedError

    def _count(self, theta: Theta) -> int:
        return len(theta[self.drawn[0]])

    def bin_names(self, theta: Theta, rows: AnyArray) -> Names:
        """The hash of the bin of every row in every grid, shape (grids, n)."""
        names = np.empty((self._count(theta), len(rows)), dtype=np.uint64)
        self.fill_names(theta, self.ready(rows), names)
        return names

    def tabulate(self, theta: Theta, blocks: Iterable[Matrix]) -> Theta:
        """θ with the bins that the rows occupy added; the order of the blocks does not matter."""
        n_grids = self._count(theta)
        table: BinTable = theta.get("table", BinTable([np.empty(0, dtype=np.uint64)] * n_grids))
        waiting: list[Names] = []
        for rows in blocks:
            waiting.append(self.bin_names(theta, rows))
            # One large table is cheaper than many small ones, as long as it fits into memory.
            if sum(names.size for names in waiting) > _WAITING_NAMES:
                table, waiting = table.with_names(waiting), []
        return {**theta, "table": table.with_names(waiting)}

    def numbered(self, theta: Theta, rows: AnyArray) -> Iterator[tuple[Names, AnyArray]]:
        """For each grid: names of the occupied bins, and the index of each row's bin among them.

        Both are views of memory that later grids overwrite.
        """
        for found, counts, numbers in self._numbered_parts(theta, rows):
            for own, count, number in zip(found, counts, numbers, strict=True):
                yield own[:count], number

    def _numbered_parts(self, theta: Theta, rows: AnyArray) -> Iterator[Numbered]:
        """Some grids at a time, as `number_names` has them: found, counts and numbers."""
        n_grids = self._count(theta)
        n_rows = max(1, len(rows))
        size = max(_NUMBERED // n_rows, min(_SHARED_GRIDS, _MOST_NUMBERED // n_rows), 1)
        size = max(1, min(size, n_grids))
        names = np.empty((size, len(rows)), dtype=np.uint64)
        found, numbers = np.empty_like(names), np.empty(names.shape, dtype=np.int32)
        counts = np.empty(size, dtype=np.int64)
        ready = self.ready(rows)
        for start in range(0, n_grids, size):
            part = {name: theta[name][start : start + size] for name in self.drawn}
            here = slice(0, self._count(part))
            self.fill_names(part, ready, names[here])
            number_names(names[here], found[here], counts[here], numbers[here])
            yield [*found[here]], counts[here], [*numbers[here]]

    def tabulate_with_bins(self, theta: Theta, rows: AnyArray) -> tuple[Theta, AnyArray]:
        """`tabulate` and `bins` of the same rows, which are hashed once."""
        n_grids = self._count(theta)
        kind = _index_type(n_grids * len(rows))
        columns = np.empty((n_grids, len(rows)), dtype=kind)
        parts: list[Names] = []
        done = 0
        for found, counts, numbers in self._numbered_parts(theta, rows):
            first, starts = len(parts), done + np.cumsum(counts) - counts

            def sort(g: int) -> Names:
                """Sort the bins of a grid, and put the columns of its rows into their place."""
                own, start = found[g][: counts[g]], starts[g]  # noqa: B023
                order = np.argsort(own)
                place = np.empty(len(own), dtype=kind)
                place[order] = np.arange(start, start + len(own), dtype=kind)
                np.take(place, numbers[g], out=columns[first + g], mode="clip")  # noqa: B023
                return np.asarray(own[order])

            parts.extend(in_order(sort, range(len(counts))))
            done += int(counts.sum())
        return {**theta, "table": BinTable(parts)}, columns

    def pack(self, draw: Draw) -> Arrays:
        table = self.table(draw.theta)
        return {"names": table.names, "offsets": table.offsets}

    def unpack(self, draw: Draw, arrays: Arrays) -> Draw:
        names, edges = arrays["names"], itertools.pairwise(arrays["offsets"])
        table = BinTable([names[low:high] for low, high in edges])
        return replace(draw, theta={**draw.theta, "table": table})

    def merge(self, theta: Theta, other: Theta) -> Theta:
        return {**theta, "table": self.table(theta).merge(self.table(other))}

    def columns(self, theta: Theta, n_draws: int) -> Ints:
        return np.diff(self.table(theta).offsets)

    def bins(self, theta: Theta, rows: AnyArray) -> AnyArray:
        """The column of each row in each grid, shape (grids, n); −1 for a bin never seen."""
        table = self.table(theta)
        names = self.bin_names(theta, rows)
        found = np.empty(names.shape, _index_type(len(table.names)))
        find_columns(names, table.names, table.offsets, found)
        return found

    def scorer(self, theta: Theta, weights: AnyArray) -> Scorer:
        table, values = self.table(theta), weights.astype(np.float64)

        def scores(rows: AnyArray) -> Floats:
            out = np.zeros((len(rows), values.shape[1]))
            n_grids = self._count(theta)
            size = max(1, min(n_grids, _LOOKED_UP // max(1, len(rows))))
            names, ready = np.empty((size, len(rows)), dtype=np.uint64), self.ready(rows)
            for start in range(0, n_grids, size):
                part = {name: theta[name][start : start + size] for name in self.drawn}
                offsets = table.offsets[start : start + size + 1]
                own = names[: len(offsets) - 1]
                self.fill_names(part, ready, own)
                add_scores(own, table.names, offsets, values, out)
            return out

        return scores

    def scored_entries(self, n_draws: int) -> int:
        return _SCORED_ENTRIES

    def features(self, theta: Theta, rows: Matrix) -> Matrix:
        table = self.table(theta)
        found = self.bins(theta, rows).T
        seen = found >= 0
        counts = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
        columns = found[seen] if not seen.all() else found.reshape(-1)
        index = _index_type(max(counts[-1], len(table.names)))
        values = np.ones(len(columns), dtype=rows.dtype)
        shape = (len(rows), len(table.names))
        matrix = sparse.csr_array((values, columns.astype(index), counts.astype(index)), shape)
        matrix.has_sorted_indices = True
        return matrix

    def onnx(self, graph: Graph, draw: Draw, rows: str) -> str:
        """Dense zeros and ones; an error for many columns."""
        count = len(self.table(draw.theta).names)
        if count > _DENSE_COLUMNS:
            raise ValueError(
                f"Features of {type(self).__name__} with {count:,} columns cannot be exported: "
                f"ONNX has no sparse ones, and makes {_DENSE_COLUMNS:,} dense at most. "
                "Fit with fewer components, or export a KitchenSinkClassifier or "
                "KitchenSinkRegressor, whose files look bins up in a table."
            )
        found = self.onnx_bins(graph, draw, rows)
        n_rows = graph.node("Shape", rows, start=0, end=1)
        shape = graph.node("Concat", n_rows, np.array([count + 1]), axis=0)
        zeros = graph.node("Expand", np.zeros((), draw.dtype), shape)
        ones = graph.node("Expand", np.ones((), draw.dtype), graph.node("Shape", found))
        features = graph.node("ScatterElements", zeros, found, ones, axis=1)
        return graph.node("Slice", features, np.array([0]), np.array([count]), np.array([1]))

    def onnx_scores(self, graph: Graph, draw: Draw, rows: str, weights: AnyArray) -> str:
        """The sum of the weights of each row's bins; unseen bins count as zero."""
        unseen = np.zeros((1, weights.shape[1]), weights.dtype)
        own = graph.node("Gather", np.vstack([weights, unseen]), self.onnx_bins(graph, draw, rows))
        return graph.node("ReduceSum", own, np.array([1]), keepdims=0)

    def table(self, theta: Theta) -> "BinTable":
        if "table" not in theta:
            raise ValueError(
                f"This draw of {type(self).__name__} has no columns yet: they are the bins that "
                "training rows occupy. Call draw.tabulate(blocks_of_rows) first."
            )
        table: BinTable = theta["table"]
        return table

    def names(self, theta: Theta, n_draws: int) -> list[str]:
        return [
            f"{self.part}{g}_{name:016x}"
            for g, part in enumerate(self.table(theta).parts)
            for name in part
        ]


def _index_type(count: int) -> type[np.int32] | type[np.int64]:
    """The smallest integer type that can index `count` entries."""
    return np.int32 if count < 2**31 else np.int64


class BinTable:
    """The sorted bin names of each grid; slicing takes grids."""

    def __init__(self, parts: list[Names]) -> None:
        self.parts = parts
        self.names = np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)
        self.offsets = np.concatenate([[0], np.cumsum([len(p) for p in parts])]).astype(np.int64)

    def with_names(self, blocks: list[Names]) -> "BinTable":
        """These bins and those of blocks of names (grids, n)."""
        if not blocks:
            return self
        together = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
        found, counts = np.empty_like(together), np.empty(len(together), dtype=np.int64)
        number_names(together, found, counts, np.empty(together.shape, dtype=np.int32))
        new = [np.sort(own[:count]) for own, count in zip(found, counts, strict=True)]
        return BinTable(new).merge(self) if len(self.names) else BinTable(new)

    def merge(self, other: "BinTable") -> "BinTable":
        pairs = zip(self.parts, other.parts, strict=True)
        return BinTable([np.union1d(mine, theirs) for mine, theirs in pairs])

    def __getitem__(self, index: slice) -> "BinTable":
        return BinTable(self.parts[index])
