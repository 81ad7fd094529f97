"""Rows held in memory: NumPy arrays and SciPy sparse matrices."""

import itertools
import math
import numbers
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight

from kitchensinks.numerics.arrays import AnyArray, Matrix
from kitchensinks.tables.kinds import is_number, plain_columns

# All weights may be zero here. Versions of scikit-learn before 1.9 do not check for that.
_NAME = "allow_all_zero_weights"
_ZEROS_ALLOWED = {_NAME: True} if _NAME in signature(_check_sample_weight).parameters else {}

# Advice for errors of scikit-learn's checks, by a phrase of the message.
_ADVICE = {
    "contains NaN": (
        "Fill in or drop missing values first: X.fillna(X.mean()) for a frame, or "
        "sklearn.impute.SimpleImputer."
    ),
    "infinity or a value too large": (
        "Need finite numbers: replace infinite entries, scale large columns, or give float64 rows."
    ),
    # An error of `check_size`, which has its own advice.
    "rows hold an entry": "",
    "could not convert": (
        "Need numbers: encode text columns first (sklearn.preprocessing.OneHotEncoder)."
    ),
    "0 sample(s)": "Need at least one row.",
    "0 feature(s)": "Need at least one column.",
    "features as input": "Give the same columns, in the same order, as in fit.",
    "Complex data": "Need real numbers: give real and imaginary parts as columns.",
}

# Added where mixed tables are accepted, which need no encoding first.
_FOR_TARGETS = {
    "infinity or a value too large": (
        "Need finite numbers: replace infinite targets, or leave their rows out."
    ),
}
_TABLES = (
    " Or give a data frame (pandas, polars) or ks.open_table(...), to fit and to predict: they may "
    "hold text and missing values."
)
_FOR_TABLES = ("contains NaN", "could not convert")
_FOR_LARGE = ("infinity or a value too large", "rows hold an entry")
# Letters of a value that messages show.
_SHOWN_LETTERS = 100
# How messages count rows, as NumPy and pandas do.
FROM_0 = "counted from 0"
# A row with less than this share of the largest weight has none.
_LEAST_SHARE = 1e-290


def numeric_rows(rows: Matrix, name: str = "rows") -> AnyArray:
    """Any table of numbers as a finite two-dimensional float64 array, or a clear error."""
    if sparse.issparse(rows):
        rows = densify(rows)
    with advice():
        return np.asarray(check_array(rows, dtype=np.float64, input_name=name))


def as_given(rows: Any) -> Any:
    """Rows in a form that scikit-learn's checks accept: Arrow as frames, masked entries as NaN.

    Sparse columns of a frame are filled in, unless all are sparse with zeros. Arrays of dates,
    whose unit would be lost, arrays of records, lazy frames and paths are refused.
    """
    if isinstance(rows, np.ndarray):
        return _array_given(rows)
    if rows is None:
        raise ValueError("X is None: need rows and columns.")
    if isinstance(rows, str | os.PathLike):
        raise ValueError(f"X is the path {str(rows)!r}: give the table, ks.open_table(X).")
    package, kind = type(rows).__module__.split(".")[0], type(rows).__name__
    if package == "pyarrow" and hasattr(rows, "to_pandas"):
        if not hasattr(rows, "schema"):
            # One column, of which scikit-learn says what to do.
            return rows.to_pandas()
        try:
            return plain_columns(rows, "X").to_pandas()
        except (TypeError, ValueError, NotImplementedError) as error:
            raise ValueError(
                f"X is an Arrow table with a column that pandas has no values for ({error}): "
                "leave it out, or make it numbers or text."
            ) from None
    if package == "pandas" and hasattr(rows, "columns"):
        stays = all(_is_sparse(kind) and kind.fill_value == 0 for kind in rows.dtypes)
        return rows if stays else with_dense_columns(rows)
    if kind == "LazyFrame":
        raise TypeError("X is a LazyFrame: need its rows, X.collect().")
    return rows


