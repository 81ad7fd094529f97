"""Checks of what estimators are given: arrays, frames and tables."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_feature_names, _check_n_features, validate_data

from kitchensinks.execution import is_dask
from kitchensinks.features.links import Linked
from kitchensinks.fitting.settings import check_dtype
from kitchensinks.law.encodings import encode, free_text
from kitchensinks.law.learned import Learned
from kitchensinks.numerics.arrays import AnyArray, Matrix, SampleWeight
from kitchensinks.problem.losses import Array
from kitchensinks.problem.targets import Batch, Classes, Numbers
from kitchensinks.state import Spec, State
from kitchensinks.state.streams import Waiting
from kitchensinks.tables.arrays import (
    advice,
    as_given,
    check_size,
    check_weights,
    describe,
    label_advice,
    with_nan,
)
from kitchensinks.tables.columns import Columns, array_table, names_of_places
from kitchensinks.tables.named import FROM_DTYPE, check_categories, columns_named
from kitchensinks.tables.noticed import counts_rows, tell_empty
from kitchensinks.tables.single import one_row
from kitchensinks.tables.spelling import nearest
from kitchensinks.tables.table import MemoryTable, Table, check_schema, open_table
from kitchensinks.tables.view import LARGEST, Given, Rows, known_targets

if TYPE_CHECKING:
    from kitchensinks.estimators.readings import Readings

FLOATS = [np.float64, np.float32]
# Arrays of at most this many entries skip the general checks, which take longer than predicting
# one row.
_FEW_ENTRIES = 2**12
# NumPy's letters for booleans, integers and floats.
_NUMERIC = frozenset("biuf")
# Entries have finite squares, as `check_size` asks of float64 rows; float32 ones are finite.
_LARGEST = {"d": LARGEST, "f": np.inf}


class TakesSparse(Linked):
    """An estimator whose rows may be sparse; a transformer keeps the dtypes that it names."""

    _kept_dtypes: tuple[str, ...] = ("float64", "float32")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = list(self._kept_dtypes)
        return tags


def float_rows(
    estimator: BaseEstimator, X: Given, reset: bool, dtype: Any = None, least: int = 1
) -> Matrix:
    """Checked rows, dense or CSR, float32 or float64; least: how many of them there must be."""
    if is_dask(X):
        raise ValueError(
            f"X is a Dask collection, and {type(estimator).__name__} takes rows in memory here: "
            "give some of them, such as X.partitions[0].compute()."
        )
    X = with_nan(as_given(X))
    floats = FLOATS if dtype is None else [check_dtype(dtype)]
    # What overflows in the cast is found and reported.
    with np.errstate(over="ignore"), advice(rows=X):
        rows = validate_data(
            estimator, X, reset=reset, accept_sparse="csr", dtype=floats, ensure_min_samples=least
        )
        return check_size(rows, rows.dtype)


# Rows (n, d), targets as they came, weights (n,) or None, the recipe of a table or None, and the
# rows from which groups and times are read: `Rows` for tables, else the array as given.
Inputs = tuple[Any, AnyArray, Array | None, Columns | None, Any]


def training_inputs(
    estimator: "Readings",
    spec: Spec,
    X: Given,
    y: ArrayLike,
    sample_weight: SampleWeight,
    stream: bool = False,
) -> Inputs:
    """The rows of a fit; the recipe of a table's columns is learned from them.

    stream: the same rows may come again, so that no recipe may use their targets.
    """
    X = as_given(X)
    frame = X if is_mixed(X) or _has_chosen(X, estimator.categorical_features) else None
    X, y, sample_weight = _opened(spec, estimator.categorical_features, X, y, sample_weight, frame)
    if isinstance(X, Rows):
        rows: Any = X
        # The names are those of the recipe: blocks of the rows are arrays without names.
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    else:
        rows = _checked_array(estimator, X, reset=True, scaled=spec.standardize)
    y = checked_targets(spec.kind, y)
    check_consistent_length(rows, y)
    weights = None if sample_weight is None else check_weights(sample_weight, rows, positive=True)
    if not isinstance(rows, Rows):
        return _array_inputs(estimator, spec, Batch(rows, y, weights), stream)
    rows = rows if stream else _encoded(spec, Batch(rows, y, weights))
    columns, known = rows.columns, rows
    if _exportable(spec) and (text := free_text(columns)):
        raise ValueError(
            f"exportable=True, and {', '.join(map(repr, text))} is free text, which cannot be "
            "exported: leave it out, make it a category, or use exportable=False."
        )
    estimator.n_features_in_ = rows.shape[1]
    if frame is not None:
        _check_feature_names(estimator, frame, reset=True)
        _check_n_features(estimator, frame, reset=True)
        rows = rows[:]
    return rows, y, weights, columns, known


def checked_targets(kind: type[Classes] | type[Numbers], y: ArrayLike) -> AnyArray:
    """Labels or numbers (n,) or (n, outputs), or an error."""
    with label_advice(y):
        return kind.check(y)


def _opened(
    spec: Spec, given: object, X: Given, y: ArrayLike, sample_weight: SampleWeight, frame: object
) -> tuple[Any, Any, Any]:
    """Tables and frames as rows by a recipe, with their targets and weights; arrays as they came.

    given: the columns that are categories; frame: X, where a recipe has to make numbers of it.
    """
    # The time column stays an input although its values are unique, as those of identifiers are.
    time = spec.basis.time if isinstance(spec.basis, Learned) else None
    kept = False if time is None else time
    if isinstance(X, Table):
        X, y, sample_weight = table_targets(X, y, sample_weight, categories=given, kept=kept)
    elif isinstance(X, Rows) and check_categories(given):
        raise ValueError(
            "categorical_features is for arrays, frames and tables, and ks.Rows have a recipe of "
            "their own: give the columns to ks.Columns.learn(table, categories=[...])."
        )
    elif isinstance(y, str):
        names = [str(name) for name in getattr(X, "columns", ())]
        if names and y not in names:
            raise ValueError(f"y={y!r} is no column of X{nearest(y, names)}")
        raise ValueError(
            f"y={y!r} names a column, and X is a {type(X).__name__}: give the targets themselves, "
            f"fit(X.drop(columns={y!r}), X[{y!r}]), or a table, fit(ks.open_table(X), {y!r})."
        )
    if frame is not None:
        table = open_table(frame)
        counted = _counted(table, sample_weight)
        X = Rows(table, Columns.learn(counted, identifiers=kept, categories=given))
    return X, y, sample_weight


def _counted(table: Table, sample_weight: SampleWeight) -> Table:
    """The rows of positive weight: a value that only others have is none of the column's."""
    if sample_weight is None or not isinstance(table, MemoryTable):
        return table
    chosen = check_weights(sample_weight, np.empty((table.n_rows, 1)), positive=True) > 0
    return table if chosen.all() else table.where(chosen)


