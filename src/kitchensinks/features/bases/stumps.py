"""Random decision stumps."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from kitchensinks.features.bases.base import Basis, Universal
from kitchensinks.features.bases.draw import Draw, Graph, Products, Scorer, Theta
from kitchensinks.numerics.arrays import AnyArray, Floats, Ints, Matrix
from kitchensinks.numerics.checks import check_choice, check_positive
from kitchensinks.numerics.distances import cityblock
from kitchensinks.numerics.signs import (
    interval_sums,
    look_up,
    look_up_plain,
    stump_products,
    stump_signs,
)
from kitchensinks.numerics.words import Words

# Below this many rows plain NumPy is faster than starting threads.
_FEW_ROWS = 4
# Quantiles that represent the distribution of a column.
LEVELS = 1024


class _Sorted(NamedTuple):
    """Stumps in the order of their columns and thresholds.

    order (K,) sorts them; columns are those in use, each with its sorted thresholds
    offsets[c]:offsets[c + 1] and its intervals, one more, from starts[c] on. place (K,) is the
    number of a stump's column among them, intervals (K,) the interval that begins at it.
    """

    order: Ints
    columns: Ints
    offsets: Ints
    thresholds: AnyArray
    place: Ints

    @classmethod
    def of(cls, theta: Theta) -> "_Sorted":
        order = np.lexsort((theta["threshold"], theta["column"]))
        columns, place, counts = np.unique(
            theta["column"][order], return_inverse=True, return_counts=True
        )
        offsets = np.concatenate([[0], np.cumsum(counts)])
        return cls(order, columns, offsets, theta["threshold"][order], place)

    @property
    def n_intervals(self) -> int:
        return len(self.order) + len(self.columns)

    @property
    def starts(self) -> Ints:
        return np.asarray(self.offsets[:-1] + np.arange(len(self.columns)))

    @property
    def intervals(self) -> Ints:
        return np.asarray(np.arange(len(self.order)) + self.place + 1)

    def add(self, rows: Matrix, targets: AnyArray, counts: AnyArray, sums: AnyArray) -> None:
        """Add rows and their targets to the intervals that they lie in."""
        interval_sums(rows, self.columns, self.offsets, self.thresholds, targets, counts, sums)

    def from_threshold(self, sums: Any) -> Any:
        """Sums over the intervals of the column from each stump's threshold on, sorted."""
        total = np.cumsum(sums, axis=0)
        ends = self.offsets[1:] + np.arange(len(self.columns))
        return total[ends][self.place] - total[self.intervals - 1]