def _array_given(rows: AnyArray) -> AnyArray:
    if rows.dtype.kind in "mM":
        raise ValueError(
            f"X is an array of {rows.dtype}: numbers would not keep its unit. Give a data "
            "frame with columns of dates, or numbers such as days."
        )
    if rows.dtype.names:
        raise TypeError(
            f"X is an array of records with the fields {', '.join(rows.dtype.names)}: "
            "give a data frame (pandas.DataFrame.from_records) or an array of numbers."
        )
    if isinstance(rows, np.ma.MaskedArray) and np.ma.is_masked(rows):
        return np.where(rows.mask, np.nan, rows.data.astype(np.float64))
    return rows


def _is_sparse(dtype: Any) -> bool:
    return hasattr(dtype, "fill_value") and hasattr(dtype, "subtype")


def with_dense_columns(frame: Any) -> Any:
    plain = {name: kind.subtype for name, kind in frame.dtypes.items() if _is_sparse(kind)}
    return frame.astype(plain) if plain else frame


def check_targets(y: Any, dates: bool = True) -> None:
    """Raise an error for masked targets, and for dates that would be treated as numbers."""
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise ValueError(
            f"y has {np.count_nonzero(y.mask)} masked entries: drop these rows, or give them no "
            "weight and a value (y.filled(0))."
        )
    kind = getattr(getattr(y, "dtype", None), "kind", "")
    if kind in ("m", "M") and not dates:
        raise ValueError(
            f"y holds dates or durations ({y.dtype}): numbers would not keep their unit. Give "
            "numbers such as days."
        )


def words_among(y: Any) -> str:
    """How many targets are no numbers, one of these, and what to do about them.

    >>> words_among(["1,5", "2,5", "3"])
    "y has 2 values of 3 that are no numbers, such as '1,5'. Write decimal commas as points."
    """
    values = [str(value) for value in np.asarray(y, dtype=object).ravel()]
    odd = [value for value in values if not is_number(value)] or values
    told = f"y has {len(odd)} values of {len(values)} that are no numbers, such as {odd[0]!r}."
    commas = (value.replace(".", "").replace(",", ".") for value in odd if "," in value)
    if all("," in value for value in odd) and all(map(is_number, commas)):
        return f"{told} Write decimal commas as points."
    return f"{told} Replace them, or drop their rows." if 2 * len(odd) < len(values) else told


def listed(y: Any) -> Any:
    """Labels in a list as objects, where NumPy makes text of numbers, and of NaN, beside text."""
    if not isinstance(y, list | tuple) or np.asarray(y).dtype.kind != "U":
        return y
    own = np.asarray(y, dtype=object)
    return y if all(isinstance(label, str) for label in own.ravel()) else own


