"""Fits on Dask, which is imported only where it is needed."""

import sys
from typing import Any

__all__ = ["is_dask", "is_dask_dummy"]


def is_dask(value: object) -> bool:
    """Whether this is a Dask array or DataFrame, found out without importing Dask.

    >>> is_dask([1.0, 2.0])
    False
    """
    kinds = {"Array", "DataFrame", "Series"}
    return hasattr(value, "__dask_graph__") and type(value).__name__ in kinds


def is_dask_dummy(rows: Any) -> bool:
    """Whether rows are the two that Dask makes up, to see what a function gives for a frame.

    >>> is_dask_dummy([[1.0], [1.0]])
    False
    """
    if "dask.dataframe" not in sys.modules or not hasattr(rows, "iloc") or len(rows) != 2:
        return False
    from dask.dataframe.dispatch import meta_nonempty

    # The index is made up too, and of some kinds (intervals) neither it nor a column can be.
    rows = rows.reset_index(drop=True)
    try:
        made = meta_nonempty(rows.iloc[:0])
    except (TypeError, ValueError, NotImplementedError):
        return False
    return bool(rows.equals(made))
