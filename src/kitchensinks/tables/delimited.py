"""CSV and TSV files, plain or gzipped, with a line of column names first."""

import csv
import heapq
import io
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kitchensinks.tables.arrow import ArrowTable, ArrowType, pa
from kitchensinks.tables.kinds import family, in_words, is_number
from kitchensinks.tables.lines import TextTable, blank
from kitchensinks.tables.table import check_schema

# Longest line of column names, in bytes: a file without line breaks is not a table.
_LONGEST_HEADER = 2**24
# Most columns of a table: Arrow needs about ten kilobytes for each, however short the file.
_MOST_COLUMNS = 100_000
# Types are inferred from this many bytes at the start, and as many from the rest of the file.
_LOOK_BYTES = 2**20
# Number of samples, including the one at the start.
_LOOKS = 8
# Values between semicolons that are numbers with a decimal comma, as spreadsheets write them in
# many countries, and those with a decimal point. Three digits after a comma may be thousands.
_WITH_COMMA = re.compile(rb"(?:^|;)[+-]?[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})(?=;|\r?$)", re.MULTILINE)
_WITH_POINT = re.compile(rb"(?:^|;)[+-]?[0-9]*\.[0-9]+(?=;|\r?$)", re.MULTILINE)


def delimiter_of(name: str, header: str) -> str:
    """What stands between values, by the file's name and the line of column names.

    >>> delimiter_of("a.csv", "x;y"), delimiter_of("b.csv", "x|y"), delimiter_of("c.tsv", "x, or y")
    (';', '|', '\\t')
    """
    plain = name.lower().removesuffix(".gz")
    return "\t" if plain.endswith(".tsv") else max(",;\t|", key=header.count)


def decimal_mark_of(delimiter: str, data: bytes) -> str:
    """What stands before the decimals of numbers: a comma where values between semicolons have one
    and none has a point. Three digits after a comma may be thousands, and do not count.

    >>> decimal_mark_of(";", b"3;1,5"), decimal_mark_of(";", b"1,5;2.5")
    (',', '.')
    """
    comma = delimiter == ";" and _WITH_COMMA.search(data) and not _WITH_POINT.search(data)
    return "," if comma else "."


