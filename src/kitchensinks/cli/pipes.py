"""`-` in place of a file: the standard input as a table, the standard output to write to."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from kitchensinks.tables.table import Table, open_table

PIPE = "-"
# What messages call the standard input.
_LABEL = "standard input"
# First bytes of formats that may come from a pipe, and the ending of their files; else CSV.
_MARKS = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz"}


def is_pipe(out: Path) -> bool:
    """Whether `out` is the standard output; an error if that is a terminal."""
    if str(out) != PIPE:
        return False
    if sys.stdout.isatty():
        raise ValueError(
            "--out - writes to the standard output, which is a terminal here: name a file, or send "
            "the output to a file or another program (> FILE, | PROGRAM)."
        )
    return True


@contextmanager
def opened_table(data: str, skip_bad_rows: bool) -> Iterator[Table]:
    """The table of a path; for -, that of the standard input: CSV, also gzipped, or Parquet.

    Rows are read more than once, so the input is copied to a temporary file first.
    """
    if data != PIPE:
        yield open_table(data, skip_bad_rows)
        return
    if sys.stdin.isatty():
        raise ValueError(
            "The data - are the standard input, which is a terminal here: name a file, or send "
            "rows in (< FILE, PROGRAM |)."
        )
    with tempfile.TemporaryDirectory(prefix="sinks-") as folder:
        path = _copied(sys.stdin.buffer, Path(folder))
        if path.stat().st_size == 0:
            raise ValueError("The standard input is empty: need CSV with a line of names first.")
        try:
            table = open_table(path, skip_bad_rows)
        except ValueError as error:
            raise ValueError(str(error).replace(str(path), _LABEL)) from None
        table.label = _LABEL
        yield table


def _copied(stream: IO[bytes], folder: Path) -> Path:
    """Copy a stream to a file whose ending corresponds to the format."""
    first = stream.read(2**16)
    ending = next((end for mark, end in _MARKS.items() if first.startswith(mark)), ".csv")
    path = folder / f"input{ending}"
    with path.open("wb") as file:
        file.write(first)
        shutil.copyfileobj(stream, file)
    return path


@contextmanager
def whole_file(out: Path) -> Iterator[Path]:
    """Where to write a file: `out`, or a file that goes to the standard output when complete."""
    if not is_pipe(out):
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="sinks-") as folder:
        path = Path(folder) / "output"
        yield path
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
