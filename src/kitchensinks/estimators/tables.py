"""Rows of tables at the door of an estimator, where arrays meet scikit-learn's checks."""

from typing import Any

import numpy as np

from kitchensinks.tables.columns import Columns
from kitchensinks.tables.table import Table, check_schema, open_table
from kitchensinks.tables.view import Rows, known_targets


def table_targets(
    estimator: Any, table: Table, y: Any, sample_weight: Any, reset: bool
) -> tuple[Rows, Any, Any]:
    """Rows, targets and weights of a table whose column y is the target.

    Rows without a target get no weight.
    """
    if not isinstance(y, str):
        raise ValueError(
            "With a table as X, y is the name of its target column, so that the target is not "
            "among the inputs. For other targets give ks.Rows(table, ks.Columns.learn(table, "
            "exclude=[...])) as X."
        )
    targets, weights = known_targets(table, y)
    if weights is not None and sample_weight is not None:
        weights = weights * np.asarray(sample_weight, dtype=np.float64)
    columns = Columns.learn(table, exclude=[y]) if reset else estimator.columns_
    return Rows(table, columns), targets, sample_weight if weights is None else weights


def is_mixed(rows: Any) -> bool:
    """Whether rows are a frame (pandas, polars) with text, categories or missing values."""
    if isinstance(rows, Table | Rows):
        return False
    if not (hasattr(rows, "columns") and hasattr(rows, "__getitem__") and hasattr(rows, "shape")):
        return False
    check_schema("X", [str(name) for name in rows.columns])
    return any(not _is_plain(rows[name]) for name in list(rows.columns))


def _is_plain(series: Any) -> bool:
    """Whether a column of a frame holds numbers, none of them missing."""
    kind = str(getattr(series, "dtype", "")).lower()
    if "categor" in kind or "enum" in kind:
        return False
    values = np.asarray(series)
    if values.dtype.kind in "biu":
        return True
    if values.dtype.kind == "f":
        return not np.isnan(values).any()
    if values.dtype.kind in "mM" or not hasattr(series, "to_list"):
        return False
    return all(
        isinstance(value, int | float | np.number) and value == value for value in series.to_list()
    )


def frame_rows(frame: Any) -> Rows:
    """A mixed frame as the rows of a table, by a recipe that is learned from it."""
    table = open_table(frame)
    return Rows(table, Columns.learn(table))


def frame_table(frame: Any, columns: Columns) -> Table:
    """A frame as a table, without the columns that the recipe does not ask for."""
    known = set(columns.inputs) <= set(frame.columns)
    return open_table(frame[columns.inputs] if known else frame)


def importances_of(estimator: Any) -> Any:
    """Each column's share of the learned distance; of a frame, whose columns became several."""
    found, columns = estimator.adaptation_.importances, getattr(estimator, "columns_", None)
    if columns is None or len(found) == estimator.n_features_in_:
        return found
    edges = np.cumsum([0] + [encoder.width for encoder in columns.encoders])
    totals = np.diff(np.append(0.0, np.cumsum(found))[edges])
    shares = dict(zip(columns.inputs, totals, strict=True))
    names = getattr(estimator, "feature_names_in_", columns.inputs)
    return np.array([shares.get(name, 0.0) for name in names])


def table_rows(estimator: Any, X: Table | Rows, reset: bool) -> Rows:
    """Rows that are read block by block, and checked as they are read.

    `reset`: these are the rows of a fit, and their recipe is kept as `columns_`; otherwise they
    must be such rows as the fit had.
    """
    if reset and isinstance(X, Rows):
        # The names are those of columns_: blocks of the rows are arrays without names.
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return X
    columns = getattr(estimator, "columns_", None)
    if columns is not None:
        # By the model's own recipe, whatever that of the rows is.
        return Rows(X if isinstance(X, Table) else X.table, columns)
    if isinstance(X, Table):
        raise ValueError(
            "This model was fitted to arrays, and knows no column names: give it arrays."
        )
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"{X.table.label} gives {X.shape[1]} columns of numbers; the model was fitted to "
            f"{estimator.n_features_in_}: give rows with the same columns."
        )
    return X
