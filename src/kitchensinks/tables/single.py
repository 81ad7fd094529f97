"""One row of a data frame as numbers: a detour through Arrow takes longer than the prediction.

Numbers are used as they are. Any other value is encoded like a whole column when it first occurs,
and the result is cached: there is one rule for the encoding of a value.
"""

import functools
import numbers
from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.tables.arrow import pa
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.encoders import Encoder, Number
from kitchensinks.tables.unread import Unread
from kitchensinks.tables.view import LARGEST

# Cached values, of all models together.
_KEPT = 2**14
# Types that are always numbers.
_NUMBERS = (int, float, bool, np.bool_, np.integer, np.floating)


def one_row(columns: Columns, frame: Any) -> AnyArray | None:
    """The numbers (1, width) of a pandas or polars frame of one row.

    None where a frame or value needs the general code, or its errors.

    >>> import pandas
    >>> from kitchensinks.tables.table import open_table
    >>> frame = pandas.DataFrame({"age": [30, 40], "city": ["Oslo", "Rome"]})
    >>> one_row(Columns.learn(open_table(frame)), frame[1:])
    array([[40.,  1.]])
    """
    kind = type(frame).__module__.split(".")[0]
    if kind not in ("pandas", "polars") or getattr(frame, "ndim", 2) != 2:
        return None
    names = list(frame.columns)
    place = {name: k for k, name in enumerate(names)}
    if len(place) < len(names) or not all(name in place for name in columns.inputs):
        return None
    values = list(frame.iloc[0]) if kind == "pandas" else frame.row(0)
    out = np.empty((1, columns.width), dtype=columns.dtype)
    done, row = 0, out[0]
    for encoder in columns.encoders:
        value, width = values[place[encoder.name]], encoder.width
        if type(encoder) is Number and isinstance(value, _NUMBERS):
            known = value == value
            row[done] = value if known else encoder.fill
            if encoder.flagged:
                row[done + 1] = not known
        else:
            found = _numbers_of(encoder, value)
            if found is None:
                return None
            row[done : done + width] = found
        done += width
    return out if (np.abs(row) < LARGEST).all() else None


def _numbers_of(encoder: Encoder, value: Any) -> AnyArray | None:
    # pandas makes a row of whole and decimal numbers decimal, and beyond 2⁵³ digits are lost.
    if isinstance(value, float) and abs(value) >= 2.0**53:
        return None
    # NaN does not equal itself, and would be cached again and again.
    if isinstance(value, numbers.Real) and value != value:
        value = None
    kind: Any = type(value)
    try:
        return _kept(encoder, kind, value)
    except (TypeError, ValueError, OverflowError, pa.ArrowException):
        return None


@functools.lru_cache(maxsize=_KEPT)
def _kept(encoder: Encoder, kind: type, value: Any) -> AnyArray:
    """The encoding of a value; kind is part of the cache key because 1, 1.0 and True are equal."""
    values = pa.array([value], from_pandas=True)
    encoder.check(values.type, "The table")
    out, unread = np.empty((1, encoder.width)), Unread(rows=1)
    encoder.write(values, out, unread)
    unread.tell()
    return np.asarray(out[0])