@contextmanager
def label_advice(y: Any, name: str = "y") -> Iterator[None]:
    """Replace what scikit-learn's checks say of labels y that are no classes by our words."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if str(error).startswith("y should be a 1d array"):
            raise ValueError(
                f"{error} A classifier learns one label a row: fit one for each output, as "
                "sklearn.multioutput.MultiOutputClassifier does."
            ) from None
        # Labels are sorted, and text and numbers have no order.
        if not str(error).startswith(("Unknown label type", "'<' not supported")):
            raise
        told = _mixed_labels(y, name) or f"{error} For a quantity, use KitchenSinkRegressor."
        raise ValueError(told) from None


def _mixed_labels(y: Any, name: str = "y") -> str:
    """What labels as Python objects are, and what to do; empty for an array of another type.

    >>> _mixed_labels(np.array([0, 1, 1, "oops"], dtype=object)).partition(": ")[0]
    "y holds numbers, and 1 of its 4 labels is text, such as 'oops'"
    """
    own = name if hasattr(y, "astype") else f"numpy.array({name})"
    labels = np.asarray(listed(y)).ravel()
    if labels.dtype != object:
        return ""
    kinds = [_kind_of(label) for label in labels]
    (common, count), *others = Counter(kinds).most_common()
    if others:
        odd = next(place for place, kind in enumerate(kinds) if kind != common)
        few = len(kinds) - count
        return (
            f"{name} holds {common}, and {few} of its {len(kinds)} labels "
            f"{'is' if few == 1 else 'are'} "
            f"{others[0][0] if len(others) == 1 else 'of other kinds'}, such as {labels[odd]!r}: "
            "need labels of one kind. Replace them or drop their rows, and give whole numbers as "
            f"{own}.astype(int); or make all of them text, {own}.astype(str)."
        )
    if common == "numbers":
        # scikit-learn's checks of estimators look for the first words.
        return (
            "Unknown label type: y holds numbers as Python objects. Give classes as "
            "y.astype(int), or text as y.astype(str). For a quantity, use KitchenSinkRegressor "
            "with y.astype(float)."
        )
    return f"y holds {common}, such as {labels[0]!r}: need text or whole numbers as labels."


def _kind_of(label: object) -> str:
    if isinstance(label, str):
        return "text"
    number = isinstance(label, numbers.Real | np.bool_)
    return "numbers" if number else f"values of type {type(label).__name__}"


@contextmanager
def advice(tables: bool = False, rows: Any = None, name: str = "X") -> Iterator[None]:
    """Replace the advice in an error of scikit-learn's checks by ours.

    tables: True where a mixed table could be given in place of these rows; rows: those that are
    checked, of which an infinite or too large entry is named by its place; name: what they are.
    """
    try:
        yield
    except ValueError as error:
        sign = next((sign for sign in _ADVICE if sign in str(error)), None)
        if sign is None:
            raise
        known = _ADVICE | _FOR_TARGETS if name == "y" else _ADVICE
        text = known[sign] + (_TABLES if tables and sign in _FOR_TABLES else "")
        where = _largest(rows, name) if sign in _FOR_LARGE else ""
        told = f"{str(error).splitlines()[0].rstrip('.')}."
        raise ValueError(" ".join(part for part in (told, where, text) if part)) from None
    except OverflowError:
        raise ValueError(
            f"{name} has whole numbers beyond {np.finfo(np.float64).max:.1e}, the largest number "
            "of float64: divide them by a constant, or take their logarithms (math.log)."
        ) from None
    except TypeError as error:
        if "float() argument" not in str(error):
            raise
        raise TypeError(
            f"{error}. Need rows of numbers: an array, a data frame or ks.open_table(...)."
        ) from None


def _largest(rows: Any, name: str) -> str:
    """The largest entry of dense rows in words, with its place; a frame's by its column."""
    try:
        values = np.asarray(rows, dtype=np.float64)
        place = np.unravel_index(np.nanargmax(np.abs(values)), values.shape)
    except (TypeError, ValueError):
        # Sparse rows, or entries of which NumPy makes no numbers.
        return ""
    largest = f"{values[place]:.4g}"
    if hasattr(rows, "columns"):
        column = list(rows.columns)[place[1]]
        return f"Column {column!r} has {largest} in row {place[0]} ({FROM_0})."
    if not place:
        return f"{name} is {largest}."
    return f"{name}[{', '.join(map(str, place))}] is {largest} ({FROM_0})."


def check_size(rows: Any, dtype: Any, missing: bool = True) -> Any:
    """Rows in the working dtype, or an error where the square of an entry is not finite.

    Products with the longest directions of a heavy-tailed law then stay finite. missing: whether
    NaN is allowed.
    """
    with np.errstate(over="ignore"):
        cast = rows.astype(dtype, copy=False)
    values = cast.data if sparse.issparse(cast) else cast
    limit = math.sqrt(float(np.finfo(dtype).max))
    # The minimum is NaN if any entry is: then the range of the other entries is taken.
    least, most = (values.min(), values.max()) if values.size else (0.0, 0.0)
    if missing and np.isnan(least):
        least, most = np.fmin.reduce(values, None), np.fmax.reduce(values, None)
    if max(-least, most) < limit or (missing and np.isnan(least)):
        return cast
    given = np.abs(rows.data if sparse.issparse(rows) else rows)
    largest = given.max() if not missing else np.nanmax(given)
    raise ValueError(
        f"rows hold an entry of size {largest:.0e}: need finite numbers below "
        f"{limit:.0e} in {np.dtype(dtype)}. Fill in missing values, standardise large columns, "
        "or give float64 rows."
    )


