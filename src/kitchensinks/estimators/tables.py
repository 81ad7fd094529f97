"""Rows of tables at the door of an estimator, where arrays meet scikit-learn's checks."""

from typing import Any

import numpy as np

from kitchensinks.rows.columns import Columns
from kitchensinks.rows.tables import Table
from kitchensinks.rows.view import Rows, known_targets


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


def table_rows(estimator: Any, X: Table | Rows, reset: bool) -> Rows:
    """Rows that are read block by block, and checked as they are read.

    `reset`: these are the rows of a fit, and their recipe is kept as `columns_`; otherwise they
    must be such rows as the fit had.
    """
    if reset and isinstance(X, Rows):
        estimator.columns_ = X.columns
        estimator.n_features_in_ = X.shape[1]
        # The names are those of columns_: blocks of the rows are arrays without names.
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return X
    if isinstance(X, Table):
        columns = getattr(estimator, "columns_", None)
        if columns is None:
            raise ValueError(
                "This model was fitted to arrays, and knows no column names: give it arrays."
            )
        return Rows(X, columns)
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"{X.table.label} gives {X.shape[1]} columns of numbers; the model was fitted to "
            f"{estimator.n_features_in_}. Make the rows with the model's own columns_."
        )
    return X