def _array_inputs(estimator: "Readings", spec: Spec, batch: Batch, stream: bool) -> Inputs:
    """The rows of an array, with a recipe where values are missing or columns are categories."""
    array, y, weights = batch
    names = names_of_places(array.shape[1])
    chosen = columns_named(estimator.categorical_features, names, named=False)
    if chosen:
        rows = _as_table(array, chosen)
        rows = rows if stream else _encoded(spec, Batch(rows, y, weights))
        return rows[:], y, weights, rows.columns.of_places(array.shape[1]), array
    if sparse.issparse(array) or not np.isnan(array.min()):
        return array, y, weights, None, array
    columns = Columns.of_array(array if weights is None else array[weights > 0])
    known = getattr(estimator, "feature_names_in_", range(array.shape[1]))
    tell_empty(known, [known[place] for place in columns.given])
    return columns.of_rows(array), y, weights, columns, array


def _encoded(spec: Spec, batch: Batch) -> Rows:
    """The rows with their categories as numbers; targets are as they came."""
    return encode(*batch, spec.task, exportable=_exportable(spec))


def _has_chosen(X: Given, given: object) -> bool:
    """Whether columns of a frame are categories although their types do not say so."""
    if isinstance(X, Table | Rows) or not check_categories(given) or not hasattr(X, "columns"):
        return False
    return bool(columns_named(given, [str(name) for name in X.columns]))


def _as_table(rows: Matrix, categories: list[str]) -> Rows:
    """An array as a table whose columns are named by their places."""
    if sparse.issparse(rows):
        raise ValueError(
            f"categorical_features names {len(categories)} columns of sparse rows: need dense ones "
            "(X.toarray()), or indicators of the categories (sklearn.preprocessing.OneHotEncoder)."
        )
    table = open_table(array_table(rows))
    return Rows(table, Columns.learn(table, categories=categories))


