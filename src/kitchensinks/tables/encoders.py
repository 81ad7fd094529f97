"""One column of a table as one or more columns of numbers: numbers, categories, dates, text."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.tables.arrow import ArrowArray, ArrowType, pa
from kitchensinks.tables.kinds import NUMBERS, family, in_words, is_number
from kitchensinks.tables.unread import Unread
from kitchensinks.tables.words import absent, numbers_of, plain, words_of

# Parts of a date.
_PARTS = ("days", "year", "month", "day", "weekday", "hour", "minute")
# Most indicators of one category: the less frequent values have none.
_MOST_LEVELS = 64
# Bins into which the n-grams of free text are hashed.
_BINS = 2048
# Number of columns that free text is encoded as.
_TOPICS = 30
# An unknown directive in the format of a date.
_NO_DATE = re.compile("%(?![aAbBcdfGHIjmMpSuUVwWxXyYzZ%])")


@dataclass(frozen=True, eq=False)
class Encoder:
    """One column by name; `flagged`: a further output indicates its missing values."""

    name: str
    flagged: bool

    # What messages call the values.
    kind = "values"
    # Whether the outputs are quantities, which are standardised.
    measured = False
    # Whether ONNX operators can compute the outputs.
    exportable = True
    # Families of Arrow types that are accepted.
    families: ClassVar[tuple[str, ...]] = ()

    @property
    def width(self) -> int:
        return len(self.outputs())

    def outputs(self) -> list[str]:
        flag = [f"{self.name} is missing"] if self.flagged else []
        return [*self._names(), *flag]

    def unscaled(self) -> list[bool]:
        """True for each output that must not be standardised, such as an indicator."""
        return [not self.measured] * len(self._names()) + [True] * self.flagged

    def _names(self) -> list[str]:
        raise NotImplementedError

    def check(self, kind: ArrowType, label: str) -> None:
        """Raise an error where a column of this Arrow type cannot be encoded."""
        kind = kind.value_type if family(kind) == "category" else kind
        if not (family(kind) == "null" or self._takes(kind)):
            # One word among the numbers of a file or a frame makes text of the whole column.
            hint = (
                f" For numbers written as text: pandas.to_numeric(X[{self.name!r}], "
                "errors='coerce'), which makes missing values of what is no number."
            )
            raise ValueError(
                f"{label}: column {self.name!r} holds {in_words(kind)}, and was {self._example()} "
                "when the model was fitted. Convert it."
                f"{hint if self.kind == 'numbers' and family(kind) == 'text' else ''}"
            )

    def check_fields(self) -> None:
        """Raise an error where fields that were read from a file are inconsistent."""

    def _refuse(self, good: bool) -> None:
        if not good:
            raise ValueError(f"Column {self.name!r} has fields that do not fit each other.")

    def _example(self) -> str:
        """What the column held in the fit, for an error message."""
        return self.kind

    def _takes(self, kind: object) -> bool:
        return family(kind) in self.families

    def write(self, values: ArrowArray, out: AnyArray, unread: Unread) -> None:
        """Numbers of an Arrow array into `out` (n, width); words that are not read are counted."""
        values = plain(values)
        missing = self._write(values, out, unread)
        if self.flagged:
            out[:, -1] = missing
        elif missing.any():
            unread.missing[self.name] += int(np.count_nonzero(missing))
        if self.needed and missing.any() and family(values.type) == "text":
            words = words_of(values)
            unread.add(self.name, words, missing & ~absent(words), *self.needed)

    @property
    def needed(self) -> tuple[str, str] | tuple[()]:
        """What words have to be, and what to do with others, which count as missing."""
        return ()

    def _write(self, values: ArrowArray, out: AnyArray, unread: Unread) -> AnyArray:
        """Outputs without the indicator, missing values filled in; returns where those are."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Number(Encoder):
    """Numbers and booleans as they are, times in seconds.

    Missing values are replaced by the median. `written`: they were given as text, which is accepted
    again (words that are not numbers count as missing).
    """

    fill: float
    written: bool = False

    kind = "numbers"
    measured = True
    families = NUMBERS

    @classmethod
    def learn(cls, name: str, values: ArrowArray) -> "Number":
        values = plain(values)
        numbers = numbers_of(values)
        seen = numbers[np.isfinite(numbers)]
        fill = float(np.median(seen)) if len(seen) else 0.0
        return cls(name, bool(np.isnan(numbers).any()), fill, family(values.type) == "text")

    def check_fields(self) -> None:
        self._refuse(bool(np.isfinite(self.fill)))

    def _names(self) -> list[str]:
        return [self.name]

    def _takes(self, kind: object) -> bool:
        return super()._takes(kind) or (self.written and family(kind) == "text")

    def numbers(self, values: ArrowArray) -> AnyArray:
        """The numbers of an Arrow array, NaN where one is missing."""
        return numbers_of(plain(values))

    def _write(self, values: ArrowArray, out: AnyArray, unread: Unread) -> AnyArray:
        numbers = numbers_of(values)
        missing = np.isnan(numbers)
        if missing.any():
            numbers = np.where(missing, self.fill, numbers)
        out[:, 0] = numbers
        return np.asarray(missing)

    @property
    def needed(self) -> tuple[str, str]:
        return "numbers", "Write them as numbers, or leave them empty to silence this warning."


