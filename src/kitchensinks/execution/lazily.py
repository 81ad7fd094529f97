"""Answers for Dask collections, which compute nothing until they are asked to."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from dask import delayed
from numpy.typing import DTypeLike

from kitchensinks.execution.partitions import (
    Schema,
    checked_rows,
    in_partition,
    whole_rows,
    without_numbers,
)
from kitchensinks.features.frozen import Frozen
from kitchensinks.numerics.arrays import AnyArray, Matrix
from kitchensinks.state import Model, State
from kitchensinks.tables.view import Given

Answer = Callable[[Any], AnyArray]


def answer_collection(state: State, method: str, X: Given) -> Any:
    """The lazy Dask array of what a method of a fitted model gives for the rows of X."""
    check_numbers(state, method, X)
    shown = state.answer(method, np.zeros((1, state.targets.n_outputs)))
    return _lazily(X, partial(_answered, state, method), shown)


def check_numbers(state: State, method: str, X: Given) -> None:
    """An error where the model, or the collection that it is asked about, is not of numbers."""
    if state.columns is not None and not state.columns.n_given:
        shown = state.answer(method, np.zeros((1, state.targets.n_outputs)))
        meta = f"numpy.empty({(0, *shown.shape[1:])}, {str(shown.dtype)!r})"
        raise ValueError(
            "This model was fitted to a table, or to a frame with other columns than numbers, and "
            "such a model does not answer Dask collections as a whole. Ask it partition by "
            f"partition, which is lazy too: X.map_partitions(model.{method}, meta={meta})."
        )
    if bad := without_numbers(X):
        raise ValueError(
            f"The columns {', '.join(bad)} hold no numbers, and the model was fitted to numbers: "
            "give the columns of the fit, as numbers."
        )


def _answered(state: State, method: str, rows: Matrix) -> AnyArray:
    """What a method gives for the rows of a partition, in which NaN is a missing value."""
    return state.answer_rows(method, state.numbers(rows))


def score_rows(model: Model, X: Given) -> Any:
    """The lazy Dask array of the scores of all rows, (n, outputs), in the dtype of the features."""
    dtype = model.frozen.dtype
    return _lazily(X, model.scores, np.zeros((1, len(model.intercept)), dtype), dtype)


def feature_rows(frozen: Frozen, X: Given, dtype: DTypeLike | None = None) -> Any:
    """The lazy Dask array of the features of all rows, in the dtype given or in that of X.

    Each worker makes the draw from its seed.
    """
    dtype = np.dtype(Schema.of(X).dtype if dtype is None else dtype)
    features = replace(frozen, dtype=dtype).features
    return _lazily(X, features, np.zeros((1, frozen.n_columns), dtype), dtype)


def _lazily(X: object, answer: Answer, shown: AnyArray, dtype: object = None) -> Any:
    """The Dask array of answer(rows) over all partitions of X; shown: such an answer of one row.

    The function is sent once to each process; dtype: that of the rows, or None for their own,
    among which may be NaN.
    """
    rows = whole_rows(X)
    Schema.of(rows)
    if hasattr(rows, "columns"):
        rows = rows.to_dask_array()
    shape: dict[str, Any] = {"drop_axis": 1}
    if shown.ndim == 2:
        shape = {"chunks": (rows.chunks[0], (shown.shape[1],))}
    nothing = shown[:0]
    given = {"answer": delayed(answer), "nothing": nothing, "rows_dtype": dtype}
    return rows.map_blocks(_apply, **given, dtype=shown.dtype, meta=nothing, **shape)


def _apply(
    rows: Any,
    answer: Answer,
    nothing: AnyArray,
    rows_dtype: Any,
    block_id: tuple[int, ...] = (0,),
) -> AnyArray:
    if rows.shape[0] == 0:
        return nothing
    with in_partition(block_id[0]):
        found = answer(checked_rows(rows, rows_dtype, missing=rows_dtype is None))
        return np.asarray(found).astype(nothing.dtype, copy=False)
