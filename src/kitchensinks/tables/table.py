"""Tables with named columns: in memory, Parquet, CSV, .npy and svmlight.

A table can be read any number of times, from any row, in Arrow record batches of bounded size. It
is never loaded as a whole.
"""

import glob
import hashlib
import itertools
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from kitchensinks.numerics.arrays import AnyArray, Bools, Ints
from kitchensinks.numerics.threads import thread_count
from kitchensinks.tables.arrays import block_slices, with_dense_columns
from kitchensinks.tables.arrow import ArrowSchema, ArrowTable, pa
from kitchensinks.tables.kinds import plain_columns, without_codes
from kitchensinks.tables.spelling import in_short, nearest, to_rename

# A record batch has at most this many rows.
BATCH_ROWS = 2**16
# A record batch has at most this many entries.
BATCH_ENTRIES = 2**20
_JUMP = 2**17
_DELIMITED = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_SVMLIGHT = (".svm", ".libsvm", ".svmlight", ".txt")
_KINDS = f"Parquet, {', '.join(_DELIMITED)}, .npy, {', '.join(_SVMLIGHT)}"


@dataclass
class BadRows:
    """The number of rows that could not be read, and the lines of the first ones."""

    count: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, line: int) -> None:
        self.count += 1
        if len(self.lines) < 10:
            self.lines.append(line)

    def __str__(self) -> str:
        if not self.count:
            return "no bad rows"
        more = ", …" if self.count > len(self.lines) else ""
        rows = "row" if self.count == 1 else "rows"
        return f"{self.count} bad {rows} skipped (line {', '.join(map(str, self.lines))}{more})"


class Table:
    """Rows with named columns; `open_table` makes one.

    `label` is its name in messages; `seekable`: reading can start at any row at little cost;
    `told`: columns with words that were not read, of which there has been a warning.
    """

    label: str
    schema: ArrowSchema
    seekable = True
    told: frozenset[str] = frozenset()

    @property
    def empty(self) -> bool:
        """Whether the beginning of a file says that it has no rows."""
        return False

    def __repr__(self) -> str:
        names = self.names
        shown = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
        return f"<{type(self).__name__} {self.label}: {len(names)} columns, {shown}>"

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    @property
    def n_rows(self) -> int:
        raise NotImplementedError

    @property
    def bad_rows(self) -> BadRows:
        return BadRows()

    def batches(self, columns: Sequence[str] | None = None, start: int = 0) -> Iterator[ArrowTable]:
        """Record batches of the given columns (None: all), from row `start` on, in order."""
        names = self.names if columns is None else list(columns)
        self.check_names(names)
        return (batch for batch in self._read(names, start) if batch.num_rows)

    def _read(self, names: list[str], start: int) -> Iterator[ArrowTable]:
        raise NotImplementedError

    @property
    def jump(self) -> int:
        """A gap of more rows than this is skipped, in seekable tables, instead of read."""
        return _JUMP

    def picked(self, columns: Sequence[str], places: Ints) -> Iterator[ArrowTable]:
        """Copies of the rows at rising places, in record batches."""
        done = 0
        while done < len(places):
            first = int(places[done])
            for batch in self.batches(columns, first):
                stop = int(np.searchsorted(places, first + batch.num_rows))
                if stop > done:
                    yield batch.take(places[done:stop] - first)
                first, done = first + batch.num_rows, stop
                if done == len(places) or (self.seekable and places[done] - first > self.jump):
                    break

    def fingerprint(self) -> dict[str, str]:
        """Named facts that change when the rows do, to recognise the same table again.

        They depend neither on the name of a file nor on its date.
        """
        rows, content = str(self.n_rows), self._content()
        return {"rows": rows, "columns": digest(str(self.schema)), "content": content}

    def _content(self) -> str:
        """A checksum of all values."""
        found = 0
        for batch in self.batches():
            # A serialised batch has the codes of categories alone.
            columns = [without_codes(column) for column in batch.columns]
            found = zlib.crc32(pa.record_batch(columns, names=self.names).serialize(), found)
        return f"{found:08x}"

    def check_names(self, columns: Iterable[str], of_model: bool = False) -> None:
        """Raise an error that names the unknown columns, and the known one nearest to the first.

        of_model: a model needs these names, so that it is the table's that have to change.
        """
        known, asked = set(self.names), list(columns)
        missing = [name for name in asked if name not in known]
        if missing:
            more = f" (nor {in_short(missing[1:])})" if missing[1:] else ""
            if of_model:
                hint = to_rename(missing[0], self.names, set(asked))
            else:
                hint = nearest(missing[0], self.names)
            raise ValueError(f"{self.label} has no column {missing[0]!r}{more}{hint}")


