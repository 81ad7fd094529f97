"""Suspicious columns: identifiers of rows, odd numbers, stray words, days before months."""

import re
from collections.abc import Container, Iterable
from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.numerics.warned import warn
from kitchensinks.tables.arrow import ArrowArray, ArrowTable, pa
from kitchensinks.tables.kinds import family, without_codes
from kitchensinks.tables.words import words_of

# Integers without equal values are identifiers if uniform values of the same range would have this
# many equal pairs on average: the chance of none is e⁻¹⁰⁰, and less if they are not uniform. The
# numbers 1 to n need 200 rows for it. Seconds since 1970 or prices in cents have a range in which
# equal values are rare anyway: they are quantities.
_EXPECTED = 100.0
# Text without equal values is an identifier from this many rows on.
_ROWS = 200
# Identifiers are single words of at most this many letters, the length of a UUID.
_LETTERS = 36
# Rows that are checked first: most columns have equal values among them.
_FIRST = 1000
# The share of the words that must be numbers written so.
_MOST = 0.9
# Numbers with a comma, separators of thousands, or a sign of money or percent.
_WRITTEN = r"^[+-]?[$€£¥]? ?[+-]?([0-9]{1,3}([.,][0-9]{3})+|[0-9]*)[.,]?[0-9]+ ?[%€$£¥]?$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
# A date with a time, and the zone that may end it.
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9:.]+"
_ZONE = r" ?([zZ]|UTC|GMT|[+-][0-9]{2}:?([0-9]{2})?)$"
# Text of which at least this share are numbers was probably meant as numbers.
_NEARLY_ALL = 0.95
# Fewer numbers than this are no evidence.
_NUMBERS = 20
# Values other than numbers that the warning shows.
_SHOWN = 3
# Letters of each of them that the warning shows.
_SHOWN_LETTERS = 30
# Columns that the warning describes.
_DESCRIBED = 5


def is_identifier(values: ArrowArray) -> bool:
    """Whether integers or words identify the rows: every row has a different value.

    values: an Arrow array. Decimal numbers are never identifiers.

    >>> numbers = pa.array(range(1, 301))
    >>> is_identifier(numbers), is_identifier(numbers.cast("float64"))
    (True, False)
    """
    values = without_codes(values)
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


def counts_rows(numbers: AnyArray) -> bool:
    """Whether integers are all different although their range is too small for that by chance."""
    if len(np.unique(numbers[:_FIRST])) < min(_FIRST, len(numbers)):
        return False
    width = float(numbers.max()) - float(numbers.min()) + 1.0
    pairs = 0.5 * len(numbers) * (len(numbers) - 1.0)
    return pairs >= _EXPECTED * width and len(np.unique(numbers)) == len(numbers)


def oddly_written(values: ArrowArray) -> bool:
    """Whether words are numbers, some of which have a comma or a sign of money or percent.

    >>> oddly_written(pa.array(["3,14", "1.250,5", None])), oddly_written(pa.array(["$5", "70"]))
    (True, True)
    >>> oddly_written(pa.array(["3.14", "5"])), oddly_written(pa.array(["3,14", "a,b"]))
    (False, False)
    """
    words, matches = words_of(values).drop_null().unique(), pa.compute.match_substring_regex
    if not len(words) or re.match(_WRITTEN, words[0].as_py()) is None:
        return False
    found, plain = (pa.compute.sum(matches(words, form)).as_py() for form in (_WRITTEN, _NUMBER))
    return bool(found >= _MOST * len(words) > plain)


def stray_words(words: AnyArray) -> list[str]:
    """The words that are not numbers, if they are at most a tenth of all words; else none.

    >>> stray_words(np.array(["1", "2.5", "none"] + ["3"] * 20))
    ['none']
    """
    different, counts = np.unique(words, return_counts=True)
    number = re.compile(_NUMBER)
    odd = np.array([number.fullmatch(word) is None for word in different.tolist()])
    few = counts[odd].sum() <= (1.0 - _MOST) * len(words)
    return different[odd].tolist() if few else []


def tell_empty(names: Iterable[Any], kept: Iterable[Any], sampled: bool = False) -> None:
    """Warn of columns without any value, which a recipe leaves out.

    kept: the names of the others; sampled: not all rows were looked at.
    """
    known = set(kept)
    empty = [name for name in names if name not in known]
    if empty:
        shown = ", ".join(map(repr, empty[:_DESCRIBED]))
        more = f" and {len(empty) - _DESCRIBED} more" if len(empty) > _DESCRIBED else ""
        warn(
            f"Columns without any value{' in a sample of the rows' if sampled else ''} are left "
            f"out: {shown}{more}. Drop them to silence this warning.",
        )


def as_text(sample: ArrowTable, kinds: dict[str, str], chosen: Container[str]) -> set[str]:
    """Text columns that hold oddly written numbers; they are reported by a warning.

    Others that are nearly numbers or dates are reported too; chosen: those that are text by intent.
    """
    texts = [
        name
        for name, kind in kinds.items()
        if kind in ("text", "category")
        and name not in chosen
        and family(sample.schema.field(name).type) == "text"
    ]
    found = {name for name in texts if oddly_written(sample.column(name))}
    if found:
        warn(
            "Numbers with commas or with signs of money or percent are taken as text, in "
            f"{', '.join(map(repr, sorted(found)))}: write them as 1234.5. Columns that are "
            "categories: name them in categorical_features.",
        )
    texts = [name for name in texts if name not in found]
    _tell_nearly_numbers(sample, texts)
    _tell_zones(sample, texts)
    return found


