"""Text files in chunks of whole rows, with an index so that a walk can start anywhere."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kitchensinks.tables.table import BadRows, Table, batch_rows, file_fingerprint

CHUNK_BYTES = 2**22
# A quote that is not closed for so many chunks is a mistake.
_MOST_CHUNKS = 16


class Chunk(NamedTuple):
    """Whole rows of a text file: where they begin, the number of the first line, the bytes."""

    offset: int
    line: int
    data: bytes


@dataclass
class _Entry:
    """What the index knows of a chunk: offset, first line, first row, lines to leave out."""

    offset: int
    line: int
    row: int
    bad: list[int] = field(default_factory=list)


class TextTable(Table):
    """A text file. The first walk reads every column of every row, finds rows that are bad, and
    keeps an index; later walks leave out those rows whichever columns they ask for.
    """

    _bad: BadRows
    _checksum: int

    def __init__(self, path: Path, skip_bad_rows: bool) -> None:
        self.label, self._path, self._skip = str(path), path, skip_bad_rows
        self.seekable = not path.name.lower().endswith(".gz")

    # What a format declares.

    def _chunk_bytes(self) -> int:
        return CHUNK_BYTES

    def _first_row(self) -> tuple[int, int]:
        """Offset and line of the first row of data."""
        return 0, 1

    def _complaints(self, chunk: Chunk) -> Iterator[tuple[int, str]]:
        """The line of each bad row of a chunk, and what is wrong with it."""
        raise NotImplementedError

    def _parse(self, data: bytes, names: list[str]) -> Any:
        """An Arrow table of the columns named, or None where some row is bad."""
        raise NotImplementedError

    # Chunks and their index.

    @contextmanager
    def _open(self) -> Iterator[Any]:
        opener: Any = open if self.seekable else gzip.open
        try:
            with opener(self._path, "rb") as file:
                yield file
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{self.label}: the compressed file is damaged ({error}).") from None

    def _chunks(self, offset: int, line: int) -> Iterator[Chunk]:
        """The rest of the file in chunks that end where a row ends."""
        kept, size = b"", self._chunk_bytes()
        with self._open() as file:
            file.seek(offset)
            # Filled up to a whole chunk, so that where it ends depends on where it begins.
            while data := file.read(size - len(kept)):
                kept += data
                end = row_end(kept)
                if end == 0:
                    size += self._chunk_bytes()
                    if size > _MOST_CHUNKS * CHUNK_BYTES:
                        raise self._endless(line, kept)
                    continue
                yield Chunk(offset, line, kept[:end])
                offset, line = offset + end, line + kept.count(b"\n", 0, end)
                kept, size = kept[end:], self._chunk_bytes()
        if kept.count(b'"') % 2:
            raise self._endless(line, kept)
        if kept.strip():
            yield Chunk(offset, line, kept)

    def _endless(self, line: int, data: bytes) -> ValueError:
        return ValueError(
            f"{self.label}, line {line}: a quote is opened and not closed, or the line has no end, "
            f"in {len(data)} bytes. Close the quote, or double it if it is part of the value."
        )

    @cached_property
    def _index(self) -> tuple[list[_Entry], int]:
        """An entry for each chunk, and the number of rows."""
        entries, row = [], 0
        # A walk that failed before has left nothing behind.
        self._bad, self._checksum = BadRows(), 0
        for chunk in self._chunks(*self._first_row()):
            self._checksum = zlib.crc32(chunk.data, self._checksum)
            entry = _Entry(chunk.offset, chunk.line, row)
            table = self._parse(chunk.data, self.names)
            if table is None:
                table = self._sort_out(chunk, entry)
            entries.append(entry)
            row += table.num_rows
        if row == 0:
            raise ValueError(f"{self.label} has no rows of data: {self._bad}.")
        return entries, row

    def _sort_out(self, chunk: Chunk, entry: _Entry) -> Any:
        """The good rows of a chunk with bad ones in it; an error unless those may be skipped."""
        for line, complaint in self._complaints(chunk):
            if not self._skip:
                raise ValueError(
                    f"{self.label}, line {line}: {complaint}. Mend the line, or skip bad rows "
                    "(skip_bad_rows=True, --skip-bad-rows)."
                )
            self._bad.add(line)
            entry.bad.append(line)
        table = self._parse(self._without(chunk, entry.bad), self.names)
        assert table is not None, "a bad row was not found"
        return table

    def _without(self, chunk: Chunk, bad: list[int]) -> bytes:
        if not bad:
            return chunk.data
        left_out = set(bad)
        return b"".join(data for line, data in self._split(chunk) if line not in left_out)

    def _split(self, chunk: Chunk) -> Iterator[tuple[int, bytes]]:
        """The rows of a chunk with their lines, without a look at what is in them."""
        yield from enumerate(chunk.data.splitlines(keepends=True), chunk.line)

    # What every table has.

    @property
    def n_rows(self) -> int:
        return self._index[1]

    @property
    def bad_rows(self) -> BadRows:
        _ = self._index
        return self._bad

    def _read(self, names: list[str], start: int) -> Iterator[Any]:
        entries, n_rows = self._index
        if start >= n_rows:
            return
        rows = np.array([entry.row for entry in entries])
        first = int(np.searchsorted(rows, start, side="right")) - 1
        skip = start - entries[first].row
        chunks = self._chunks(entries[first].offset, entries[first].line)
        for entry, chunk in zip(entries[first:], chunks, strict=True):
            table = self._parse(self._without(chunk, entry.bad), names)
            if table is None or chunk.offset != entry.offset:
                raise ValueError(f"{self.label} has changed while it was being read.")
            yield from table.slice(skip).to_batches(max_chunksize=batch_rows(len(names)))
            skip = max(0, skip - table.num_rows)

    def fingerprint(self) -> dict[str, str]:
        # The index has seen every byte: so has the fingerprint.
        bad, content = self.bad_rows.count, f"{self._checksum:08x}"
        own = {"content": content, "bad rows": str(bad)}
        return {**file_fingerprint(self._path, self.schema), **own}


def row_end(data: bytes) -> int:
    """Just after the last line break that is not within quotes; 0 if there is none.

    >>> row_end(b'1,"a"' + bytes([10]) + b'2,"b' + bytes([10]) + b'c')
    6
    """
    end = data.rfind(b"\n") + 1
    quotes = data.count(b'"', 0, end)
    while quotes % 2 and end:
        before = data.rfind(b"\n", 0, end - 1) + 1
        quotes -= data.count(b'"', before, end)
        end = before
    return end