def numeric_weights(weights: Any, n_rows: int) -> AnyArray:
    """One finite weight ≥ 0 for each row, not all of them 0, as float64; or a clear error."""
    checked = np.asarray(weights, dtype=np.float64)
    if checked.shape != (n_rows,):
        raise ValueError(
            f"weights are {describe(checked)} for {n_rows} rows: need one number for each row."
        )
    if not (np.isfinite(checked).all() and (checked >= 0).all() and (checked > 0).any()):
        raise ValueError(
            f"weights from {checked.min()} to {checked.max()}: need finite numbers of 0 or more, "
            "at least one of them positive. Leave weights=None to count every row once."
        )
    return checked


def check_weights(given: Any, rows: Any, positive: bool = False) -> AnyArray:
    """One weight ≥ 0 for each row, or an error; `positive`: at least one must not be 0."""
    try:
        given = with_nan(given)
        weights = _check_sample_weight(given, rows, dtype=np.float64, **_ZEROS_ALLOWED)
    except OverflowError:
        raise ValueError(
            f"sample_weight has whole numbers beyond {np.finfo(np.float64).max:.1e}, the largest "
            "number of float64. Only their ratios count: divide all of them by a constant."
        ) from None
    except (TypeError, ValueError) as error:
        told = str(error).partition("\n")[0].rstrip(".")
        if "contains" not in told and "convert" not in told and "float() argument" not in told:
            raise
        raise type(error)(
            f"sample_weight: {told}. Need a finite number for each row; 0 leaves the row out."
        ) from None
    if (weights < 0).any():
        raise ValueError(
            f"sample_weight has negative entries (the least is {weights.min():.3g}): "
            "need weights of 0 or more."
        )
    if positive and not weights.any():
        raise ValueError("sample_weight is zero for every row: need a positive weight.")
    largest = float(weights.max(initial=0.0))
    if largest > 0.0 and not 1e-300 <= largest <= 1e300:
        raise ValueError(
            f"sample_weight has entries of {largest:.2g}: need the largest between 1e-300 and "
            "1e300. Only their ratios count: divide all of them by a constant."
        )
    # Shares of the total weight would be zero, or lose their digits: the row counts nothing.
    return np.where(weights < _LEAST_SHARE * largest, 0.0, weights)


def with_nan(rows: Any) -> Any:
    """Replace pandas' missing values by NaN in object data, because NumPy cannot convert pandas.NA
    to a number.

    rows: an array, a frame or a column of objects, or a list of values or of rows.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return rows
    if isinstance(rows, list):
        inner = itertools.chain.from_iterable(
            row if isinstance(row, list | tuple) else (row,) for row in rows
        )
        if not any(value is pandas.NA for value in inner):
            return rows
        rows = np.array(rows, dtype=object)
    if isinstance(rows, pandas.DataFrame) and object in rows.dtypes.tolist():
        entries = with_nan(rows.to_numpy(dtype=object))
        return pandas.DataFrame(entries, index=rows.index, columns=rows.columns)
    if getattr(rows, "dtype", None) != np.dtype(object) or hasattr(rows, "columns"):
        return rows
    return np.where(pandas.isna(rows), np.nan, np.asarray(rows))


def densify(rows: Matrix) -> AnyArray:
    """A block of rows as a plain array (sparse rows are filled in)."""
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def describe(value: Any) -> str:
    """A value in words, for an error message: its type and, for arrays, shape and dtype."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return f"{type(value).__name__} of shape {shape} and dtype {getattr(value, 'dtype', '?')}"
    told = repr(value)
    told = told if len(told) <= _SHOWN_LETTERS else f"{told[:_SHOWN_LETTERS]}…"
    return f"{type(value).__name__} {told}"


def block_slices(n_rows: int, block_rows: int) -> Iterator[slice]:
    """Slices that cut n_rows into consecutive blocks of at most block_rows."""
    for start in range(0, n_rows, max(1, block_rows)):
        yield slice(start, min(start + block_rows, n_rows))
