"""What a careful reader notices in a column: that it numbers the rows, or has decimal commas."""

import re
from typing import Any

import numpy as np

from kitchensinks.tables.arrow import pa
from kitchensinks.tables.encoders import words_of
from kitchensinks.tables.kinds import family

# Whole numbers are identifiers where so many pairs of rows would be expected to be equal, if the
# values were drawn evenly from their range, and none are: the chance of that is e⁻¹⁰⁰. Values that
# are drawn unevenly have more equal pairs. 1 to n need 200 rows for it. Seconds since 1970, prices
# in cents and the like have a range in which equal values are rare anyway: they are quantities.
_EXPECTED = 100.0
# Text is an identifier in so many rows or more, where no two are equal.
_ROWS = 200
# Identifiers are single words of at most so many letters, as a UUID is; other text is to be read.
_LETTERS = 36
# Rows that are looked at first: most columns have equal values among them.
_FIRST = 1000
# The share of the words that must have decimal commas.
_MOST = 0.9
_COMMA = r"^[+-]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+),[0-9]+$"


def is_identifier(values: Any) -> bool:
    """Whether whole numbers or words have a value of their own for every row, as names of rows do.

    values: an Arrow array. Decimal numbers are never identifiers.

    >>> numbers = pa.array(range(1, 301))
    >>> is_identifier(numbers), is_identifier(numbers.cast("float64"))
    (True, False)
    """
    if family(values.type) == "category":
        values = values.dictionary_decode()
    own = family(values.type)
    if own not in ("integer", "text") or values.null_count or len(values) < _ROWS:
        return False
    first = values.slice(0, _FIRST)
    if len(first.unique()) < len(first) or len(values.unique()) < len(values):
        return False
    if own == "integer":
        return counts_rows(values.to_numpy(zero_copy_only=False))
    words = words_of(values)
    if words.null_count or pa.compute.any(pa.compute.match_substring_regex(words, r"\s")).as_py():
        return False
    return bool(pa.compute.max(pa.compute.utf8_length(words)).as_py() <= _LETTERS)


def counts_rows(numbers: np.ndarray) -> bool:
    """Whether whole numbers, no two of which are equal, are too close to each other for chance."""
    if len(np.unique(numbers[:_FIRST])) < min(_FIRST, len(numbers)):
        return False
    width = float(numbers.max()) - float(numbers.min()) + 1.0
    pairs = 0.5 * len(numbers) * (len(numbers) - 1.0)
    return pairs >= _EXPECTED * width and len(np.unique(numbers)) == len(numbers)


def has_commas(values: object) -> bool:
    """Whether words are numbers with decimal commas.

    >>> has_commas(pa.array(["3,14", "1.250,5", None])), has_commas(pa.array(["3,14", "a,b"]))
    (True, False)
    """
    words = words_of(values).drop_null().unique()
    if not len(words) or "," not in words[0].as_py():
        return False
    found = pa.compute.sum(pa.compute.match_substring_regex(words, _COMMA)).as_py()
    return bool(found >= _MOST * len(words))


def stray_words(words: np.ndarray) -> list[str]:
    """The words that are no numbers, where nearly all are: at most a tenth; else none.

    >>> stray_words(np.array(["1", "2.5", "none"] + ["3"] * 20))
    ['none']
    """
    different, counts = np.unique(words, return_counts=True)
    number = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
    odd = np.array([number.fullmatch(word) is None for word in different.tolist()])
    few = counts[odd].sum() <= (1.0 - _MOST) * len(words)
    return different[odd].tolist() if few else []
