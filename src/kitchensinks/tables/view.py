"""Rows of a table as an array that is never whole in memory, and its target column."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from kitchensinks.numerics.arrays import AnyArray, Part
from kitchensinks.tables.arrays import FROM_0
from kitchensinks.tables.arrow import ArrowTable, pa
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.kinds import PLAIN, family
from kitchensinks.tables.means import Folds
from kitchensinks.tables.table import Table
from kitchensinks.tables.unread import Unread

# Squares of entries must be finite, as `check_size` requires of arrays. A NumPy number, so that
# float32 blocks are compared in float64.
LARGEST = np.sqrt(np.finfo(np.float64).max)


class Rows:
    """An array (n, d) of the numbers that `columns` makes of `table`, read when it is sliced.

    Consecutive slices are read in one stream; a slice further back starts a new one. At most one
    batch is in memory. `folded`: a recipe for each fold of the fitted rows (see
    `kitchensinks.tables.means`); None where the recipe does not depend on the targets. Words in
    columns of numbers or dates count as missing; the first pass over all rows tells of them.

    >>> import pyarrow
    >>> from kitchensinks.tables.table import open_table
    >>> table = open_table(pyarrow.table({"a": [1.0, 2.0, 3.0], "b": [4, 5, 6]}))
    >>> rows = Rows(table, Columns.learn(table))
    >>> rows.shape, rows[1:], rows[np.array([2, 0])]
    ((3, 2), array([[2., 5.],
           [3., 6.]]), array([[3., 6.],
           [1., 4.]]))
    """

    ndim = 2

    def __init__(self, table: Table, columns: Columns, folded: Folds | None = None) -> None:
        columns.check(table)
        self.table, self.columns, self.folded = table, columns, folded
        self.shape = (table.n_rows, columns.width)
        self.dtype = columns.dtype
        self.unscaled = columns.unscaled
        self._stream: Iterator[tuple[int, ArrowTable]] = iter(())
        self._first, self._block = 0, np.empty((0, self.shape[1]), self.dtype)
        # What a pass from the first row on has not read; None for other passes.
        self._unread: Unread | None = None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Part) -> AnyArray:
        if isinstance(key, slice):
            places = range(self.shape[0])[key]
            if places.step == 1:
                return self._between(places.start, max(places.start, places.stop))
            return self._pick(np.asarray(places, dtype=np.int64))
        chosen = np.asarray(key)
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)
        if chosen.ndim != 1 or (chosen.dtype.kind not in "iu" and chosen.size):
            raise TypeError(f"rows[{key!r}]: need a slice, row numbers or booleans.")
        if chosen.size and (chosen.min() < 0 or chosen.max() >= self.shape[0]):
            raise IndexError(f"rows {chosen.min()} to {chosen.max()} of {self.shape[0]}.")
        return self._pick(chosen.astype(np.int64))

    def __array__(self, dtype: Any = None, copy: Any = None) -> AnyArray:
        return self[:].astype(dtype or self.dtype, copy=False)

    def fingerprint(self) -> dict[str, str]:
        """Named facts that change when the numbers do."""
        return {**self.table.fingerprint(), "recipe": self.columns.fingerprint()}

    def _between(self, start: int, stop: int) -> AnyArray:
        out = np.empty((stop - start, self.shape[1]), dtype=self.dtype)
        done = start
        while done < stop:
            self._move_to(done)
            taken = self._block[done - self._first : stop - self._first]
            out[done - start : done - start + len(taken)] = taken
            done += len(taken)
        return out

    def _move_to(self, row: int) -> None:
        """Make the current block the one that contains this row."""
        end = self._first + len(self._block)
        if self._first <= row < end:
            return
        found = next(self._stream, None) if row == end else None
        if found is None:
            self._stream = self._from(row)
            self._unread = None if row else Unread()
            found = next(self._stream)
        self._first, batch = found
        places = self._first + np.arange(batch.num_rows)
        self._block = self._numbers(batch, places, self._unread or Unread())
        if self._unread is not None and self._first + batch.num_rows == self.shape[0]:
            self.table.told = self._unread.tell(self.table.told)

    def _from(self, start: int) -> Iterator[tuple[int, ArrowTable]]:
        """Batches from a row on, each with the index of its first row."""
        for batch in self.table.batches(self.columns.inputs, start):
            yield start, batch
            start += batch.num_rows

    def _pick(self, places: AnyArray) -> AnyArray:
        """Rows by index, in any order; they are read in the order of the table."""
        order = np.argsort(places, kind="stable")
        out = np.empty((len(places), self.shape[1]), dtype=self.dtype)
        done = 0
        for batch in self.table.picked(self.columns.inputs, places[order]):
            own = order[done : done + batch.num_rows]
            out[own] = self._numbers(batch, places[own], Unread())
            done += len(own)
        return out

    def _numbers(self, batch: ArrowTable, places: AnyArray, unread: Unread) -> AnyArray:
        """A batch of the table as numbers; places: its rows; unread: counts what is not read."""
        if self.folded is None or not self.folded.recipes:
            block = self.columns._apply(batch, unread)
        else:
            block = np.empty((batch.num_rows, self.shape[1]), dtype=self.dtype)
            fold = self.folded.own[places]
            for number, columns in enumerate(self.folded.recipes):
                own = np.flatnonzero(fold == number)
                block[own] = columns._apply(batch.take(own), unread)
        largest = max(block.max(initial=0.0), -block.min(initial=0.0))
        if not largest < LARGEST:
            row, column = np.argwhere(~(np.abs(block) < LARGEST))[0]
            raise ValueError(
                f"{self.table.label}: column {self.columns.outputs[column]!r} has "
                f"{block[row, column]} in row {places[row]} ({FROM_0}): need finite numbers "
                f"below {LARGEST:.0e}. Replace it, or leave it empty to have it filled in."
            )
        return block


def targets(table: Table, name: str) -> AnyArray:
    """One column as an array (n,): numbers as they are, anything else as trimmed text.

    >>> import pyarrow
    >>> from kitchensinks.tables.table import open_table
    >>> targets(open_table(pyarrow.table({"y": ["no", "yes", "no"]})), "y")
    array(['no', 'yes', 'no'], dtype='<U3')
    """
    values, weights = known_targets(table, name)
    if weights is not None:
        raise ValueError(
            f"{table.label}: column {name!r} is missing in {np.sum(weights == 0)} rows, first in "
            f"row {np.argmin(weights)} ({FROM_0}). Drop them, or give them no weight "
            "(known_targets)."
        )
    return values


def known_targets(table: Table, name: str) -> tuple[AnyArray, AnyArray | None]:
    """As `targets`, with weights: 0 where the target is missing; None if no target is missing.

    A missing target is replaced by the value of another row.

    >>> import pyarrow
    >>> from kitchensinks.tables.table import open_table
    >>> known_targets(open_table(pyarrow.table({"y": [None, 2.5]})), "y")
    (array([2.5, 2.5]), array([0., 1.]))
    """
    column = pa.chunked_array([batch.column(0) for batch in table.batches([name])])
    kind = column.type.value_type if family(column.type) == "category" else column.type
    if family(kind) == "other":
        raise ValueError(
            f"{table.label}: the target {name!r} holds {kind}; need numbers, text, dates or "
            "booleans. Convert it first, or name another column."
        )
    if family(column.type) == "category":
        column = column.cast(column.type.value_type)
    if family(column.type) == "decimal":
        column = column.cast(pa.float64())
    if family(column.type) == "float":
        column = pa.compute.if_else(pa.compute.is_nan(column), pa.scalar(None, column.type), column)
    weights = None
    if column.null_count:
        if column.null_count == len(column):
            raise ValueError(f"{table.label}: the target {name!r} is missing in every row.")
        weights = column.is_valid().to_numpy(zero_copy_only=False).astype(np.float64)
        column = column.fill_null(next(value for value in column if value.is_valid))
    if family(column.type) in PLAIN:
        return np.asarray(column.to_numpy()), weights
    trimmed = pa.compute.utf8_trim_whitespace(column.cast(pa.large_string()))
    coded = trimmed.dictionary_encode().combine_chunks()
    words = np.array(coded.dictionary.to_pylist(), dtype=str)
    return words[coded.indices.to_numpy()], weights


# What estimators take as X: arrays, lists, frames and Dask collections (all of which NumPy can make
# an array of), sparse matrices, tables and their rows.
Given = ArrayLike | sparse.sparray | sparse.spmatrix | Table | Rows