@dataclass(frozen=True, eq=False)
class Coded(Encoder):
    """A row of a table of numbers for each category; the last row is for unknown categories.

    A missing value is the empty word.
    """

    levels: tuple[str, ...]

    kind = "text"

    def table_of_levels(self) -> AnyArray:
        """The table (m + 1, width) without a flag."""
        raise NotImplementedError

    def _takes(self, kind: ArrowType) -> bool:
        """Numbers too: a file whose values happen to be numbers has a numeric column."""
        own = family(kind)
        if own == "boolean":
            return "true" in self.levels or "false" in self.levels
        if own in ("integer", "float"):
            return any(map(is_number, self.levels))
        return own == "text"

    def _example(self) -> str:
        known = [word for word in self.levels if word]
        return f"text such as {known[-1]!r}" if known else "text"

    @cached_property
    def _known(self) -> ArrowArray:
        return pa.array(self.levels, pa.large_string())

    def _write(self, values: ArrowArray, out: AnyArray, unread: Unread) -> AnyArray:
        words, table = words_of(values), self.table_of_levels()
        found = pa.compute.index_in(words.fill_null(""), self._known).fill_null(len(self.levels))
        places, missing = found.to_numpy(zero_copy_only=False), absent(words)
        out[:, : table.shape[1]] = table[places]
        if self.complete:
            unread.add_unknown(self.name, words, (places == len(self.levels)) & ~missing)
        return missing

    @property
    def complete(self) -> bool:
        """Whether all values of the fit are among the levels."""
        return True


@dataclass(frozen=True, eq=False)
class Category(Coded):
    """An indicator of 0 and 1 for each value seen, one for two values; unseen ones are all 0."""

    @classmethod
    def learn(cls, name: str, values: ArrowArray) -> "Category":
        words = words_of(values)
        counts = words.drop_null().value_counts().to_pylist()
        counts.sort(key=lambda item: (-item["counts"], item["values"]))
        seen = tuple(sorted(item["values"] for item in counts[:_MOST_LEVELS]))
        return cls(name, words.null_count > 0, seen[1:] if len(seen) == 2 else seen)

    def _names(self) -> list[str]:
        return [f"{self.name}={level}" for level in self.levels]

    def table_of_levels(self) -> AnyArray:
        return np.eye(len(self.levels) + 1, len(self.levels))

    @property
    def complete(self) -> bool:
        """The first of two values has no level, and neither have the rarest of many."""
        return 1 < len(self.levels) < _MOST_LEVELS


@dataclass(frozen=True, eq=False)
class Levels(Coded):
    """Numbers of each category: table (m + 1, width), with a label for each column."""

    labels: tuple[str, ...]
    table: AnyArray

    measured = True

    def check_fields(self) -> None:
        self._refuse(self.table.shape == (len(self.levels) + 1, len(self.labels)))
        self._refuse(self.table.dtype.kind == "f" and bool(np.isfinite(self.table).all()))

    def _names(self) -> list[str]:
        return [f"{self.name} {label}" for label in self.labels]

    def table_of_levels(self) -> AnyArray:
        return self.table


class Means(Levels):
    """The mean target of each category, of each class where there are several."""


class Places(Levels):
    """The rank of each category in the declared order."""


@dataclass(frozen=True, eq=False)
class Date(Encoder):
    """Days since 1970, and year, month, day, weekday, hour and minute as far as they vary.

    `format`: the format of dates given as text. `fills`: the outputs of a missing date.
    """

    format: str
    parts: tuple[str, ...]
    fills: tuple[float, ...]

    kind = "dates"
    measured = True

    families = ("text", "date")

    @classmethod
    def learn(cls, name: str, values: ArrowArray, format_: str) -> "Date":
        moments = _moments(plain(values), format_)
        seen, flagged = moments.drop_null(), moments.null_count > 0
        if not len(seen):
            return cls(name, True, format_, ("days",), (0.0,))
        found = {part: _part(seen, part) for part in _PARTS}
        varying = {part: own for part, own in found.items() if np.ptp(own) > 0}
        varying = varying or {"days": found["days"]}
        fills = tuple(float(np.median(own)) for own in varying.values())
        return cls(name, flagged, format_, tuple(varying), fills)

    def check_fields(self) -> None:
        self._refuse(set(self.parts) <= set(_PARTS) and len(self.parts) == len(self.fills))
        self._refuse(bool(np.isfinite(self.fills).all()) and not _NO_DATE.search(self.format))

    def _names(self) -> list[str]:
        return [f"{self.name} {part}" for part in self.parts]

    def _write(self, values: ArrowArray, out: AnyArray, unread: Unread) -> AnyArray:
        moments = _moments(values, self.format)
        missing = absent(moments)
        for k, (part, fill) in enumerate(zip(self.parts, self.fills, strict=True)):
            out[missing, k] = fill
            out[~missing, k] = _part(moments.drop_null(), part)
        return missing

    @property
    def needed(self) -> tuple[str, str]:
        known = f"in the format {self.format!r} of the fit" if self.format else "such as 2026-05-31"
        return f"dates {known}", "Write them so, or convert the column with pandas.to_datetime."


