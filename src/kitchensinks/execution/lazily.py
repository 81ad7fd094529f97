"""Predictions and features of Dask collections, which compute nothing until they are asked to."""

from typing import Any

import numpy as np

from kitchensinks.execution.cluster import delayed
from kitchensinks.execution.partitions import naming, whole_rows


def lazily(worker: Any, method: str, X: Any, n_columns: int | None, dtype: Any) -> Any:
    """The Dask array of `worker.method(rows)` over all partitions of X.

    `worker` is a small fitted object, sent once to each process. n_columns None: one number a row.
    """
    rows = whole_rows(X)
    if hasattr(rows, "columns"):
        rows = rows.to_dask_array()
    settled: dict[str, Any] = {"dtype": dtype}
    if n_columns is None:
        settled |= {"drop_axis": 1, "meta": np.empty(0, dtype=dtype)}
    else:
        settled |= {
            "chunks": (rows.chunks[0], (n_columns,)),
            "meta": np.empty((0, n_columns), dtype=dtype),
        }
    return rows.map_blocks(
        _apply, worker=delayed(worker), method=method, n_columns=n_columns, kind=dtype, **settled
    )


def _apply(
    rows: Any,
    worker: Any,
    method: str,
    n_columns: int | None,
    kind: Any,
    block_id: tuple[int, ...] = (0,),
) -> Any:
    if rows.shape[0] == 0:
        return np.empty(0 if n_columns is None else (0, n_columns), dtype=kind)
    with naming(block_id[0]):
        return np.asarray(getattr(worker, method)(rows), dtype=kind)
