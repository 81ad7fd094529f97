"""Leaves of given trees."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kitchensinks.features.bases.base import Universal
from kitchensinks.features.bases.binned import Binned, BinTable, Names, Numbered
from kitchensinks.features.bases.draw import Draw, Graph, Scorer, Theta
from kitchensinks.numerics.arrays import AnyArray, Floats
from kitchensinks.numerics.bins import leaf_names
from kitchensinks.numerics.words import Words


@dataclass(eq=False, repr=False)
class Trees(Binned):
    """Which leaf of a tree holds x, as a 0/1 vector with a single one.

    A draw is one of the T trees given, uniform and without repetition: draws 0, …, T − 1 are every
    tree once in a random order, and so are the T draws after them. So

        k(x, z) = the share of the trees in which x and z are in the same leaf,

    which T draws meet exactly. The kernel is not stationary: a column may matter in one part of
    the space and not in another. ``ks.Learned()`` grows such trees where they are the better bins
    (law/candidates.py).

    Parameters
    ----------
    column : (trees, nodes) the column that a node compares; −1 for a leaf. Node 0 is the root.
    cut : (trees, nodes) rows of at most this entry go on to `below`, the others to `above`.
    below, above : (trees, nodes) numbers of the children, each larger than that of its parent.

    Examples
    --------
    >>> stump = [[0, -1, -1]], [[0.5, 0.0, 0.0]], [[1, 1, 2]], [[2, 1, 2]]
    >>> Trees(*stump).kernel([[0.0], [0.4], [1.0]])
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """

    column: AnyArray
    cut: AnyArray
    below: AnyArray
    above: AnyArray

    drawn = ("tree",)
    part = "tree"
    rescales = False
    universal = Universal(False, "The leaves of given trees are finitely many.")

    def check(self) -> None:
        column, cut, below, above = self.nodes()
        places = np.arange(column.shape[1])
        inner = column >= 0
        for name, child in (("below", below), ("above", above)):
            bad = inner & ((child <= places) | (child >= column.shape[1]))
            if bad.any():
                tree, node = (int(place) for place in np.argwhere(bad)[0])
                raise ValueError(
                    f"{name}: the child of node {node} of tree {tree} is {child[tree, node]}: need "
                    f"a number above its parent's and below {column.shape[1]}."
                )
        if not np.isfinite(cut).all():
            raise ValueError("cut holds entries that are not finite: need numbers.")

    def check_in(self, n_inputs: int) -> None:
        self.check()
        most = int(np.max(self.column))
        if most >= n_inputs:
            raise ValueError(
                f"A tree compares column {most}, and the rows have {n_inputs} columns: need trees "
                "that were grown on such rows."
            )

    def nodes(self) -> tuple[AnyArray, ...]:
        """column, cut, below and above as arrays of one shape."""
        column, below, above = (
            np.asarray(one, dtype=np.int32) for one in (self.column, self.below, self.above)
        )
        cut = np.asarray(self.cut, dtype=np.float64)
        shapes = {one.shape for one in (column, cut, below, above)}
        if len(shapes) > 1 or column.ndim != 2 or not column.size:
            raise ValueError(
                f"column, cut, below and above have shapes {sorted(shapes)}: need one shape "
                "(trees, nodes) for all."
            )
        return column, cut, below, above

    def block_size(self, n_inputs: int) -> int:
        return len(self.column)

    def whole(self, n_inputs: int) -> int:
        return len(self.column)

    def sample(self, words: Words, n_inputs: int) -> Theta:
        self.check_in(n_inputs)
        return {"tree": words.permutation(len(self.column))}

    def fill_names(self, theta: Theta, rows: AnyArray, names: Names) -> None:
        own, nodes = theta["tree"], self.nodes()
        if len(own) > len(self.column):
            # Some trees come again: rows go down each of them once.
            leaves = np.empty((len(self.column), len(rows)), dtype=names.dtype)
            leaf_names(rows, *nodes, leaves)
            np.take(leaves, own, axis=0, out=names, mode="clip")
            return
        if not np.array_equal(own, np.arange(len(self.column))):
            nodes = tuple(part[own] for part in nodes)
        leaf_names(rows, *nodes, names)

    def _numbered_parts(self, theta: Theta, rows: AnyArray) -> Iterator[Numbered]:
        """Rows go down each tree once, however often it was drawn."""
        trees, places = np.unique(theta["tree"], return_inverse=True)
        if len(trees) == len(places):
            yield from super()._numbered_parts(theta, rows)
            return
        each = [
            (own[:count].copy(), count, number.copy())
            for part in super()._numbered_parts({"tree": trees}, rows)
            for own, count, number in zip(*part, strict=True)
        ]
        found, counts, numbers = zip(*(each[place] for place in places), strict=True)
        yield found, np.array(counts), numbers

    def scorer(self, theta: Theta, weights: AnyArray) -> Scorer:
        """Draws of the same tree have the same leaves, so that their weights are added."""
        table = self.table(theta)
        trees, first, places = np.unique(theta["tree"], return_index=True, return_inverse=True)
        each = BinTable([table.parts[draw] for draw in first])
        merged = np.zeros((len(each.names), weights.shape[1]))
        for draw, place in enumerate(places):
            own = slice(*each.offsets[place : place + 2])
            merged[own] += weights[slice(*table.offsets[draw : draw + 2])]
        return super().scorer({"tree": trees, "table": each}, merged)

    def onnx_bins(self, graph: Graph, draw: Draw, rows: str) -> str:
        """All trees of a row go down by one level at a time; leaves lead to themselves."""
        table = self.table(draw.theta)
        column, cut, below, above = (part[draw.theta["tree"]] for part in self.nodes())
        n_trees, n_nodes = column.shape
        levels = _depth(column, below, above)
        first = n_nodes * np.arange(n_trees)[:, None]
        leaf = column < 0
        below, above = (
            (first + np.where(leaf, np.arange(n_nodes), child)).ravel().astype(np.int64)
            for child in (below, above)
        )
        flat = np.maximum(column, 0).ravel().astype(np.int64)
        rows = graph.cast(rows, np.float64)
        n_rows = graph.node("Shape", rows, start=0, end=1)
        shape = graph.node("Concat", n_rows, np.array([n_trees]), axis=0)
        node = graph.node("Expand", first.T.astype(np.int64), shape)
        for _ in range(levels):
            entry = graph.node("GatherElements", rows, graph.node("Gather", flat, node), axis=1)
            low = graph.node("LessOrEqual", entry, graph.node("Gather", cut.ravel(), node))
            children = (graph.node("Gather", child, node) for child in (below, above))
            node = graph.node("Where", low, *children)
        known = np.full((n_trees, n_nodes), len(table.names))
        for tree, (start, names) in enumerate(zip(table.offsets, table.parts, strict=False)):
            leaves = names[names < n_nodes].astype(np.intp)
            known[tree, leaves] = start + np.arange(len(leaves))
        return graph.node("Gather", known.ravel().astype(np.int64), node)

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        self.check_in(rows.shape[1])
        theta = {"tree": np.arange(len(self.column))}
        kernel = np.zeros((len(rows), len(others)))
        own, other = self.bin_names(theta, rows), self.bin_names(theta, others)
        for mine, theirs in zip(own, other, strict=True):
            kernel += mine[:, None] == theirs
        return kernel / len(own)


def _depth(column: AnyArray, below: AnyArray, above: AnyArray) -> int:
    """The most comparisons of any row."""
    level = np.zeros(column.shape, dtype=np.intp)
    trees = np.arange(len(column))
    for node in range(column.shape[1]):
        inner = trees[column[:, node] >= 0]
        for child in (below, above):
            level[inner, child[inner, node]] = level[inner, node] + 1
    return int(level.max())