def _moments(values: ArrowArray, format_: str) -> ArrowArray:
    """An Arrow array of dates, or of text in this format (empty: ISO 8601), to the second."""
    own = family(values.type)
    if own == "null":
        return pa.nulls(len(values), pa.timestamp("s"))
    if own == "text":
        import pandas

        words = words_of(values).to_pandas()
        read = pandas.to_datetime(words, format=format_ or "ISO8601", errors="coerce", utc=True)
        values = pa.Array.from_pandas(read.dt.tz_localize(None))
    return values.cast(pa.timestamp("s"), safe=False)


def _part(moments: ArrowArray, part: str) -> AnyArray:
    """One part of dates without missing values."""
    if part == "days":
        return np.asarray(moments.cast(pa.int64()).to_numpy() / 86400)
    name = "day_of_week" if part == "weekday" else part
    return np.asarray(getattr(pa.compute, name)(moments).to_numpy())


@dataclass(frozen=True, eq=False)
class Text(Encoder):
    """Free text by its n-grams of three and four bytes: latent semantic analysis.

    N-grams are hashed into bins. Their counts are multiplied by the inverse document frequency
    (weights (bins,)), scaled to unit length, and projected on directions (bins, topics), the
    leading right singular vectors of the sample.
    """

    weights: AnyArray
    directions: AnyArray

    kind = "text"
    exportable = False
    families = ("text", "integer")

    @classmethod
    def learn(cls, name: str, values: ArrowArray, seed: int) -> "Text":
        from sklearn.utils.extmath import randomized_svd

        words = words_of(values)
        counts = _ngrams(words)
        rarity = np.log((1 + counts.shape[0]) / (1 + (counts != 0).sum(axis=0))) + 1.0
        scaled = _unit_rows(counts @ sparse.diags_array(rarity))
        topics = min(_TOPICS, counts.shape[0])
        *_, right = randomized_svd(scaled, topics, random_state=seed)
        return cls(
            name, words.null_count > 0, rarity.astype(np.float32), right.T.astype(np.float32)
        )

    def check_fields(self) -> None:
        shapes = self.weights.shape, self.directions.shape[:1]
        self._refuse(shapes == ((_BINS,), (_BINS,)) and self.directions.ndim == 2)
        for array in (self.weights, self.directions):
            self._refuse(array.dtype.kind == "f" and bool(np.isfinite(array).all()))

    def _names(self) -> list[str]:
        return [f"{self.name} topic {k + 1}" for k in range(self.directions.shape[1])]

    def _write(self, values: ArrowArray, out: AnyArray, unread: Unread) -> AnyArray:
        words = words_of(values)
        scaled = _unit_rows(_ngrams(words) @ sparse.diags_array(self.weights.astype(np.float64)))
        out[:, : self.directions.shape[1]] = scaled @ self.directions
        return absent(words)


# Encoders by the kind that the description of a recipe names.
ENCODERS: dict[str, Any] = {
    one.__name__.lower(): one for one in (Number, Category, Means, Places, Date, Text)
}


def _ngrams(words: ArrowArray) -> sparse.csr_array:
    """Counts (n, bins) of the hashed n-grams of three and four bytes of each text."""
    lower = pa.compute.utf8_lower(pa.compute.fill_null(words, ""))
    space = pa.scalar(" ", pa.large_string())
    padded = pa.compute.binary_join_element_wise(space, lower, space, pa.scalar("", space.type))
    # Every text has at least its two spaces, so the buffer is not empty.
    _, offsets, letters = padded.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[padded.offset : padded.offset + len(words) + 1]
    lengths, joined = np.diff(ends), np.frombuffer(letters, dtype=np.uint8)[ends[0] : ends[-1]]
    owner = np.repeat(np.arange(len(words)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(joined))
    rows, bins = [], []
    for size in (3, 4):
        starts = np.flatnonzero(left >= size)
        code = np.full(len(starts), size, dtype=np.uint64)
        for step in range(size):
            code = code * np.uint64(257) + joined[starts + step]
        code *= np.uint64(0x9E3779B97F4A7C15)
        rows.append(owner[starts])
        bins.append((code >> np.uint64(32)) % np.uint64(_BINS))
    places = (np.concatenate(rows), np.concatenate(bins).astype(np.int64))
    ones = np.ones(len(places[0]))
    return sparse.csr_array(sparse.coo_array((ones, places), shape=(len(words), _BINS)))


def _unit_rows(counts: Any) -> sparse.csr_array:
    length = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array(1.0 / np.where(length > 0, length, 1.0)) @ counts)