class DelimitedTable(TextTable):
    """Types are inferred from bounded samples of several parts of the file, and then fixed.

    The only exception: integers become floats where a later row holds a decimal number.
    """

    def __init__(self, path: Path, skip_bad_rows: bool) -> None:
        super().__init__(path, skip_bad_rows)
        with self._open() as file:
            header = file.readline(_LONGEST_HEADER)
        if len(header) == _LONGEST_HEADER:
            raise ValueError(
                f"{self.label}, line 1 does not end within {_LONGEST_HEADER} bytes: need the names "
                "of the columns on a line of their own."
            )
        self._start = (len(header), 2)
        names = self._header(header)
        values = [name for name, count in Counter(names).items() if count > 1 and is_number(name)]
        if values:
            raise ValueError(
                f"{self.label}, line 1: {values[0]} is there twice, and the names of the columns "
                "are needed: add a line of names above the rows, or rename one of these columns."
            )
        check_schema(self.label, names)
        self.schema = pa.schema([(name, pa.null()) for name in names])
        samples = list(self._samples())
        self._mark = decimal_mark_of(self._delimiter, b"\n".join(samples))
        for part in samples:
            self._widen(self._infer(part))

    def _header(self, line: bytes) -> list[str]:
        try:
            text = line.removeprefix(b"\xef\xbb\xbf").decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{self.label}, line 1: byte {error.start + 1} is not UTF-8 text. Save the file "
                "as UTF-8."
            ) from None
        self._delimiter = delimiter_of(self._path.name, text)
        self._separator = self._delimiter.encode()
        if "\r" in text or not text.strip():
            raise ValueError(
                f"{self.label}, line 1: need the names of the columns on a line of their own that "
                "ends in a line feed."
            )
        try:
            names = next(csv.reader([text], delimiter=self._delimiter), [])
        except csv.Error as error:
            raise ValueError(
                f"{self.label}, line 1: the names of the columns cannot be read ({error}). Need "
                "short names on a line of their own."
            ) from None
        if len(names) > _MOST_COLUMNS:
            raise ValueError(
                f"{self.label}, line 1: {len(names)} columns are more than the {_MOST_COLUMNS} "
                "that a table may have. Give fit an array or a sparse matrix."
            )
        # Spreadsheets and pandas leave the column of row numbers without a name.
        names = [name.strip() or f"column {k}" for k, name in enumerate(names, start=1)]
        if names and all(map(is_number, names)):
            raise ValueError(
                f"{self.label}, line 1: {text[:60]!r} looks like data. The first line must have "
                "the names of the columns."
            )
        return names

    def _samples(self) -> Iterator[bytes]:
        """Whole rows from the start of the file and, unless it is compressed, further on."""
        start, size = self._start[0], self._path.stat().st_size
        with self._open() as file:
            file.seek(start)
            head = file.read(_LOOK_BYTES)
            yield head if len(head) < _LOOK_BYTES else head[: head.rfind(b"\n") + 1] or head
            if not self.seekable or size <= _LOOK_BYTES + start:
                return
            for place in range(1, _LOOKS):
                file.seek(max(start, place * size // _LOOKS))
                part = file.read(_LOOK_BYTES // _LOOKS)
                # Quoted line breaks may cut a row in two: then this sample cannot be parsed.
                yield part[part.find(b"\n") + 1 : part.rfind(b"\n") + 1]

    def _infer(self, data: bytes) -> list[ArrowType]:
        """Types of some rows as pyarrow infers them; null for rows that it cannot read."""
        types = [pa.null()] * len(self.names)
        if data.strip():
            # Arrow cannot report skipped rows unless they are valid text.
            text = data.decode(errors="replace").encode()
            with suppress(pa.ArrowException):
                types = self._convert(text, self.names, None, skip=True).schema.types
        # Invalid text is an error in a text column, not a column of bytes.
        return [pa.string() if pa.types.is_binary(kind) else kind for kind in types]

    def _widen(self, types: list[ArrowType]) -> None:
        joined = [_widest(*pair) for pair in zip(self.schema.types, types, strict=True)]
        self.schema = pa.schema(list(zip(self.names, joined, strict=True)))

    def widen(self, other: "DelimitedTable") -> None:
        """Give two files of one table the same types."""
        self._widen([other.schema.field(name).type for name in self.names])
        other._widen([self.schema.field(name).type for name in other.names])

    def _convert(
        self, data: bytes, names: list[str], types: object, skip: bool = False
    ) -> ArrowTable:
        """An Arrow table; rows with too many or too few values are left out, or an error."""
        return pa.csv.read_csv(
            pa.BufferReader(data),
            read_options=pa.csv.ReadOptions(
                column_names=self.names, use_threads=False, block_size=max(1, len(data)) + 1
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=self._delimiter,
                newlines_in_values=True,
                invalid_row_handler=(lambda row: "skip") if skip else None,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=types,
                include_columns=names,
                strings_can_be_null=True,
                decimal_point=self._mark,
            ),
        )

    def _parse(self, data: bytes, names: list[str]) -> ArrowTable:
        if blank(data):
            return self.schema.empty_table().select(names)
        # A column without values so far may hold any text.
        empty = [name for name in names if pa.types.is_null(self.schema.field(name).type)]
        types = dict(zip(self.names, self.schema.types, strict=True))
        types.update(dict.fromkeys(empty, pa.string()))
        try:
            table = self._convert(data, names, types)
        except pa.ArrowException:
            return self._parse_wider(data, names)
        for name in empty:
            place = names.index(name)
            if table.column(place).null_count == table.num_rows:
                table = table.set_column(place, name, pa.nulls(table.num_rows))
            else:
                self._retype(name, pa.string())
        return table

    def _parse_wider(self, data: bytes, names: list[str]) -> ArrowTable:
        """Parse again, with integer columns as floats where the data hold decimal numbers."""
        try:
            table = self._convert(data, self.names, None)
        except pa.ArrowException:
            return None
        wider = False
        for mine, theirs in zip(self.schema, table.schema, strict=True):
            if (family(mine.type), family(theirs.type)) == ("integer", "float"):
                self._retype(mine.name, pa.float64())
                wider = True
        return self._parse(data, names) if wider else None

    def _bad_rows(self, rows: list[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """Rows with a wrong number of values, found by counting, and those found by bisection."""
        separator = self._delimiter.encode()
        others: list[tuple[int, bytes]] = []
        ragged: list[tuple[int, bytes]] = []
        for line, data in rows:
            wrong = b'"' not in data and data.count(separator) != len(self.names) - 1
            (ragged if wrong else others).append((line, data))
        return heapq.merge(ragged, super()._bad_rows(others) if others else ())

    def _retype(self, name: str, kind: object) -> None:
        place = self.names.index(name)
        self.schema = self.schema.set(place, pa.field(name, kind))

    def _complaint(self, data: bytes) -> str:
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            return (
                f"byte {error.start + 1}, 0x{data[error.start]:02x}, is not UTF-8 text (of a file "
                "in Latin-1, iconv -f latin1 -t utf8 makes it)"
            )
        try:
            values = next(csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter), [])
        except csv.Error as error:
            return f"its values cannot be told apart ({error})"
        if len(values) != len(self.names):
            return f"{len(values)} values for {len(self.names)} columns"
        for name, value in zip(self.names, values, strict=True):
            try:
                types = {name: self.schema.field(name).type}
                self._convert(data, [name], types, skip=True)
            except pa.ArrowException:
                kind = in_words(types[name])
                return f"column {name!r} has {value!r} where other rows have {kind}"
        return "it cannot be read"


def _widest(mine: ArrowType, theirs: ArrowType) -> ArrowType:
    """A type for the values of both."""
    types = pa.types
    if mine == theirs:
        return mine
    for one, other in ((mine, theirs), (theirs, mine)):
        if family(other) == "null" or (family(one), family(other)) == ("float", "integer"):
            return one
        if types.is_timestamp(one) and types.is_date(other):
            return one
    return pa.string()