def _tell_nearly_numbers(sample: ArrowTable, texts: list[str]) -> None:
    """Warn of text columns that are not taken as numbers because of a few of their values."""
    described = {name: nearly_numbers(sample.column(name)) for name in texts}
    found = [name for name in texts if described[name]]
    if not found:
        return
    shown = "; ".join(f"{name!r} ({described[name]})" for name in found[:_DESCRIBED])
    more = "".join(f", {name!r}" for name in found[_DESCRIBED:])
    warn(
        f"Columns in which nearly all values are numbers are not taken as numbers, because of a "
        f"few others: {shown}{more}. Replace the others by numbers, or make them missing: "
        f"pandas.to_numeric(X[{found[0]!r}], errors='coerce'). Columns that are categories: name "
        "them in categorical_features.",
    )


def _tell_zones(sample: ArrowTable, texts: list[str]) -> None:
    """Warn of dates that are taken as text because some of them have a time zone."""
    matches, total = pa.compute.match_substring_regex, pa.compute.sum
    for name in texts:
        words = words_of(sample.column(name)).drop_null()
        zoned, plain = (total(matches(words, _MOMENT + end)).as_py() for end in (_ZONE, "$"))
        if zoned and plain and zoned + plain == len(words):
            warn(
                f"The dates of column {name!r} are taken as text, because {zoned:,} of "
                f"{len(words):,} have a time zone and the others have none: write all of them "
                f"with one, or convert them with pandas.to_datetime(X[{name!r}], utc=True, "
                "format='ISO8601'), which takes the others as UTC."
            )


def nearly_numbers(values: ArrowArray) -> str:
    """How many words are numbers, and which are not, if nearly all are; else nothing.

    >>> nearly_numbers(pa.array(["1", "2.5", None] * 20 + ["-"]))
    "40 of 41 values looked at, 97.5 %, are numbers, but not '-'"
    >>> nearly_numbers(pa.array(["1", "2.5", "-"] * 20)), nearly_numbers(pa.array(["1"] * 20))
    ('', '')
    """
    counted = words_of(values).drop_null().value_counts()
    words, counts = counted.field("values"), np.asarray(counted.field("counts"))
    number = pa.compute.match_substring_regex(words, _NUMBER).to_numpy(zero_copy_only=False)
    total, good = int(counts.sum()), int(counts[number].sum())
    if good == total or good < max(_NUMBERS, _NEARLY_ALL * total):
        return ""
    others = [words[int(place)].as_py() for place in np.flatnonzero(~number)[: _SHOWN + 1]]
    shown = ", ".join(repr(_shortened(word)) for word in others[:_SHOWN])
    # Rounded down, so that it is never 100 %.
    share = 1000 * good // total / 10
    return (
        f"{good:,} of {total:,} values looked at, {share} %, are numbers, but not {shown}"
        f"{', …' if len(others) > _SHOWN else ''}"
    )


def _shortened(word: str) -> str:
    return word if len(word) <= _SHOWN_LETTERS else f"{word[:_SHOWN_LETTERS]}…"


def without_identifiers(sample: ArrowTable, kinds: dict[str, str], other: set[str]) -> list[str]:
    """All columns but identifiers, which a warning reports; all if nothing else is left."""
    texts = [name for name, kind in kinds.items() if kind in ("text", "category")]
    whole = [name for name in kinds if family(sample.schema.field(name).type) == "integer"]
    found = [
        name
        for name in [*whole, *texts]
        if name not in other and is_identifier(sample.column(name).combine_chunks())
    ]
    if not found or len(found) == len(kinds):
        return list(kinds)
    warn(
        f"Columns with a different value in every row are left out as row identifiers: "
        f"{', '.join(map(repr, found))}. Drop them to silence this warning. Whole numbers that "
        "count time or a quantity matter to predictions: make them decimal numbers (float), or "
        "name the column of times by ks.Learned(time=...).",
    )
    return [name for name in kinds if name not in found]


def date_format(name: str, values: ArrowArray, found: str) -> str:
    """The format of dates in text: `found`, or its exchange of day and month.

    Where both orders read every value, dates with points have the day first, as they are written
    everywhere; for others a warning says which order was taken.
    """
    swapped = found.translate(str.maketrans("dm", "md"))
    if not found.startswith(("%d", "%m")) or not {"%d", "%m"} <= {found[:2], found[3:5]}:
        return found
    import pandas

    words = words_of(values).drop_null().to_pandas()
    if pandas.to_datetime(words, format=swapped, errors="coerce").isna().any():
        return found
    if "." in found:
        return min(found, swapped)
    first, second = ("day", "month") if found.startswith("%d") else ("month", "day")
    warn(
        f"The dates of column {name!r}, such as {words.iloc[0]!r}, may have the day or the month "
        f"first, and are read with the {first} first. If it is the {second}, convert them with "
        f"pandas.to_datetime(X[{name!r}], format={swapped!r}), or write them as 2026-05-31.",
    )
    return found
