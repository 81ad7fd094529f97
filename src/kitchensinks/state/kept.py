"""Rows that are kept for those that follow: bins and two stages leave no sums that rows add to.

The rows are the smallest exact summary of bins: a row has products of every pair of G grids, and d
numbers. So a fit with a learned law that leaves no sums keeps its rows, up to a limit, and more
rows are fitted together with them under the same law. A stream whose law is to be learned keeps its
rows too, and its law is learned again when there are half as many more.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kitchensinks.fitting.settings import Verbose
from kitchensinks.law import Law
from kitchensinks.problem.losses import Loss
from kitchensinks.problem.targets import Batch, Targets
from kitchensinks.tables import densify
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.view import Rows

# The most entries of rows that are kept: 128 MB in float64.
KEPT_ENTRIES = 2**24
# A law is learned anew when a stream has this many times the rows that it was learned from: all
# laws of a stream that is asked after every batch take three times as long as the last of them.
_GROWTH = 1.5
# Rows of the first law of a stream; with fewer, it is learned anew whenever it is asked for.
_FIRST = 600


class Kept(NamedTuple):
    """Rows of a fit, with encoded targets, as they came.

    looked: so many of the first rows of a stream have learned the law; None where it is settled.
    """

    batch: Batch
    looked: int | None = None


def is_kept(batch: Batch) -> bool:
    """Whether rows are few enough to be kept.

    >>> is_kept(Batch(np.zeros((3, 2)), np.zeros((3, 1))))
    True
    """
    rows = batch.rows
    size = 2 * rows.nnz if sparse.issparse(rows) else rows.shape[0] * rows.shape[1]
    return bool(size <= KEPT_ENTRIES)


def own_copy(batch: Batch) -> Batch:
    """The rows in memory of our own, where they are kept; else as they are."""
    if not is_kept(batch):
        return batch
    rows = batch.rows[:] if isinstance(batch.rows, Rows) else batch.rows.copy()
    weights = None if batch.weights is None else batch.weights.copy()
    return Batch(rows, batch.targets.copy(), weights)


def learned_from(n_rows: int) -> int:
    """How many of the first rows of a stream its law is learned from.

    >>> [learned_from(count) for count in (50, 600, 899, 900, 2000)]
    [50, 600, 600, 900, 1350]
    """
    if n_rows < _FIRST:
        return n_rows
    count = _FIRST
    while int(_GROWTH * count) <= n_rows:
        count = int(_GROWTH * count)
    return count


@dataclass(frozen=True, eq=False)
class Waiting:
    """Rows that are fitted together when the model is asked for something.

    columns, targets, loss: as the first rows have settled them; law, looked: the last law that was
    found, and of how many rows (None: it is that of a fit, and stays); verbose: as the last batch
    was given it.
    """

    columns: Columns | None
    targets: Targets
    loss: Loss
    batch: Batch
    law: Law | None = None
    looked: int | None = 0
    verbose: Verbose = False

    @property
    def settled(self) -> bool:
        """Whether the law is the one to be fitted."""
        if self.law is None or self.looked is None:
            return self.law is not None
        return self.looked == learned_from(len(self.batch.targets))

    def numbers(self, rows: Any) -> Any:
        """Checked rows of arrays, in which NaN is a missing value.

        By the recipe where the first rows had missing values; else as the mean of the column.
        """
        if self.columns is not None and self.columns.n_given:
            return self.columns.of_rows(densify(rows))
        values = rows.data if sparse.issparse(rows) else rows
        if not (values.size and np.isnan(values.min())):
            return rows
        rows = densify(rows)
        return np.where(np.isnan(rows), np.asarray(self.batch.rows.mean(axis=0)), rows)
