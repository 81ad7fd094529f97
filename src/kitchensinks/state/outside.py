"""Rows outside of the range of the fitted ones: how many, and in which columns."""

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchensinks.features.scaling import Scaler
from kitchensinks.tables.columns import Columns

# A prediction warns where at least this share of its rows is far outside in one and the same
# column: a few rows of any new sample are outside.
_TOLD = 0.05
# Fewer rows than this may be chance where the fit had few rows, unless they are all.
_FEW = 10
# Far outside is further from the range than this share of it.
_FAR = 0.1


class Outside(NamedTuple):
    """Which rows (n,) are outside of the fitted range, and how many of them in which columns.

    >>> Outside(np.array([True, False]), {"age": 1})
    Outside(rows=array([ True, False]), columns={'age': 1})
    """

    rows: NDArray[np.bool_]
    columns: dict[Any, int]

    @property
    def share(self) -> float:
        """The share of the rows that are outside."""
        return float(self.rows.mean()) if len(self.rows) else 0.0


class Watch:
    """Counts rows outside of the range of a scaler, block by block."""

    def __init__(self, scaler: Scaler | None, n_rows: int) -> None:
        self.scaler = scaler
        self.rows = np.zeros(n_rows, dtype=bool)
        self.counts = np.zeros(0 if scaler is None else len(scaler.low), dtype=np.int64)
        self.far = np.zeros_like(self.counts)
        self._lock = threading.Lock()

    def look(self, part: slice, rows: Any) -> None:
        """Look at a block of rows (n, d)."""
        if self.scaler is None:
            return
        outside = self.scaler.outside(rows)
        self.rows[part] = outside.any(axis=1)
        if not self.rows[part].any():
            return
        far = self.scaler.outside(rows, _FAR)
        with self._lock:
            self.counts += outside.sum(axis=0)
            self.far += far.sum(axis=0)

    @property
    def many(self) -> bool:
        """Whether so many rows are outside that it should be told."""
        most, count = int(self.far.max(initial=0)), len(self.rows)
        return most > 0 and most >= min(max(_FEW, _TOLD * count), count)

    def found(self, columns: Columns | None, names: Any) -> Outside:
        """By the columns that the rows came with: the names of a frame, or places."""
        if columns is not None:
            counts = [int(self.counts[own].max(initial=0)) for own in columns.groups]
            names = columns.inputs
            if columns.n_given:
                names = [int(name[1:]) for name in names]
        else:
            counts = self.counts.tolist()
            names = range(len(counts)) if names is None else names
        found = {name: count for name, count in zip(names, counts, strict=True) if count}
        return Outside(self.rows, dict(sorted(found.items(), key=lambda item: -item[1])))


def in_words(outside: Outside, trend: bool) -> str:
    """What a warning says of rows outside of the range; trend: a line goes on there."""
    first = list(outside.columns.items())[:3]
    named = ", ".join(f"{name!r} ({count} rows)" for name, count in first)
    more = len(outside.columns) - len(first)
    return (
        f"{outside.share:.0%} of {len(outside.rows)} rows are outside of the range of the fitted "
        f"rows, in {named}{f' and {more} more columns' if more else ''}. They are predicted as at "
        f"the edge of the range{', but for the trend of the law' if trend else ''}; "
        "model.outside(X) names them."
    )
