"""The values of Arrow arrays as numbers, and as words."""

import numpy as np

from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.tables.arrow import ArrowArray, pa
from kitchensinks.tables.kinds import family, without_codes

# Words that stand for a missing value.
MISSING_WORDS = ("", "?", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None", "none", "<NA>")


def plain(values: ArrowArray) -> ArrowArray:
    """An Arrow array in one chunk, without dictionaries."""
    chunked = isinstance(values, pa.ChunkedArray)
    return without_codes(values.combine_chunks() if chunked else values)


def numbers_of(values: ArrowArray) -> AnyArray:
    """Floats, with NaN for missing values and for text that is not a number."""
    kind = values.type
    own = family(kind)
    if own == "text":
        import pandas

        words = words_of(values).to_pandas()
        return np.asarray(pandas.to_numeric(words, errors="coerce"), dtype=np.float64)
    if own == "null":
        return np.full(len(values), np.nan)
    if own == "time":
        # Seconds, since midnight for times of the day.
        fine = pa.time64("us") if pa.types.is_time(kind) else pa.duration("us")
        return numbers_of(values.cast(fine, safe=False).cast(pa.int64())) / 1e6
    if values.null_count or own not in ("integer", "float"):
        narrow = pa.types.is_float32(kind) or pa.types.is_float16(kind)
        values = values.cast(pa.float32() if narrow else pa.float64(), safe=False)
    numbers = np.asarray(values.to_numpy(zero_copy_only=False))
    return numbers if numbers.dtype.kind == "f" else numbers.astype(np.float64)


def words_of(values: ArrowArray) -> ArrowArray:
    """Any Arrow array as trimmed text, null where a word stands for a missing value.

    A number is the same word whatever its type: 3.0 is "3", and so is the whole number.
    """
    values = plain(values)
    if family(values.type) == "float":
        values = _words_of_floats(values.cast(pa.float64()))
    words = pa.compute.utf8_trim_whitespace(values.cast(pa.large_string()))
    empty = pa.compute.is_in(words, pa.array(MISSING_WORDS, pa.large_string()))
    return pa.compute.if_else(empty, pa.scalar(None, pa.large_string()), words)


def _words_of_floats(values: ArrowArray) -> ArrowArray:
    """An Arrow array of float64 as text, integers without a decimal point."""
    compute, largest = pa.compute, 2.0**53
    whole = compute.and_(
        compute.equal(values, compute.floor(values)), compute.less(compute.abs(values), largest)
    ).fill_null(False)
    numbers = compute.if_else(whole, values, 0.0).cast(pa.int64()).cast(pa.large_string())
    return compute.if_else(whole, numbers, values.cast(pa.large_string()))


def absent(words: ArrowArray) -> AnyArray:
    return np.asarray(words.is_null().to_numpy(zero_copy_only=False))
