"""Fits on Dask, which is imported only where it is needed."""

__all__ = ["is_dask"]


def is_dask(value: object) -> bool:
    """Whether this is a Dask array or DataFrame, found out without importing Dask.

    >>> is_dask([1.0, 2.0])
    False
    """
    kinds = {"Array", "DataFrame", "Series"}
    return hasattr(value, "__dask_graph__") and type(value).__name__ in kinds
