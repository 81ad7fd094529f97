"""Rows held in memory: NumPy arrays and SciPy sparse matrices."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight

# Weights may all be zero here; scikit-learn before 1.9 has no check of that to turn off.
_NAME = "allow_all_zero_weights"
_ZEROS_ALLOWED = {_NAME: True} if _NAME in signature(_check_sample_weight).parameters else {}

# Advice for the errors of scikit-learn's checks, by a phrase of the error.
_ADVICE = {
    "contains NaN": "Fill in or drop missing values first (sklearn.impute.SimpleImputer).",
    "infinity or a value too large": (
        "Need finite numbers: replace infinite entries, scale large columns, or give float64 rows."
    ),
    "could not convert": (
        "Need numbers: encode text columns first (sklearn.preprocessing.OneHotEncoder)."
    ),
    "0 sample(s)": "Need at least one row.",
    "0 feature(s)": "Need at least one column.",
    "features as input": "Give the same columns, in the same order, as in fit.",
    "Complex data": "Need real numbers: give real and imaginary parts as columns.",
}

# What to add where tables are taken, and need no encoding first.
_TABLES = (
    " Or give a data frame (pandas, polars) or ks.open_table(...), to fit and to predict: they may "
    "hold text and missing values."
)
_FOR_TABLES = ("contains NaN", "could not convert")


def numeric_rows(rows: Any, name: str = "rows") -> np.ndarray:
    """Any table of numbers as a finite two-dimensional float64 array, or a clear error."""
    if sparse.issparse(rows):
        rows = densify(rows)
    with advice():
        return np.asarray(check_array(rows, dtype=np.float64, input_name=name))


@contextmanager
def advice(tables: bool = False) -> Iterator[None]:
    """Replace the advice in an error of scikit-learn's checks by ours.

    tables: True where a mixed table could be given in place of these rows.
    """
    try:
        yield
    except ValueError as error:
        sign = next((sign for sign in _ADVICE if sign in str(error)), None)
        if sign is None:
            raise
        text = _ADVICE[sign] + (_TABLES if tables and sign in _FOR_TABLES else "")
        raise ValueError(f"{str(error).splitlines()[0].rstrip('.')}. {text}") from None


def check_size(rows: Any, dtype: Any, missing: bool = True) -> Any:
    """Rows in the working dtype, so small that their squares are finite; missing: NaN passes.

    Products with the longest directions of a heavy-tailed law stay finite with them.
    """
    with np.errstate(over="ignore"):
        cast = rows.astype(dtype, copy=False)
    values = cast.data if sparse.issparse(cast) else cast
    limit = math.sqrt(float(np.finfo(dtype).max))
    # The least of numbers is NaN where one of them is: then it is looked for among the others.
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


def numeric_weights(weights: Any, n_rows: int) -> np.ndarray:
    """One finite weight of 0 or more a row, not all of them 0, as float64; or a clear error."""
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


def check_weights(given: Any, rows: Any, positive: bool = False) -> np.ndarray:
    """Weights of 0 or more, one a row; `positive`: at least one of them is not 0."""
    weights = _check_sample_weight(given, rows, dtype=np.float64, **_ZEROS_ALLOWED)
    if (weights < 0).any():
        raise ValueError(
            f"sample_weight has negative entries (the least is {weights.min():.3g}): "
            "need weights of 0 or more."
        )
    if positive and not weights.any():
        raise ValueError("sample_weight is zero for every row: need a positive weight.")
    return np.asarray(weights)


def densify(rows: Any) -> np.ndarray:
    """A block of rows as a plain array (sparse rows are filled in)."""
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def describe(value: Any) -> str:
    """What came, for an error message: type and, for arrays, shape and dtype."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return f"{type(value).__name__} of shape {shape} and dtype {getattr(value, 'dtype', '?')}"
    return f"{type(value).__name__} {value!r}"


def block_slices(n_rows: int, block_rows: int) -> Iterator[slice]:
    """Slices that cut n_rows into consecutive blocks of at most block_rows."""
    for start in range(0, n_rows, max(1, block_rows)):
        yield slice(start, min(start + block_rows, n_rows))
