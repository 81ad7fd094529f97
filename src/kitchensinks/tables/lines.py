"""Text files in chunks of whole rows, with an index to start reading at any row."""

import gzip
import itertools
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.tables.arrow import ArrowTable
from kitchensinks.tables.disk import Stamp
from kitchensinks.tables.table import BadRows, Table, batch_rows

CHUNK_BYTES = 2**22
# A quoted value longer than this many chunks is an error: its quote was never closed.
_MOST_CHUNKS = 16


@dataclass
class Chunk:
    """Whole rows of a text file: byte offset, number of the first line, and the bytes.

    row: the number of the first row; bad: the lines to leave out. The index fills them in.
    """

    offset: int
    line: int
    data: bytes
    row: int = 0
    bad: list[int] = field(default_factory=list)


class TextTable(Table):
    """A text file. The first pass parses every column of every row, finds bad rows and builds an
    index; later passes skip the bad rows whichever columns they read.
    """

    # Offset and line of the first row of data.
    _start = (0, 1)
    # Separator of values that may be quoted and contain line breaks; None: values are never quoted.
    _separator: bytes | None = None

    def __init__(self, path: Path, skip_bad_rows: bool) -> None:
        self.label, self._path, self._skip = str(path), path, skip_bad_rows
        self._stamp = Stamp.of(path)
        self.seekable = not path.name.lower().endswith(".gz")

    def _chunk_bytes(self) -> int:
        return CHUNK_BYTES

    def _parse(self, data: bytes, names: list[str]) -> ArrowTable:
        """An Arrow table of the columns named, or None where some row is bad."""
        raise NotImplementedError

    def _complaint(self, data: bytes) -> str:
        """What is wrong with one row."""
        raise NotImplementedError

    def _opened(self) -> Any:
        opener: Any = open if self.seekable else gzip.open
        return opener(self._path, "rb")

    @contextmanager
    def _open(self) -> Iterator[Any]:
        """The open file; errors while it is read name the file."""
        try:
            with self._opened() as file:
                yield file
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{self.label}: the compressed file is damaged ({error}).") from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise OSError(error.errno, reason, str(self._path)) from error

    def _chunks(self, offset: int, line: int) -> Iterator[Chunk]:
        """The rest of the file in chunks that end where a row ends."""
        kept, size = b"", self._chunk_bytes()
        self._stamp.check(self._path)
        with self._open() as file:
            file.seek(offset)
            # Chunks are always filled completely, so that the end of a chunk depends only on its
            # start. After a chunk that was enlarged for a long row, more than one may be left over.
            while len(kept) >= size or (data := file.read(size - len(kept))):
                if len(kept) < size:
                    self._stamp.check(self._path)
                    kept += data
                end = row_end(kept[:size], self._separator)
                if end == 0:
                    # Doubled, so that a long row is scanned a few times only.
                    size *= 2
                    if size > _MOST_CHUNKS * CHUNK_BYTES:
                        raise self._endless(line, kept)
                    continue
                yield Chunk(offset, line, kept[:end])
                offset, line = offset + end, line + kept.count(b"\n", 0, end)
                kept, size = kept[end:], self._chunk_bytes()
        self._stamp.check(self._path)
        if self._open_quote(kept):
            raise self._endless(line, kept)
        if not blank(kept):
            yield Chunk(offset, line, kept)

    def _open_quote(self, data: bytes) -> bool:
        if self._separator is None or b'"' not in data:
            return False
        ends = quoted_spans(data, self._separator)[1]
        return len(ends) > 0 and bool(ends[-1] > len(data))

    def _endless(self, line: int, data: bytes) -> ValueError:
        return ValueError(
            f"{self.label}, line {line}: a quote is opened and not closed, or the line has no end, "
            f"in {len(data)} bytes. Close the quote, or double it if it is part of the value."
        )

    @property
    def empty(self) -> bool:
        return next(self._chunks(*self._start), None) is None

    @cached_property
    def _index(self) -> tuple[list[Chunk], int, BadRows, int]:
        """Every chunk without its bytes, the number of rows, bad ones, and a checksum."""
        chunks, row, bad, checksum = [], 0, BadRows(), 0
        for chunk in self._chunks(*self._start):
            checksum = zlib.crc32(chunk.data, checksum)
            table = self._parse(chunk.data, self.names)
            if table is None:
                for line, data in self._bad_rows(list(self._split(chunk))):
                    if not self._skip:
                        raise ValueError(
                            f"{self.label}, line {line}: {self._complaint(data)}. Mend the line, "
                            "or skip bad rows (skip_bad_rows=True, --skip-bad-rows)."
                        )
                    bad.add(line)
                    chunk.bad.append(line)
                table = self._parse(self._good(chunk, chunk.bad), self.names)
                assert table is not None, "a bad row was not found"
            chunks.append(Chunk(chunk.offset, chunk.line, b"", row, chunk.bad))
            row += table.num_rows
        if row == 0:
            raise ValueError(f"{self.label} has no rows of data{f': {bad}' if bad.count else ''}.")
        return chunks, row, bad, checksum

    def _bad_rows(self, rows: list[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """Find the bad rows by bisection."""
        if self._parse(b"".join(data for _, data in rows), self.names) is not None:
            return
        if len(rows) == 1:
            yield rows[0]
            return
        yield from self._bad_rows(rows[: len(rows) // 2])
        yield from self._bad_rows(rows[len(rows) // 2 :])

    def _split(self, chunk: Chunk) -> Iterator[tuple[int, bytes]]:
        """Pairs (first line, bytes) of each row: a row continues while a quote is open."""
        data, starts = chunk.data, row_starts(chunk.data, self._separator)
        for (start, line), (stop, _) in itertools.pairwise([*starts, (len(data), 0)]):
            if not blank(data[start:stop]):
                yield chunk.line + line, data[start:stop]

    def _good(self, chunk: Chunk, bad: list[int]) -> bytes:
        if not bad:
            return chunk.data
        left_out = set(bad)
        return b"".join(data for line, data in self._split(chunk) if line not in left_out)

    @property
    def n_rows(self) -> int:
        return self._index[1]

    @property
    def jump(self) -> int:
        # Reading begins with a whole chunk.
        return 1 + self.n_rows // len(self._index[0])

    @property
    def bad_rows(self) -> BadRows:
        return self._index[2]

    def _read(self, names: list[str], start: int) -> Iterator[ArrowTable]:
        index = self._index[0]
        if start >= self.n_rows:
            return
        first = int(np.searchsorted([known.row for known in index], start, side="right")) - 1
        skip = start - index[first].row
        chunks = self._chunks(index[first].offset, index[first].line)
        for known, chunk in itertools.zip_longest(index[first:], chunks):
            same = known and chunk and chunk.offset == known.offset
            table = self._parse(self._good(chunk, known.bad), names) if same else None
            if table is None:
                raise ValueError(
                    f"{self.label} has changed while it was being read. Open it again when nobody "
                    "writes to it."
                )
            yield from table.slice(skip).to_batches(max_chunksize=batch_rows(len(names)))
            skip = max(0, skip - table.num_rows)

    def _content(self) -> str:
        return f"{self._index[3]:08x}"


def blank(data: bytes) -> bool:
    """Whether there is nothing but line breaks: a line of separators is a row of missing values."""
    return not data.strip(b"\r\n")


def row_end(data: bytes, separator: bytes | None = b",") -> int:
    """Just after the last line break that is not within a quoted value; 0 if there is none.

    data begins where a row does. separator: what stands between values; None where quotes are
    letters like any other.

    >>> row_end(b'1,"a"' + bytes([10]) + b'2,"b' + bytes([10]) + b'c')
    6
    """
    if separator is None or b'"' not in data:
        return data.rfind(b"\n") + 1
    breaks = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))
    outside = breaks[_unquoted(data, separator, breaks)]
    return int(outside[-1]) + 1 if len(outside) else 0


def row_starts(data: bytes, separator: bytes | None = b",") -> list[tuple[int, int]]:
    """Where rows begin, and how many lines lie before each: a row goes on while a quote is open.

    A line ends in a line feed, a carriage return, or both.

    >>> row_starts(b'1,"a' + bytes([10]) + b'b"' + bytes([10]) + b"2,c")
    [(0, 0), (8, 2)]
    """
    letters = np.frombuffer(data + b" ", dtype=np.uint8)
    feeds = letters[:-1] == ord("\n")
    returns = (letters[:-1] == ord("\r")) & (letters[1:] != ord("\n"))
    breaks = np.flatnonzero(feeds | returns)
    outside = _unquoted(data, separator, breaks)
    after = np.concatenate([[0], breaks[outside] + 1])
    lines = np.concatenate([[0], np.flatnonzero(outside) + 1])
    return list(zip(after.tolist(), lines.tolist(), strict=True))


def _unquoted(data: bytes, separator: bytes | None, breaks: AnyArray) -> AnyArray:
    """Which line breaks are not within a quoted value."""
    if separator is None or b'"' not in data:
        return np.ones(len(breaks), dtype=bool)
    starts, ends = quoted_spans(data, separator)
    # The end of the last quoted part that begins before a line break.
    before = np.concatenate([[0], ends])[np.searchsorted(starts, breaks)]
    return np.asarray(breaks >= before)


def quoted_spans(data: bytes, separator: bytes) -> tuple[AnyArray, AnyArray]:
    """Where quoted parts of values begin and end; one that is not closed ends beyond the data.

    A quote opens a value where it is its first letter. Within the value two quotes are one letter,
    and elsewhere a quote is a letter: `5" pipe` is a value as it stands.

    >>> quoted_spans(b'5" pipe,"a""b",7" pipe', b",")
    (array([8]), array([14]))
    """
    quotes = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord('"'))
    # Where quotes open and close by turns, every other one begins a value or goes on with it.
    letters = np.frombuffer(b"\n" + data, dtype=np.uint8)[quotes[::2]]
    if np.isin(letters, np.frombuffer(b'\r\n"' + separator, dtype=np.uint8)).all():
        ends = quotes[1::2] + 1
        return quotes[::2], np.append(ends, len(data) + 1) if len(quotes) % 2 else ends
    start = rb"(?<![^\r\n" + re.escape(separator) + rb'])"'
    values = list(re.finditer(start + rb'[^"]*(?:""[^"]*)*("?)', data))
    ends = np.array([one.end() if one[1] else len(data) + 1 for one in values], dtype=np.int64)
    return np.array([one.start() for one in values], dtype=np.int64), ends
