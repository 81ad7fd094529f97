"""Answers for Dask collections, which compute nothing until they are asked to."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from dask import delayed
from numpy.typing import NDArray

from kitchensinks.execution.partitions import Schema, checked_rows, naming, whole_rows
from kitchensinks.features.frozen import Frozen
from kitchensinks.state import Model, State

Answer = Callable[[Any], NDArray[Any]]


def answer_collection(state: State, method: str, X: Any) -> Any:
    """The lazy Dask array of what a method of a fitted model gives for the rows of X."""
    shown = state.answer(method, np.zeros((1, state.targets.n_outputs)))
    return _lazily(X, partial(_answers, state, method), shown)


def score_rows(model: Model, X: Any) -> Any:
    """The lazy Dask array of the scores of all rows, (n, outputs), in the dtype of the features."""
    shown = np.zeros((1, len(model.intercept)), dtype=model.frozen.dtype)
    return _lazily(X, partial(_scores, model), shown)


def feature_rows(frozen: Frozen, X: Any, dtype: Any = None) -> Any:
    """The lazy Dask array of the features of all rows, in the dtype given or in that of X.

    Each worker makes the draw from its seed.
    """
    frozen = replace(frozen, dtype=np.dtype(Schema.of(X).dtype if dtype is None else dtype))
    shown = np.zeros((1, frozen.n_columns), dtype=frozen.dtype)
    return _lazily(X, partial(_features, frozen), shown)


def _lazily(X: Any, answer: Answer, shown: NDArray[Any]) -> Any:
    """The Dask array of answer(rows) over all partitions of X; shown: such an answer of one row.

    The function is sent once to each process.
    """
    rows = whole_rows(X)
    Schema.of(rows)
    if hasattr(rows, "columns"):
        rows = rows.to_dask_array()
    shape: dict[str, Any] = {"drop_axis": 1}
    if shown.ndim == 2:
        shape = {"chunks": (rows.chunks[0], (shown.shape[1],))}
    nothing = shown[:0]
    return rows.map_blocks(
        _apply, answer=delayed(answer), nothing=nothing, dtype=shown.dtype, meta=nothing, **shape
    )


# -- what runs on the workers ------------------------------------------------------------


def _apply(
    rows: Any, answer: Answer, nothing: NDArray[Any], block_id: tuple[int, ...] = (0,)
) -> NDArray[Any]:
    if rows.shape[0] == 0:
        return nothing
    with naming(block_id[0]):
        return answer(rows).astype(nothing.dtype, copy=False)


def _answers(state: State, method: str, rows: Any) -> NDArray[Any]:
    return state.answer(method, state.model.scores(checked_rows(rows)))


def _scores(model: Model, rows: Any) -> NDArray[Any]:
    return model.scores(checked_rows(rows, model.frozen.dtype))


def _features(frozen: Frozen, rows: Any) -> NDArray[Any]:
    return np.asarray(frozen.features(checked_rows(rows, frozen.dtype)))
