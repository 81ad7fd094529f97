"""From the columns of a table to numbers: a plain recipe, learned from a bounded sample.

skrub's TableVectorizer decides what text with digits in it is (dates, numbers written as text,
categories, free text); the recipe that applies the decision is our own, made of
lists and arrays, so that a model file can hold it without any code.
"""

import itertools
import sys
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import AnyArray, DType
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.tables.arrow import ArrowTable, pa
from kitchensinks.tables.declared import declared
from kitchensinks.tables.encoders import ENCODERS, Category, Date, Encoder, Means, Number, Text
from kitchensinks.tables.kinds import NUMBERS, family
from kitchensinks.tables.named import FROM_DTYPE, columns_named
from kitchensinks.tables.noticed import (
    as_text,
    date_format,
    tell_empty,
    without_identifiers,
)
from kitchensinks.tables.table import Table, digest
from kitchensinks.tables.unread import Unread
from kitchensinks.tables.words import words_of

# Rows that a recipe is learned from.
_MOST_ROWS = 20_000
# The sample consists of this many runs of consecutive rows.
_RUNS = 32
# Text with at most this many different values is a category.
_FEW = 40
# Columns that the repr of a recipe names.
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Columns:
    """Which columns of a table become which columns of numbers.

    >>> import pyarrow
    >>> from kitchensinks.tables.table import open_table
    >>> table = open_table(pyarrow.table({"age": [30, None], "tall": [True, False], "y": [0, 1]}))
    >>> columns = Columns.learn(table, exclude=["y"])
    >>> columns.outputs
    ['age', 'age is missing', 'tall']
    >>> columns
    Columns(2 as 3 numbers: age number, tall number)
    >>> columns.apply(next(table.batches(columns.inputs)))
    array([[30.,  0.,  1.],
           [30.,  1.,  0.]])

    n_given: columns of the arrays that the recipe is for, named x0, x1, … by their places; 0 where
    it is for tables.
    """

    encoders: tuple[Encoder, ...]
    dtype: DType
    n_given: int = 0

    def __repr__(self) -> str:
        shown = [f"{one.name} {type(one).__name__.lower()}" for one in self.encoders[:_SHOWN]]
        more = ", …" if len(self.encoders) > _SHOWN else ""
        return f"Columns({len(self.encoders)} as {self.width} numbers: {', '.join(shown)}{more})"

    @classmethod
    def of_array(cls, rows: AnyArray) -> "Columns":
        """A recipe for arrays (n, d) like this one, in which NaN is a missing value.

        As in `learn`, missing numbers are replaced by the median of their column, and a further
        column indicates them. Columns without any value are left out. A complete column takes its
        mean over the rows, whatever their weights, for values that are missing later.

        >>> rows = np.array([[1.0, np.nan, 5.0], [2.0, np.nan, np.nan]])
        >>> recipe = Columns.of_array(rows)
        >>> recipe.inputs, recipe.of_rows(rows).tolist()
        (['x0', 'x2'], [[1.0, 5.0, 0.0], [2.0, 5.0, 1.0]])
        """
        encoders = []
        for name, column in zip(names_of_places(rows.shape[1]), rows.T, strict=True):
            seen = column[~np.isnan(column)]
            if len(seen):
                gaps = len(seen) < len(column)
                median = np.median(seen[:: -(-len(seen) // _MOST_ROWS)])
                fill = median if gaps else seen.mean(dtype=np.float64)
                encoders.append(Number(name, gaps, float(fill)))
        if not encoders:
            raise ValueError("X has no value that is not missing: need numbers to learn from.")
        return cls(tuple(encoders), rows.dtype, rows.shape[1])

    @classmethod
    def learn(
        cls,
        table: Table,
        exclude: Iterable[str] = (),
        seed: int = 0,
        identifiers: bool | str | int = False,
        categories: object = FROM_DTYPE,
    ) -> "Columns":
        """A recipe for all columns but the excluded ones.

        Columns without any value are left out, with a warning. So are identifiers: columns of
        integers or single words in which every row has a different value. They identify rows and
        carry no information about new ones. identifiers: True keeps them, and the name or place of
        a column keeps that one. categories: columns to treat as categorical whatever their type, as
        in `categorical_features` of the estimators.
        """
        left_out = set(exclude)
        table.check_names(left_out)
        names = [name for name in table.names if name not in left_out]
        if not names:
            raise ValueError(f"{table.label} has no columns other than {sorted(left_out)}.")
        sample = _sample(table, names, seed)
        kinds = {name: _plain_kind(table, name, sample) for name in names}
        chosen = columns_named(categories, names)
        kinds |= {name: _chosen_kind(table, name) for name in chosen}
        kinds, formats = _decided(kinds, sample)
        odd = as_text(sample, kinds, chosen)
        if identifiers is not True:
            kept = odd.union(chosen, _named(identifiers, table))
            names = without_identifiers(sample, kinds, kept)
        known = {name: kinds[name] for name in names if kinds[name] != "null"}
        encoders = _learn_each(known, sample, formats, seed)
        if not encoders:
            raise ValueError(f"{table.label} has no column with values to learn from.")
        tell_empty(names, (one.name for one in encoders), sampled=len(sample) < table.n_rows)
        return cls(tuple(encoders), _dtype_of(encoders, table))

    @property
    def inputs(self) -> list[str]:
        """Names of the columns of the table that are used."""
        return [encoder.name for encoder in self.encoders]

    @property
    def outputs(self) -> list[str]:
        """Names of the columns of numbers."""
        return [name for encoder in self.encoders for name in encoder.outputs()]

    def _outputs_of(self, names: Sequence[str] | None) -> list[str]:
        """Names of the columns of numbers, by those of arrays where these have any."""
        if names is None or not self.n_given:
            return self.outputs
        own = (replace(e, name=str(names[_place(e.name)])) for e in self.encoders)
        return [name for encoder in own for name in encoder.outputs()]

    @property
    def unscaled(self) -> AnyArray:
        """True for each column of numbers that must not be standardised (indicators, text)."""
        return np.array([mark for encoder in self.encoders for mark in encoder.unscaled()])

    @property
    def groups(self) -> list[slice]:
        """Where the numbers of each column of the table stand."""
        edges = np.cumsum([0] + [encoder.width for encoder in self.encoders])
        return [slice(low, high) for low, high in itertools.pairwise(edges.tolist())]

    @property
    def width(self) -> int:
        return sum(encoder.width for encoder in self.encoders)

    def check(self, table: Table) -> None:
        """Raise an error where a table lacks a column, or has values of another type in it."""
        table.check_names(self.inputs, of_model=True)
        for encoder in self.encoders:
            encoder.check(table.schema.field(encoder.name).type, table.label)

    def apply(self, batch: ArrowTable) -> AnyArray:
        """A record batch, with its columns in any order, as numbers (n, width)."""
        unread = Unread()
        out = self._apply(batch, unread)
        unread.tell()
        return out

    def _apply(self, batch: ArrowTable, unread: Unread) -> AnyArray:
        """As `apply`; words that are neither numbers nor dates, where needed, are counted."""
        out = np.empty((batch.num_rows, self.width), dtype=self.dtype)
        done = 0
        for encoder in self.encoders:
            stop = done + encoder.width
            encoder.write(batch.column(encoder.name), out[:, done:stop], unread)
            done = stop
        unread.rows += batch.num_rows
        return out

    @property
    def given(self) -> list[int]:
        """For arrays: the indices of the columns that are used."""
        return [_place(name) for name in self.inputs]

    @cached_property
    def coded(self) -> bool:
        """Whether the recipe is for arrays and treats some of their columns as categorical."""
        return self.n_given > 0 and not all(type(one) is Number for one in self.encoders)

    @cached_property
    def places(self) -> tuple[AnyArray, ...]:
        """For numeric arrays: indices of the columns used, which of them have an indicator of
        missing values, their fill values, and the output indices of the numbers and indicators."""
        places = np.array(self.given)
        flagged = np.array([encoder.flagged for encoder in self.encoders])
        fills = np.array([encoder.fill for encoder in self.encoders if isinstance(encoder, Number)])
        ends = np.cumsum(1 + flagged)
        return places, flagged, fills, ends - 1 - flagged, ends[flagged] - 1

    def of_rows(self, rows: AnyArray) -> AnyArray:
        """An array (n, n_given) as numbers (n, width)."""
        if self.coded:
            return self.apply(array_table(rows, self.inputs))
        places, flagged, fills, own, flags = self.places
        given = rows[:, places]
        missing = np.isnan(given)
        out = np.empty((len(rows), self.width), dtype=self.dtype)
        out[:, own] = np.where(missing, fills, given)
        out[:, flags] = missing[:, flagged]
        return out

    def of_places(self, count: int) -> "Columns":
        """The recipe of a table of `array_table`, for arrays of so many columns."""
        return replace(self, n_given=count)

    def fingerprint(self) -> str:
        """Text that changes when the recipe does."""
        description, arrays = self.describe()
        return digest(repr((description, [array.tobytes() for array in arrays.values()])))

    def describe(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """The recipe as plain JSON values, and its arrays by name."""
        arrays: dict[str, AnyArray] = {}
        items = []
        for number, encoder in enumerate(self.encoders):
            item: dict[str, Any] = {"kind": type(encoder).__name__.lower()}
            for entry in fields(encoder):
                value = getattr(encoder, entry.name)
                if isinstance(value, np.ndarray):
                    place = f"columns-{number}-{entry.name}"
                    arrays[place] = value
                    value = {"array": place}
                item[entry.name] = list(value) if isinstance(value, tuple) else value
            items.append(item)
        held = {"dtype": self.dtype.name, "columns": items}
        return (held | {"n_given": self.n_given} if self.n_given else held), arrays

    @classmethod
    def restore(cls, description: dict[str, Any], arrays: dict[str, AnyArray]) -> "Columns":
        """The inverse of `describe`; an error where the description is not valid."""
        encoders = []
        for item in description["columns"]:
            values = dict(item)
            kind = values.pop("kind")
            if kind not in ENCODERS:
                raise ValueError(f"A column of kind {kind!r} is not known to this version.")
            hints = typing.get_type_hints(ENCODERS[kind])
            known = {field.name for field in fields(ENCODERS[kind])}
            if not values.keys() <= known:
                raise ValueError(f"A column of kind {kind!r} with {sorted(values)}.")
            for name, value in values.items():
                if isinstance(value, list):
                    value = tuple(value)
                elif isinstance(value, dict):
                    value = arrays[value["array"]]
                values[name] = declared(value, hints[name], name)
            encoder = ENCODERS[kind](**values)
            encoder.check_fields()
            encoders.append(encoder)
        dtype = np.dtype(description["dtype"])
        if dtype not in (np.float32, np.float64) or not encoders:
            raise ValueError(f"{len(encoders)} columns as {dtype}")
        given = declared(description.get("n_given", 0), int, "n_given")
        kinds = (Number, Category, Means)
        if given and not all(type(e) in kinds and _place(e.name) < given for e in encoders):
            raise ValueError(f"columns of an array with {given} columns")
        return cls(tuple(encoders), dtype, given)


def array_table(rows: AnyArray, names: Iterable[str] | None = None) -> ArrowTable:
    """Columns of an array as an Arrow table, by their names x0, x1, … (None: all columns).

    In float64, so that a category is the same word in every dtype; NaN is a missing value.
    """
    names = names_of_places(rows.shape[1]) if names is None else list(names)
    values = [np.asarray(rows[:, _place(name)], dtype=np.float64) for name in names]
    return pa.table([pa.array(column, from_pandas=True) for column in values], names=names)


def names_of_places(count: int) -> list[str]:
    return [f"x{k}" for k in range(count)]


def _named(column: bool | str | int, table: Table) -> list[str]:
    """The column of a name or a place, in a list; none for False, and for a place out of range."""
    if isinstance(column, str):
        return [column]
    names = table.names
    inside = column is not False and -len(names) <= column < len(names)
    return [names[column]] if inside else []


def _place(name: str) -> int:
    """The index of an array column by its name, such as x0; a huge number for other names."""
    return int(name[1:]) if name[:1] == "x" and name[1:].isdecimal() else sys.maxsize


def _sample(table: Table, names: list[str], seed: int) -> ArrowTable:
    """A sample of the whole table, in runs of consecutive rows, as one Arrow table."""
    n_rows = table.n_rows
    if n_rows <= _MOST_ROWS:
        return pa.Table.from_batches(table.batches(names))
    size = _MOST_ROWS // _RUNS
    # One run in each of equal stretches of the table, at a random place.
    room = max(1, n_rows // _RUNS - size)
    shifts = Words(seed, 0, Stream.COLUMN_SAMPLE).raw(_RUNS) % np.uint64(room)
    starts = np.arange(_RUNS) * (n_rows // _RUNS) + shifts.astype(np.int64)
    places = (starts[:, None] + np.arange(size)).ravel()
    return pa.Table.from_batches(table.picked(names, places))


def _plain_kind(table: Table, name: str, sample: ArrowTable) -> str:
    """The kind of a column by its type or its words; "unsure" for text that skrub must judge."""
    kind = table.schema.field(name).type
    own = family(kind)
    if own == "category":
        if family(kind.value_type) in ("date", "decimal", "other"):
            raise ValueError(
                f"{table.label}: column {name!r} holds categories that are {kind.value_type}; "
                "need text, numbers or booleans. Convert it to dates, numbers or text first, for "
                f"example by X[{name!r}].astype(str)."
            )
        return own
    if own == "text":
        return _kind_of_words(sample.column(name))
    if own == "other":
        raise ValueError(
            f"{table.label}: column {name!r} holds {kind}; need numbers, text, dates or "
            "booleans. Exclude it, or convert it first."
        )
    return "number" if own in NUMBERS else own


def _chosen_kind(table: Table, name: str) -> str:
    """The kind of a column that was declared categorical, or an error if its type cannot be."""
    kind = table.schema.field(name).type
    own = family(kind.value_type if family(kind) == "category" else kind)
    if own not in ("text", "boolean", "integer", "float", "null"):
        raise ValueError(
            f"{table.label}: column {name!r} is named as a category and holds {kind}; need text, "
            "numbers or booleans. Convert it first."
        )
    return "category"


def _kind_of_words(values: object) -> str:
    """Text with a value that has no digit is neither a number nor a date."""
    words = words_of(values).drop_null().unique()
    if pa.compute.all(pa.compute.match_substring_regex(words, "[0-9]")).as_py() is not False:
        return "unsure"
    return "category" if len(words) <= _FEW else "text"


def _dtype_of(encoders: list[Encoder], table: Table) -> DType:
    """float32 where it represents every value exactly, else float64."""
    narrow = (pa.float32(), pa.float16(), pa.bool_())
    exact = all(
        isinstance(one, Number) and table.schema.field(one.name).type in narrow for one in encoders
    )
    return np.dtype(np.float32 if exact else np.float64)


def _decided(kinds: dict[str, str], sample: ArrowTable) -> tuple[dict[str, str], dict[str, str]]:
    """Kinds of all columns, unsure ones decided by skrub, and the formats of dates in text."""
    unsure = [name for name, kind in kinds.items() if kind == "unsure"]
    if not unsure:
        return kinds, {}
    try:
        from skrub import TableVectorizer
    except ImportError as error:
        raise ImportError(
            f"Columns {unsure} are text, which needs skrub: "
            'pip install "kitchensinks[tables]", or exclude them.'
        ) from error
    names = {"numeric": "number", "datetime": "date", "low_cardinality": "category"}
    kept = dict.fromkeys([*names, "high_cardinality"], "passthrough")
    judge = TableVectorizer(cardinality_threshold=_FEW, **kept)
    judge.fit(sample.select(unsure).to_pandas(use_threads=False))
    kinds, formats = dict(kinds), {}
    for name in unsure:
        kind = judge.column_to_kind_.get(name)
        kinds[name] = "null" if kind is None else names.get(kind, "text")
        for step in judge.all_processing_steps_[name]:
            if hasattr(step, "format_"):
                formats[name] = step.format_ or ""
    return kinds, formats


def _learn_each(
    kinds: dict[str, str], sample: ArrowTable, formats: dict[str, str], seed: int
) -> list[Encoder]:
    """The encoders of the columns that have any value."""
    encoders: list[Encoder] = []
    for name, kind in kinds.items():
        values = sample.column(name).combine_chunks()
        if values.null_count == len(values):
            continue
        if kind == "date":
            format_ = date_format(name, values, formats.get(name, ""))
            encoders.append(Date.learn(name, values, format_))
        elif kind == "text":
            encoders.append(Text.learn(name, values, seed))
        else:
            encoders.append((Number if kind == "number" else Category).learn(name, values))
    return encoders
