"""Random binning: indicators of the cells of random grids."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kitchensinks.features.bases.bandwidth import WithGamma
from kitchensinks.features.bases.draw import Arrays, Draw, Graph, Scorer, Theta
from kitchensinks.features.bases.pitch import check_pitch, pitch_kernel, sample_pitch
from kitchensinks.features.bases.universal import Universal
from kitchensinks.numerics.arrays import AnyArray, Floats, Matrix
from kitchensinks.numerics.bins import (
    CELL_LIMIT,
    ODD,
    add_scores,
    bin_hashes,
    find_columns,
    number_names,
)
from kitchensinks.numerics.distances import cityblock
from kitchensinks.numerics.words import Words
from kitchensinks.tables import block_slices

Names = NDArray[np.uint64]

# Hashes of bins that are collected before the distinct ones are found.
_WAITING_NAMES = 2**25
# Hashes that are numbered at a time, in memory that is used again.
_NUMBERED = 2**23
# Hashes that are looked up at a time.
_LOOKED_UP = 2**20
# Rows are scored grid by grid, so that the table of a grid is made for many of them.
_SCORED_ENTRIES = 64
_GRIDS = ("shift", "rate", "multiplier")
# Cells of a row, of as many grids and some columns, that an exported model names together.
_NAMED_CELLS = 2**12
# Columns of features that an exported transformer has at most: ONNX has no sparse ones.
_DENSE_COLUMNS = 2**14


class Binning(WithGamma):
    """Which bin of a random grid holds x, as a 0/1 vector with a single one.

    A grid has a pitch δ_j ~ Gamma(2, 1/γ) (density γ²δe^(−γδ)) and a shift u_j uniform on
    [0, δ_j] in each dimension (random bases, section V c). Two rows share a bin with
    probability

        k(x, z) = exp(−γ‖x − z‖₁),

    or, for another law p of γ·δ, with probability Π_j k(γ|x_j − z_j|) of

        k(r) = ∫ max(0, 1 − r/δ)·p(δ) dδ   (equations 14 and 15),

    so the features of one grid are one vector-valued draw, and `n_components` counts
    grids. A bin is named by a stable 64-bit hash; the columns are the bins that the rows of
    `fit` occupy, and a bin never seen there gives a zero.

    Parameters
    ----------
    gamma : a positive number, "median" (default): 1/median(‖x − z‖₁), which follows the scale
        of the rows, or "scale". It is
        the γ of the random-bases paper's Figure 1; its section V c has γ = 1. A list of numbers
        is a law of several scales: each grid takes one of them at random, and the kernel is the
        mean of theirs. A list of lists has a number for each column in place of each number.
    pitch : the law of the pitch, in units of 1/γ.

        - "gamma" (default): the kernel is Laplacian, as in the random-bases paper.
        - "hat": the pitch is 1/γ, and k(r) = max(0, 1 − r).
        - a list of positive numbers, each as likely: k is the mean of their hats. With quantiles
          of a law in the list, this is any law.
        - a function k(r) of an array, convex and falling from 1 to 0: the law is p(δ) = δ·k''(δ),
          whose kernel is k. Model files cannot hold a function; pickle can.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0], [0.1], [5.0]])
    >>> draw = Binning(gamma=1.0).draw(seed=0, n_inputs=1, n_components=4).tabulate([rows])
    >>> draw.features(rows).sum(axis=1)
    array([4., 4., 4.])
    >>> heavy = Binning(gamma=2.0, pitch=lambda r: 1 / (1 + r))
    >>> heavy.kernel([[0.0]], [[0.5]])
    array([[0.5]])
    """

    sparse = True
    binned = True
    keeps_float64 = True
    gamma_by_column = True
    _measure = "l1"
    _several = True

    def __init__(self, gamma: float | str | Sequence[Any] = "median", pitch: Any = "gamma") -> None:
        self.gamma = gamma
        self.pitch = pitch

    def check(self) -> None:
        super().check()
        check_pitch(self.pitch)

    @property
    def universal(self) -> Universal:
        return Universal(
            True,
            "The kernel is a mixture of products of hats, whose spectrum sinc² has all of R^d as "
            "its support, and features are bounded (Corollary III.9).",
        )

    @property
    def bound(self) -> float:
        return 1.0

    @property
    def metric(self) -> Literal["laplacian", "gaussian"]:
        return "laplacian"

    @property
    def open_bandwidth(self) -> bool:
        return self.unresolved() is not None and self._laplacian

    @property
    def _laplacian(self) -> bool:
        return isinstance(self.pitch, str) and self.pitch == "gamma"

    def block_size(self, n_inputs: int) -> int:
        return 16

    def sample(self, words: Words, n_inputs: int) -> Theta:
        shape = (self.block_size(n_inputs), n_inputs)
        gamma = self._pick_gamma(words, *shape)
        pitch = sample_pitch(self.pitch, words, *shape) / gamma
        shift = pitch * words.uniform(*shape)
        odd = words.raw(shape[0] * n_inputs).reshape(shape) | np.uint64(1)
        return {"shift": shift, "rate": 1.0 / pitch, "multiplier": odd}

    def bin_names(self, theta: Theta, rows: AnyArray) -> Names:
        """The hash of the bin of every row in every grid, shape (grids, n)."""
        names = np.empty((len(theta["shift"]), len(rows)), dtype=np.uint64)
        return self._fill_names(theta, rows, names)

    def _fill_names(self, theta: Theta, rows: AnyArray, names: Names) -> Names:
        bin_hashes(
            np.ascontiguousarray(rows), theta["shift"], theta["rate"], theta["multiplier"], names
        )
        return names

    def tabulate(self, theta: Theta, blocks: Iterable[Any]) -> Theta:
        """θ with the bins that the rows occupy added to those it has: a union, in any order."""
        n_grids = len(theta["shift"])
        table: BinTable = theta.get("table", BinTable([np.empty(0, dtype=np.uint64)] * n_grids))
        waiting: list[Names] = []
        for rows in blocks:
            waiting.append(self.bin_names(theta, rows))
            # One large table is cheaper than many small ones, while it fits into memory.
            if sum(names.size for names in waiting) > _WAITING_NAMES:
                table, waiting = table.with_names(waiting), []
        return {**theta, "table": table.with_names(waiting)}

    def numbered(self, theta: Theta, rows: AnyArray) -> Iterator[tuple[Names, AnyArray]]:
        """Grid by grid: the bins that the rows occupy, as they come, and each row's among them.

        Both are views of memory that the next grids are written to.
        """
        n_grids = len(theta["shift"])
        size = max(1, min(n_grids, _NUMBERED // max(1, len(rows))))
        names = np.empty((size, len(rows)), dtype=np.uint64)
        found, numbers = np.empty_like(names), np.empty(names.shape, dtype=np.int32)
        counts = np.empty(size, dtype=np.int64)
        for start in range(0, n_grids, size):
            part = {name: theta[name][start : start + size] for name in _GRIDS}
            here = slice(0, len(part["shift"]))
            self._fill_names(part, rows, names[here])
            number_names(names[here], found[here], counts[here], numbers[here])
            for own, count, number in zip(found[here], counts[here], numbers[here], strict=True):
                yield own[:count], number

    def tabulate_with_bins(self, theta: Theta, rows: AnyArray) -> tuple[Theta, AnyArray]:
        """`tabulate`, and `bins` of the same rows, with one hashing of them."""
        n_grids = len(theta["shift"])
        kind = _index_type(n_grids * len(rows))
        columns = np.empty((n_grids, len(rows)), dtype=kind)
        parts: list[Names] = []
        done = 0
        for g, (own, number) in enumerate(self.numbered(theta, rows)):
            order = np.argsort(own)
            place = np.empty(len(own), dtype=kind)
            place[order] = np.arange(done, done + len(own), dtype=kind)
            columns[g] = place[number]
            parts.append(own[order])
            done += len(own)
        return {**theta, "table": BinTable(parts)}, columns

    def pack(self, draw: Draw) -> Arrays:
        table = self._table(draw.theta)
        return {"names": table.names, "offsets": table.offsets}

    def unpack(self, draw: Draw, arrays: Arrays) -> Draw:
        names, edges = arrays["names"], itertools.pairwise(arrays["offsets"])
        table = BinTable([names[low:high] for low, high in edges])
        return replace(draw, theta={**draw.theta, "table": table})

    def merge(self, theta: Theta, other: Theta) -> Theta:
        return {**theta, "table": self._table(theta).merge(self._table(other))}

    def columns(self, theta: Theta, n_draws: int) -> NDArray[np.int64]:
        return np.diff(self._table(theta).offsets)

    def bins(self, theta: Theta, rows: AnyArray) -> AnyArray:
        """The column of each row in each grid, shape (grids, n); −1 for a bin never seen."""
        table = self._table(theta)
        names = self.bin_names(theta, rows)
        found = np.empty(names.shape, _index_type(len(table.names)))
        find_columns(names, table.names, table.offsets, found)
        return found

    def scorer(self, theta: Theta, weights: AnyArray) -> Scorer:
        table, values = self._table(theta), weights.astype(np.float64)

        def scores(rows: AnyArray) -> NDArray[np.float64]:
            out = np.zeros((len(rows), values.shape[1]))
            n_grids = len(theta["shift"])
            size = max(1, min(n_grids, _LOOKED_UP // max(1, len(rows))))
            for start in range(0, n_grids, size):
                part = {name: theta[name][start : start + size] for name in _GRIDS}
                offsets = table.offsets[start : start + size + 1]
                add_scores(self.bin_names(part, rows), table.names, offsets, values, out)
            return out

        return scores

    def scored_entries(self, n_draws: int) -> int:
        return _SCORED_ENTRIES

    def features(self, theta: Theta, rows: Matrix) -> Any:
        table = self._table(theta)
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
        """Dense zeros and ones, which are made for few columns alone."""
        count = len(self._table(draw.theta).names)
        if count > _DENSE_COLUMNS:
            raise ValueError(
                f"Features of Binning with {count:,} columns cannot be exported: ONNX has no "
                f"sparse ones, and {_DENSE_COLUMNS:,} columns are the most that are made dense. "
                "Fit with fewer components, or export a KitchenSinkClassifier or "
                "KitchenSinkRegressor, whose files look bins up in a table."
            )
        found = self._onnx_bins(graph, draw, rows)
        n_rows = graph.node("Shape", rows, start=0, end=1)
        shape = graph.node("Concat", n_rows, np.array([count + 1]), axis=0)
        zeros = graph.node("Expand", np.zeros((), draw.dtype), shape)
        ones = graph.node("Expand", np.ones((), draw.dtype), graph.node("Shape", found))
        features = graph.node("ScatterElements", zeros, found, ones, axis=1)
        return graph.node("Slice", features, np.array([0]), np.array([count]), np.array([1]))

    def onnx_scores(self, graph: Graph, draw: Draw, rows: str, weights: AnyArray) -> str:
        """The weights of each row's bins, summed; a bin never seen has none."""
        unseen = np.zeros((1, weights.shape[1]), weights.dtype)
        own = graph.node("Gather", np.vstack([weights, unseen]), self._onnx_bins(graph, draw, rows))
        return graph.node("ReduceSum", own, np.array([1]), keepdims=0)

    def _onnx_bins(self, graph: Graph, draw: Draw, rows: str) -> str:
        """`bins` as nodes, (n, grids), with the number of all columns for a bin never seen.

        Names are those of `bin_hashes`, made of a few columns at a time in whole numbers that wrap
        at 2⁶⁴. A number for each grid is added, so that one table holds the names of all grids.
        """
        theta, table = draw.theta, self._table(draw.theta)
        shift, rate, multiplier = (theta[name].T for name in _GRIDS)
        n_inputs, n_grids = shift.shape
        salt = ODD * np.arange(1, n_grids + 1, dtype=np.uint64) * multiplier[0]
        keys = table.names + np.repeat(salt, np.diff(table.offsets))
        if len(np.unique(keys)) < len(keys):
            raise ValueError(
                "Two bins of different grids have the same key, so that these grids cannot be "
                "exported: fit with another random_state."
            )
        rows = graph.node("Unsqueeze", graph.cast(rows, np.float64), np.array([2]))
        names: Any = salt.view(np.int64)
        for part in block_slices(n_inputs, max(1, _NAMED_CELLS // n_grids)):
            own = graph.node("Gather", rows, np.arange(part.start, part.stop), axis=1)
            cell = graph.node("Mul", graph.node("Sub", own, shift[part]), rate[part])
            cell = graph.node("Clip", graph.node("Floor", cell), -CELL_LIMIT, CELL_LIMIT)
            spread = graph.node("Mul", graph.cast(cell, np.int64), ODD.view(np.int64))
            spread = graph.cast(spread, np.uint64)
            half = graph.node("BitShift", spread, np.uint64(32), direction="RIGHT")
            mixed = graph.cast(graph.node("BitwiseXor", spread, half), np.int64)
            terms = graph.node("Mul", mixed, multiplier[part].view(np.int64))
            # A product with ones, because the sums of ReduceSum are rounded to float64.
            ones = np.ones((1, part.stop - part.start), np.int64)
            names = graph.node("Add", names, graph.node("MatMul", ones, terms))
        names = graph.node("Squeeze", names, np.array([1]))
        return graph.look_up(names, keys.view(np.int64))

    def _table(self, theta: Theta) -> "BinTable":
        if "table" not in theta:
            raise ValueError(
                "This draw of Binning has no columns yet: they are the bins that training rows "
                "occupy. Call draw.tabulate(blocks_of_rows) first."
            )
        table: BinTable = theta["table"]
        return table

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            if not self._laplacian:
                return self._mean_kernel(
                    lambda gamma: self._product(gamma * rows, gamma * others), rows.shape[1]
                )
            return self._mean_kernel(
                lambda gamma: np.exp(-cityblock(gamma * rows, gamma * others)), rows.shape[1]
            )

    def _product(self, rows: Floats, others: Floats) -> Floats:
        """Π_j k(|x_j − z_j|), a column at a time."""
        product = np.ones((len(rows), len(others)))
        for own, other in zip(rows.T, others.T, strict=True):
            product *= pitch_kernel(self.pitch, np.abs(own[:, None] - other))
        return product

    def describe(self, place: str, arrays: Arrays) -> dict[str, Any]:
        if callable(self.pitch):
            raise ValueError(
                f"pitch={self.pitch!r} is a function, which cannot be stored safely: give a list "
                "of pitches (quantiles of their law), or use pickle."
            )
        return super().describe(place, arrays)

    def names(self, theta: Theta, n_draws: int) -> list[str]:
        return [
            f"grid{g}_{name:016x}"
            for g, part in enumerate(self._table(theta).parts)
            for name in part
        ]


def _index_type(count: int) -> type[np.int32] | type[np.int64]:
    """The smallest integers that can number so many entries."""
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
        """The bins of either."""
        pairs = zip(self.parts, other.parts, strict=True)
        return BinTable([np.union1d(mine, theirs) for mine, theirs in pairs])

    def __getitem__(self, index: slice) -> "BinTable":
        return BinTable(self.parts[index])
