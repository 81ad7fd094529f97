"""Parquet files: only the row groups and columns that are asked for are read."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from kitchensinks.tables.arrow import ArrowTable, pa
from kitchensinks.tables.disk import Stamp
from kitchensinks.tables.kinds import plain_columns, plain_schema
from kitchensinks.tables.table import Table, batch_rows, check_schema

# Bytes that are read at a time for the checksum of the file.
_CHUNK = 2**22


class ParquetTable(Table):
    """One Parquet file. The number of rows is in its footer, so nothing is read to count them.

    Folders named key=value above the file, up to `root`, are columns of text.
    """

    def __init__(self, path: Path, root: Path) -> None:
        self.label, self._path, self._stamp = str(path), path, Stamp.of(path)
        try:
            with self._open() as file:
                self.schema = plain_schema(file.schema_arrow)
                groups = range(file.metadata.num_row_groups)
                sizes = [file.metadata.row_group(k).num_rows for k in groups]
        except (FileNotFoundError, PermissionError):
            raise
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{path} is not a complete Parquet file ({_first(error)}).") from None
        self._ends = np.cumsum([0, *sizes])
        self._stored = set(self.names)
        folders = path.relative_to(root).parts[:-1]
        pairs = [part.partition("=")[::2] for part in folders if "=" in part]
        self._constants = {key: unquote(value) for key, value in pairs if key not in self._stored}
        for key in self._constants:
            self.schema = self.schema.append(pa.field(key, pa.string()))
        check_schema(self.label, self.names)

    @property
    def empty(self) -> bool:
        return self.n_rows == 0

    def _open(self) -> Any:
        # No read-ahead: memory is limited to one row group.
        return pa.parquet.ParquetFile(
            self._path, memory_map=False, pre_buffer=False, page_checksum_verification=True
        )

    @property
    def n_rows(self) -> int:
        return int(self._ends[-1])

    def _read(self, names: list[str], start: int) -> Iterator[ArrowTable]:
        if start >= self.n_rows:
            return
        first = int(np.searchsorted(self._ends, start, side="right")) - 1
        skip = start - int(self._ends[first])
        self._stamp.check(self._path)
        try:
            with self._open() as file:
                for group in range(first, len(self._ends) - 1):
                    for batch in file.iter_batches(
                        batch_rows(len(names)),
                        row_groups=[group],
                        columns=[name for name in names if name in self._stored],
                        use_threads=False,
                    ):
                        # Another file may have taken the name, or this one may be written to.
                        self._stamp.check(self._path)
                        yield self._completed(batch.slice(skip), names)
                        skip = max(0, skip - batch.num_rows)
        except (pa.ArrowException, OSError) as error:
            self._stamp.check(self._path)
            raise ValueError(f"{self.label} is damaged ({_first(error)}).") from None

    def _completed(self, batch: ArrowTable, names: list[str]) -> ArrowTable:
        """The batch with the columns that the folder names define, in the order requested."""
        batch = plain_columns(batch, self.label)
        for key, value in self._constants.items():
            if key in names:
                batch = batch.append_column(key, pa.repeat(pa.scalar(value), batch.num_rows))
        return batch.select(names)

    def _content(self) -> str:
        """By all bytes of the file, which takes less time than all values."""
        found = 0
        with self._path.open("rb") as file:
            while data := file.read(_CHUNK):
                found = zlib.crc32(data, found)
        self._stamp.check(self._path)
        return f"{found:08x}"


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