@dataclass(eq=False, repr=False)
class Stumps(Basis):
    """sgn(x_i − t), with sgn(0) = +1: does column i reach the threshold t?

    i is uniform over the columns (kitchen sinks, section 4; random bases, section V b).
    With F the distribution function of the threshold,

        k(x, z) = 1 − (2/d)·Σ_i |F(x_i) − F(z_i)|,

    for thresholds uniform on [−a, a] therefore 1 − ‖x − z‖₁/(a·d) inside the cube, with
    coordinates clipped to it outside (the paper prints 1 − ‖x − z‖₁/a).

    Parameters
    ----------
    threshold : "normal" (the default, standard normal: the papers' choice for standardised
        columns), "uniform" on [−a, a], or "quantile": drawn from the column's own values. A table
        of equally likely thresholds, shape (d, levels) and sorted along each row, is what
        "quantile" is resolved into.
    a : half-width of the uniform law; 3.0 holds most rows of standardised columns.

    Examples
    --------
    >>> float(Stumps("uniform", a=1.0).kernel([[0.0, 0.5]], [[0.2, 0.5]])[0, 0])
    0.9
    """

    threshold: Any = "normal"
    a: float = 3.0

    # Thresholds are quantiles, which follow any scale, or have the fixed law of the papers.
    rescales = False
    fast_products = True
    bound = 1.0
    universal = Universal(
        False,
        "Sums of stumps are additive, g_1(x_1) + … + g_d(x_d): with two columns or more no "
        "number of them has an interaction. In one column they are universal.",
    )

    def check(self) -> None:
        if isinstance(self.threshold, str) or not hasattr(self.threshold, "shape"):
            check_choice("threshold", self.threshold, ("normal", "uniform", "quantile"))
        elif np.ndim(self.threshold) != 2 or np.size(self.threshold) == 0:
            raise ValueError(
                f"threshold of shape {np.shape(self.threshold)}: need 'normal', 'uniform', "
                "'quantile' or a table of shape (columns, levels)."
            )
        elif not (np.isfinite(self.threshold).all() and (np.diff(self.threshold) >= 0).all()):
            raise ValueError(
                "threshold is a table that holds NaN or infinity, or is not sorted: need finite "
                "numbers in rising order along each row. Use np.sort(table, axis=1)."
            )
        if isinstance(self.threshold, str) and self.threshold == "uniform":
            check_positive("a", self.a)

    def check_in(self, n_inputs: int) -> None:
        self.check()
        table = self.threshold
        if not isinstance(table, str) and np.shape(table)[0] != n_inputs:
            raise ValueError(f"threshold of shape {np.shape(table)} for {n_inputs} inputs")

    def unresolved(self) -> str | None:
        named = isinstance(self.threshold, str) and self.threshold == "quantile"
        return "threshold='quantile'" if named else None

    def learn_parameters(self, rows: Floats, weights: Floats | None) -> dict[str, Any]:
        levels = (np.arange(LEVELS) + 0.5) / LEVELS
        # With weights NumPy sorts once; without them many levels take ten times as long.
        own = np.ones(len(rows)) if weights is None else weights
        table = np.quantile(rows, levels, axis=0, weights=own, method="inverted_cdf")
        return {"threshold": np.ascontiguousarray(table.T)}

    def sample(self, words: Words, n_inputs: int) -> Theta:
        count = self.block_size(n_inputs)
        column = words.integers(n_inputs, count)
        if isinstance(self.threshold, str):
            if self.threshold == "normal":
                threshold = words.normal(count)
            else:
                threshold = self.a * (2.0 * words.uniform(count) - 1.0)
        else:
            table = self._table(n_inputs)
            threshold = table[column, words.integers(table.shape[1], count)]
        return {"column": column, "threshold": threshold}

    def _table(self, n_inputs: int) -> Floats:
        table = np.asarray(self.threshold, dtype=np.float64)
        if len(table) != n_inputs:
            raise ValueError(
                f"threshold has {len(table)} rows and the data {n_inputs} columns: "
                "the table of thresholds needs one row for each column."
            )
        return table

    def features(self, theta: Theta, rows: Matrix) -> AnyArray:
        features = np.empty((len(rows), len(theta["column"])), dtype=rows.dtype)
        stump_signs(rows, theta["column"], theta["threshold"], features)
        return features

    def groups(self, theta: Theta, blocks: Iterable[Matrix]) -> Ints:
        """Stumps of one column are equal functions where no value lies between their thresholds."""
        table = _Sorted.of(theta)
        counts = np.zeros(table.n_intervals, dtype=np.int64)
        for rows in blocks:
            table.add(rows, np.empty((len(rows), 0)), counts, np.empty((len(counts), 0)))
        new_column = np.diff(table.place, prepend=-1) != 0
        labels = np.cumsum(new_column | (counts[table.intervals - 1] > 0)) + 1
        # Stumps that all rows reach, or none: constants, whatever their column.
        reached = table.from_threshold(counts)
        labels[reached == counts.sum() // len(table.columns)] = 0
        labels[reached == 0] = 1
        groups = np.empty_like(labels)
        groups[table.order] = labels
        return groups

    def products(self, theta: Theta, rows: Matrix, targets: Floats) -> Products:
        """By counting bits, and by sums over the intervals between thresholds."""
        table = _Sorted.of(theta)
        counts = np.zeros(table.n_intervals, dtype=np.int64)
        sums = np.zeros((table.n_intervals, targets.shape[1]))
        table.add(rows, targets, counts, sums)
        both = np.column_stack([counts, sums])
        unsorted = np.empty((len(table.order), both.shape[1]))
        total = np.concatenate([[len(rows)], targets.sum(axis=0)])
        unsorted[table.order] = 2.0 * table.from_threshold(both) - total
        gram = stump_products(rows, theta["column"], theta["threshold"])
        return Products(gram, unsorted[:, 0], unsorted[:, 1:])

    def scorer(self, theta: Theta, weights: Floats) -> Scorer:
        """By a table for each column: the score of every interval between its thresholds."""
        table = _Sorted.of(theta)
        steps = np.zeros((table.n_intervals, weights.shape[1]))
        steps[table.intervals] = 2.0 * weights[table.order]
        tables = np.cumsum(steps, axis=0)
        # Every column starts at minus the sum of its weights, not where the one before it ended.
        ends = table.starts + np.diff(table.offsets)
        middle = 0.5 * (tables[table.starts] + tables[ends])
        tables -= np.repeat(middle, ends - table.starts + 1, axis=0)

        def scores(rows: Matrix) -> Floats:
            out = np.zeros((len(rows), weights.shape[1]))
            look = look_up_plain if len(rows) < _FEW_ROWS else look_up
            look(rows, table.columns, table.offsets, table.thresholds, tables, out)
            return out

        return scores

    def onnx(self, graph: Graph, draw: Draw, rows: str) -> str:
        values = graph.node("Gather", rows, draw.theta["column"].astype(np.int64), axis=1)
        reached = graph.node("GreaterOrEqual", values, draw.theta["threshold"])
        one = np.ones((), draw.dtype)
        return graph.node("Where", reached, one, -one)

    def distribution(self, rows: Floats) -> Floats:
        """F(x_i), the chance that a threshold of column i is at most x_i, for every entry."""
        if isinstance(self.threshold, str):
            if self.threshold == "normal":
                return np.asarray(ndtr(rows))
            return np.asarray(np.clip((rows / self.a + 1.0) / 2.0, 0.0, 1.0))
        table = self._table(rows.shape[1])
        below = [np.searchsorted(table[j], rows[:, j], side="right") for j in range(len(table))]
        return np.asarray(np.stack(below, axis=1) / table.shape[1])

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        distance = cityblock(self.distribution(rows), self.distribution(others))
        return np.asarray(1.0 - (2.0 / rows.shape[1]) * distance)