def _exportable(spec: Spec) -> bool:
    return isinstance(spec.basis, Learned) and spec.basis.exportable


def more_rows(
    estimator: BaseEstimator,
    spec: Spec,
    state: State | Waiting,
    X: Given,
    y: ArrayLike,
    sample_weight: SampleWeight = None,
) -> Batch:
    """Encoded rows for an existing fit: a later batch, or rows to score."""
    if isinstance(X, Table):
        X, y, sample_weight = table_targets(X, y, sample_weight, spec.columns)
    rows = known_rows(estimator, state, X)
    y = checked_targets(spec.kind, y)
    check_consistent_length(rows, y)
    weights = None if sample_weight is None else check_weights(sample_weight, rows)
    return spec.encode(rows, y, weights)


def known_rows(estimator: BaseEstimator, state: State | Waiting, X: Given) -> Matrix:
    """Rows such as the fit had: arrays with its columns, or tables by its recipe."""
    # An array with missing values has a recipe too, which no table goes through.
    if state.columns is None or state.columns.n_given:
        few = _checked_few(estimator, X)
        return _known_array(estimator, state, as_given(X)) if few is None else state.numbers(few)
    X = as_given(X)
    found = _known_table(state.columns, X)
    if found is not None:
        return found
    if hasattr(estimator, "feature_names_in_") or estimator.n_features_in_ != state.columns.width:
        raise ValueError(
            f"X is {describe(X)}, and fit had a data frame or a table: give one with the same "
            f"columns{_as_frame(X)}."
        )
    return state.numbers(_checked_array(estimator, X, reset=False, scaled=True))


def _known_array(estimator: BaseEstimator, state: State | Waiting, X: Given) -> Matrix:
    """Rows for a model that was fitted to an array."""
    if isinstance(X, Table):
        names = getattr(estimator, "feature_names_in_", None)
        if names is None:
            raise ValueError(
                "This model was fitted to arrays, and knows no column names: give it arrays."
            )
        raise ValueError(
            "This model was fitted to a data frame of numbers, and reads no tables: give it a data "
            f"frame with the columns {', '.join(names[:10])}{', …' if len(names) > 10 else ''}."
        )
    if isinstance(X, Rows):
        if X.shape[1] != estimator.n_features_in_:
            raise ValueError(
                f"{X.table.label} gives {X.shape[1]} columns of numbers; the model was fitted to "
                f"{estimator.n_features_in_}: give rows with the same columns."
            )
        return X
    return state.numbers(_checked_array(estimator, X, reset=False, scaled=True))


def _known_table(columns: Columns, X: Given) -> Matrix:
    """Rows by the model's own recipe, whatever that of the rows is; None where X is no table."""
    if isinstance(X, Table | Rows):
        return Rows(X if isinstance(X, Table) else X.table, columns)
    if not hasattr(X, "columns"):
        return None
    one = one_row(columns, X) if getattr(X, "shape", ())[:1] == (1,) else None
    if one is not None:
        return one
    # Columns that the recipe does not ask for are left out.
    known = set(columns.inputs) <= set(X.columns)
    return Rows(open_table(X[columns.inputs] if known else X), columns)