def batch_rows(n_columns: int) -> int:
    """The number of rows in a batch."""
    return max(1, min(BATCH_ROWS, BATCH_ENTRIES // max(1, n_columns)))


def open_table(source: object, skip_bad_rows: bool = False) -> Table:
    """A table from a path (file, folder or pattern) or from a pandas, polars or Arrow table.

    Parquet files and folders, CSV and TSV (also gzipped, with a line of names first), .npy and
    svmlight text. A row that cannot be read is an error that names its line, unless
    `skip_bad_rows`: then it is left out and counted in `bad_rows`.

    >>> import pyarrow
    >>> table = open_table(pyarrow.table({"age": [30, 41], "city": ["Oslo", "Rome"]}))
    >>> table.names, table.n_rows
    (['age', 'city'], 2)
    >>> [batch.to_pydict() for batch in table.batches(["city"], start=1)]
    [{'city': ['Rome']}]
    """
    if isinstance(source, Table):
        return source
    if not isinstance(source, str | os.PathLike):
        return MemoryTable(_to_arrow(source))
    paths = _expand(str(source))
    root = Path(source) if Path(source).is_dir() else None
    tables = [_open_file(path, root or path.parent, skip_bad_rows) for path in paths]
    # Parts without rows, as Spark writes them, are left out.
    filled = [table for table in tables if not table.empty]
    if not filled:
        raise ValueError(f"{source} has no rows.")
    return filled[0] if len(tables) == 1 else Stack(str(source), filled)


def files_of(source: str) -> list[Path]:
    """The files that `open_table` would read; none if the path does not exist."""
    try:
        return _expand(source)
    except (ValueError, OSError):
        return []


def _expand(source: str) -> list[Path]:
    """The files of a path, folder or pattern, in a fixed order."""
    path = Path(source)
    if path.is_file():
        return [path]
    if path.is_dir():
        found = [part for part in path.rglob("*") if part.is_file() and _is_data(part, path)]
        if not found:
            raise ValueError(f"{source} has no data files in it: need {_KINDS}.")
    else:
        found = [Path(name) for name in glob.glob(source, recursive=True)]
        found = [part for part in found if part.is_file()]
        if not found:
            raise FileNotFoundError(f"{source} does not exist: need a file, a folder or a pattern.")
    # Of several files, those without a byte have nothing to say.
    return sorted(part for part in found if part.stat().st_size) or sorted(found)


def _is_data(path: Path, folder: Path) -> bool:
    """Whether a file in a folder is a data file; auxiliary files begin with _ or ."""
    inside = path.relative_to(folder).parts
    if any(part.startswith(("_", ".")) for part in inside):
        return False
    return path.name.lower().endswith((".parquet", ".pq", ".npy", *_DELIMITED, *_SVMLIGHT))


def _open_file(path: Path, root: Path, skip_bad_rows: bool) -> Table:
    name = path.name.lower()
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty: need a file with rows.")
    if name.endswith(_DELIMITED):
        from kitchensinks.tables.delimited import DelimitedTable

        return DelimitedTable(path, skip_bad_rows)
    if name.endswith(_SVMLIGHT):
        from kitchensinks.tables.svmlight import SvmlightTable

        return SvmlightTable(path, skip_bad_rows)
    if name.endswith(".npy"):
        from kitchensinks.tables.stored import NpyTable

        return NpyTable(path)
    with path.open("rb") as file:
        mark = file.read(4)
    if mark == b"PAR1" or name.endswith((".parquet", ".pq")):
        from kitchensinks.tables.parquet import ParquetTable

        return ParquetTable(path, root)
    raise ValueError(f"{path} is of no known kind: need {_KINDS}.")


def _to_arrow(source: Any) -> ArrowTable:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    # A series and a LazyFrame are of these packages too.
    is_frame = type(source).__name__ == "DataFrame"
    kind = type(source).__module__.split(".")[0] if is_frame else ""
    if kind == "pandas":
        renamed = with_dense_columns(source.rename(columns=str))
        check_schema("the pandas table", list(renamed.columns))
        plain, count = _in_known_types(renamed), thread_count()
        try:
            return pa.Table.from_pandas(plain, preserve_index=False, nthreads=count)
        except OverflowError:
            raise ValueError(
                "A column of the pandas table has whole numbers of more than 64 bits: make it "
                "decimal numbers (float), or text."
            ) from None
        except UnicodeEncodeError as error:
            raise ValueError(
                f"A column of the pandas table has text that is no Unicode ({error.reason}): "
                "replace such letters (text.encode(errors='replace').decode())."
            ) from None
        except pa.ArrowException as error:
            raise ValueError(_mixed_column(plain) or str(error)) from None
    if kind == "polars":
        return source.to_arrow()
    raise TypeError(
        f"{type(source).__name__} is not a table: need a path, or a pandas, polars or Arrow table. "
        "Collect a LazyFrame first (.collect()), and make a frame of a series (.to_frame())."
    )


def _mixed_column(frame: Any) -> str:
    """What is wrong with the first column that Arrow has no type for, in words."""
    for name in frame.columns:
        try:
            pa.array(frame[name], from_pandas=True)
        except pa.ArrowException:
            kinds = sorted({type(value).__name__ for value in frame[name].dropna()})
            return (
                f"Column {name!r} of the pandas table has values of type {', '.join(kinds)}: need "
                "numbers, text, dates or booleans, and one kind in a column. Make it text, "
                f"X[{name!r}].astype(str), or numbers, pandas.to_numeric(X[{name!r}], "
                "errors='coerce'), or leave it out."
            )
    return ""


def _in_known_types(frame: Any) -> Any:
    """The frame with intervals (of `pandas.cut`) as text, in their order, and periods as the dates
    on which they begin."""
    for name, dtype in frame.dtypes.items():
        kinds = getattr(dtype, "categories", None)
        if kinds is not None and str(kinds.dtype).startswith("interval"):
            frame[name] = frame[name].cat.rename_categories([str(kind) for kind in kinds])
        elif str(dtype).startswith("interval"):
            frame[name] = frame[name].astype(str)
        elif str(dtype).startswith("period"):
            frame[name] = frame[name].dt.to_timestamp()
    return frame


def check_schema(label: str, names: list[str]) -> None:
    """Raise an error if there are no columns, or two of the same name."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"{label} has two columns named {twice[0]!r}: rename one of them.")
    if not names:
        raise ValueError(f"{label} has no columns.")


class MemoryTable(Table):
    label = "The table"

    def __init__(self, table: ArrowTable) -> None:
        self._table = plain_columns(table, self.label)
        check_schema(self.label, self._table.column_names)
        if table.num_rows == 0:
            raise ValueError("The table has no rows.")
        self.schema = self._table.schema

    @property
    def n_rows(self) -> int:
        return int(self._table.num_rows)

    def where(self, chosen: Bools) -> "MemoryTable":
        """The table of some of the rows."""
        return MemoryTable(self._table.filter(pa.array(chosen)))

    def _read(self, names: list[str], start: int) -> Iterator[ArrowTable]:
        part = self._table.select(names).slice(start)
        yield from part.to_batches(max_chunksize=batch_rows(len(names)))


class Stack(Table):
    """Several tables of the same columns, one after another."""

    def __init__(self, label: str, tables: list[Table]) -> None:
        self.label, self._tables = label, tables
        self._unify_types()

    @property
    def schema(self) -> ArrowSchema:
        return self._tables[0].schema

    def _unify_types(self) -> None:
        """Check that the columns are the same; widen the types of text files."""
        first, *others = self._tables
        for other in others:
            if type(other) is not type(first):
                # Often the same rows in two formats, which would be counted twice.
                raise ValueError(
                    f"{first.label} and {other.label} are of different kinds: name the files of "
                    "one kind with a pattern, such as 'folder/*.csv'."
                )
            other.check_names(first.names)
            first.check_names(other.names)
        # The first pass widens the types of the first file, the second those of all others.
        for other in 2 * others:
            if hasattr(first, "widen"):
                first.widen(other)
        for other, name in itertools.product(others, first.names):
            mine, theirs = first.schema.field(name).type, other.schema.field(name).type
            if mine != theirs:
                raise ValueError(
                    f"Column {name!r} is {mine} in {first.label} and {theirs} in {other.label}: "
                    "files of one table need the same types."
                )

    @cached_property
    def _ends(self) -> AnyArray:
        ends = np.cumsum([table.n_rows for table in self._tables])
        # Types of text files may have been widened while rows were counted.
        self._unify_types()
        return ends

    @property
    def n_rows(self) -> int:
        return int(self._ends[-1])

    @property
    def seekable(self) -> bool:  # type: ignore[override]
        return all(table.seekable for table in self._tables)

    @property
    def jump(self) -> int:
        return max(table.jump for table in self._tables)

    @property
    def bad_rows(self) -> BadRows:
        parts = [table.bad_rows for table in self._tables]
        lines = [line for part in parts for line in part.lines]
        return BadRows(sum(part.count for part in parts), lines[:10])

    def _read(self, names: list[str], start: int) -> Iterator[ArrowTable]:
        before = 0
        for table, end in zip(self._tables, self._ends, strict=True):
            if start < end:
                yield from table.batches(names, max(0, start - before))
            before = end

    def _content(self) -> str:
        return digest(repr([table.fingerprint() for table in self._tables]))


def digest(text: str) -> str:
    """Sixteen hexadecimal digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def checksum(array: Any) -> str:
    """The CRC-32 of every entry of an array or a sparse matrix, read in blocks."""
    found = 0
    for part in block_slices(array.shape[0], max(1, BATCH_ENTRIES // max(1, array.shape[1]))):
        block = array[part]
        pieces = [block.data, block.indices, block.indptr] if issparse(block) else [block]
        for piece in pieces:
            found = zlib.crc32(np.ascontiguousarray(piece).data, found)
    return f"{found:08x}"
