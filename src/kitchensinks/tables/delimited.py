"""CSV and TSV files, plain or gzipped, with a line of column names first."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kitchensinks.tables.arrow import pa
from kitchensinks.tables.kinds import family, is_number
from kitchensinks.tables.lines import TextTable
from kitchensinks.tables.table import check_schema

# Types are inferred from this many bytes at the start of the file, and as many further on.
_LOOK_BYTES = 2**20
# Places further on that these bytes come from.
_LOOKS = 8


class DelimitedTable(TextTable):
    """Types are inferred from bounded samples at several places of the file, and then fixed.

    Only whole numbers may become decimal ones, where a later row has a decimal number.
    """

    def __init__(self, path: Path, skip_bad_rows: bool) -> None:
        super().__init__(path, skip_bad_rows)
        with self._open() as file:
            header = file.readline()
        self._start = (len(header), 2)
        names = self._header(header)
        check_schema(self.label, names)
        self.schema = pa.schema([(name, pa.null()) for name in names])
        for part in self._samples():
            self._widen(self._infer(part))

    def _header(self, line: bytes) -> list[str]:
        try:
            text = line.removeprefix(b"\xef\xbb\xbf").decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{self.label}, line 1: byte {error.start + 1} is not UTF-8 text. Save the file "
                "as UTF-8."
            ) from None
        if ".tsv" in self._path.name.lower():
            self._delimiter = "\t"
        else:
            self._delimiter = max(",;\t", key=text.count)
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
        # Spreadsheets and pandas leave the column of row numbers without a name.
        names = [name.strip() or f"column {k}" for k, name in enumerate(names, start=1)]
        if names and all(map(is_number, names)):
            raise ValueError(
                f"{self.label}, line 1: {text[:60]!r} looks like data. The first line must have "
                "the names of the columns."
            )
        return names

    # Types.

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
                # Quoted line breaks could make the cut wrong: then these rows are not used.
                yield part[part.find(b"\n") + 1 : part.rfind(b"\n") + 1]

    def _infer(self, data: bytes) -> list[Any]:
        """Types of some rows as pyarrow infers them; null for rows that it cannot read."""
        if data.strip():
            try:
                types = self._convert(data, self.names, None)[0].schema.types
            except pa.ArrowException:
                types = None
            if types is not None:
                # Bytes that are no text are a mistake in a text column, not a column of bytes.
                return [pa.string() if pa.types.is_binary(kind) else kind for kind in types]
        return [pa.null()] * len(self.names)

    def _widen(self, types: list[Any]) -> None:
        joined = [_widest(*pair) for pair in zip(self.schema.types, types, strict=True)]
        self.schema = pa.schema(list(zip(self.names, joined, strict=True)))

    def widen(self, other: "DelimitedTable") -> None:
        """Give two files of one table the same types."""
        self._widen([other.schema.field(name).type for name in self.names])
        other._widen([self.schema.field(name).type for name in other.names])

    # Rows.

    def _convert(self, data: bytes, names: list[str], types: Any) -> tuple[Any, int]:
        """An Arrow table and the number of rows with too many or too few values."""
        ragged = []

        def note(row: Any) -> str:
            ragged.append(row.number)
            return "skip"

        table = pa.csv.read_csv(
            pa.BufferReader(data),
            read_options=pa.csv.ReadOptions(
                column_names=self.names, use_threads=False, block_size=max(1, len(data)) + 1
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=note
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=types, include_columns=names, strings_can_be_null=True
            ),
        )
        return table, len(ragged)

    def _parse(self, data: bytes, names: list[str]) -> Any:
        if not data.strip():
            return self.schema.empty_table().select(names)
        # A column that has had no value so far takes any text.
        empty = [name for name in names if pa.types.is_null(self.schema.field(name).type)]
        types = dict(zip(self.names, self.schema.types, strict=True))
        types.update(dict.fromkeys(empty, pa.string()))
        try:
            table, ragged = self._convert(data, names, types)
        except pa.ArrowException:
            return self._parse_wider(data, names)
        for name in empty:
            place = names.index(name)
            if table.column(place).null_count == table.num_rows:
                table = table.set_column(place, name, pa.nulls(table.num_rows))
            else:
                self._retype(name, pa.string())
        return None if ragged else table

    def _parse_wider(self, data: bytes, names: list[str]) -> Any:
        """Once more, with whole numbers as decimal ones where that is what the data has."""
        try:
            table, ragged = self._convert(data, self.names, None)
        except pa.ArrowException:
            return None
        found = zip(self.names, self.schema.types, table.schema.types, strict=True)
        wider = [
            name
            for name, mine, theirs in found
            if (family(mine), family(theirs)) == ("integer", "float")
        ]
        if ragged or not wider:
            return None
        for name in wider:
            self._retype(name, pa.float64())
        return self._parse(data, names)

    def _retype(self, name: str, kind: Any) -> None:
        place = self.names.index(name)
        self.schema = self.schema.set(place, pa.field(name, kind))

    def _complaint(self, data: bytes) -> str:
        """What is wrong with one row."""
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            return f"byte {error.start + 1}, 0x{data[error.start]:02x}, is not UTF-8 text"
        try:
            values = next(csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter), [])
        except csv.Error as error:
            return f"its values cannot be told apart ({error})"
        if len(values) != len(self.names):
            return f"{len(values)} values for {len(self.names)} columns"
        for name, value in zip(self.names, values, strict=True):
            try:
                types = {name: self.schema.field(name).type}
                self._convert(data, [name], types)
            except pa.ArrowException:
                kind = _in_words(types[name])
                return f"column {name!r} has {value!r} where other rows have {kind}"
        return "it cannot be read"


def _widest(mine: Any, theirs: Any) -> Any:
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


def _in_words(kind: Any) -> str:
    words = {"integer": "numbers", "float": "numbers", "boolean": "true and false"}
    return words.get(family(kind), "dates" if pa.types.is_temporal(kind) else "text")