def _checked_few(estimator: BaseEstimator, X: Given) -> AnyArray | None:
    """A few rows of numbers as an array, where scikit-learn's checks would change nothing of them
    and warn of nothing; else None. For one row these checks take longer than its prediction."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and type(X).__name__ == "DataFrame":
        if not hasattr(X, "to_numpy") or len(X) * len(names) > _FEW_ENTRIES:
            return None
        if list(X.columns) != names.tolist():
            return None
        X, names = X.to_numpy(), None
        X = X.astype(np.float64) if X.dtype.kind in "iu" else X
    checked = (
        type(X) is np.ndarray
        and X.dtype in FLOATS
        and X.ndim == 2
        and 0 < X.size <= _FEW_ENTRIES
        and X.shape[1] == estimator.n_features_in_
        and names is None
        # A comparison with NaN, which is a missing value, is false.
        and not (np.abs(X) >= _LARGEST[X.dtype.char]).any()
    )
    return X if checked else None


def _as_frame(X: Given) -> str:
    """How dicts and a series become a table; empty for other rows."""
    # A sparse matrix of SciPy (DOK) is a mapping, too.
    if isinstance(X, Mapping) and not hasattr(X, "shape"):
        return ", pandas.DataFrame([X]) for one row, pandas.DataFrame(X) for columns"
    if isinstance(X, list) and X and isinstance(X[0], Mapping):
        return ", pandas.DataFrame(X)"
    series = hasattr(X, "to_frame") and not hasattr(X, "columns")
    return ", frame.iloc[[0]] for one row, frame[['a']] for one column" if series else ""


def _checked_array(estimator: BaseEstimator, X: Given, reset: bool, scaled: bool) -> Matrix:
    if how := _as_frame(X):
        raise ValueError(f"X is {describe(X)}: need rows and columns{how}.")
    # A recipe for missing values takes dense rows.
    finite = True if reset and sparse.issparse(X) else "allow-nan"
    X = with_nan(X)
    with advice(tables=not hasattr(X, "columns"), rows=X):
        rows = validate_data(
            estimator, X, reset=reset, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=finite
        )
        if scaled and rows.dtype == np.float64:
            check_size(rows, np.float64)
    return rows


def check_columns(estimator: BaseEstimator, X: Given, reset: bool) -> None:
    """Number and names of the columns of a Dask collection, by scikit-learn's own checks."""
    from kitchensinks.execution.partitions import shown_columns

    if reset and check_categories(getattr(estimator, "categorical_features", None)):
        raise ValueError(
            "categorical_features is not supported for Dask collections: encode the categories "
            "first (dask_ml.preprocessing.Categorizer and DummyEncoder), or fit in memory."
        )
    validate_data(estimator, shown_columns(X), reset=reset, skip_check_array=True)


def table_targets(
    table: Table,
    y: ArrayLike,
    sample_weight: SampleWeight,
    columns: Columns | None = None,
    categories: object = FROM_DTYPE,
    kept: bool | str | int = False,
) -> tuple[Rows, Any, Any]:
    """Rows, targets and weights of a table whose column y is the target.

    Rows without a target get no weight. columns: the recipe, where it is known; categories: what
    it is learned with, where not.
    """
    if not isinstance(y, str):
        raise ValueError(
            "With a table as X, y is the name of its target column, so that the target is not "
            "among the inputs. For other targets give ks.Rows(table, ks.Columns.learn(table, "
            "exclude=[...])) as X."
        )
    targets, weights = known_targets(table, y)
    if weights is not None and sample_weight is not None:
        weights = weights * check_weights(sample_weight, targets)
    recipe = columns or Columns.learn(table, exclude=[y], identifiers=kept, categories=categories)
    return Rows(table, recipe), targets, sample_weight if weights is None else weights


def is_mixed(rows: Matrix) -> bool:
    """Whether rows are a frame (pandas, polars) of which a recipe has to make numbers.

    That is one with text, categories, dates or row identifiers.
    """
    if isinstance(rows, Table | Rows):
        return False
    if not (hasattr(rows, "columns") and hasattr(rows, "__getitem__") and hasattr(rows, "shape")):
        return False
    check_schema("X", [str(name) for name in rows.columns])
    names = list(rows.columns)
    if any(not _is_plain(rows[name]) for name in names):
        return True
    # Whole numbers that name rows are left out by the recipe, where there are other columns.
    columns = (np.asarray(rows[name]) for name in names)
    named = [one for one in columns if one.dtype.kind in "iu" and len(one) and counts_rows(one)]
    return 0 < len(named) < len(names) and find_spec("pyarrow") is not None


def _is_plain(series: object) -> bool:
    """Whether a column of a frame holds numbers, some of which may be missing."""
    kind = getattr(series, "dtype", None)
    if any(word in str(kind).lower() for word in ("categor", "enum")):
        return False
    values = np.asarray(series)
    if values.ndim != 1:
        return False
    # The types of pandas that have missing values of their own name their kind.
    if _NUMERIC & {values.dtype.kind, getattr(kind, "kind", "")}:
        return True
    if values.dtype.kind in "mM" or not hasattr(series, "to_list"):
        return False
    seen = [value for value in series.to_list() if value is not None]
    return bool(seen) and all(isinstance(value, int | float | np.number) for value in seen)
