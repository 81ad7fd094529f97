"""Parquet files: only the row groups and columns that are asked for are read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kitchensinks.rows.tables import Table, arrow, batch_rows, check_schema, file_fingerprint


class ParquetTable(Table):
    """One Parquet file. The number of rows is in its footer, so nothing is read to count them."""

    def __init__(self, path: Path) -> None:
        pa = arrow()
        self.label, self._path = str(path), path
        try:
            with self._open() as file:
                self.schema = file.schema_arrow.remove_metadata()
                groups = range(file.metadata.num_row_groups)
                sizes = [file.metadata.row_group(k).num_rows for k in groups]
        except pa.ArrowException as error:
            raise ValueError(f"{path} is not a complete Parquet file ({_first(error)}).") from None
        self._ends = np.cumsum([0, *sizes])
        check_schema(self.label, self.names)
        if self.n_rows == 0:
            raise ValueError(f"{path} has no rows.")

    def _open(self) -> Any:
        from pyarrow import parquet

        # Read ahead nothing: a row group at a time is the memory that this may take.
        return parquet.ParquetFile(self._path, memory_map=False, pre_buffer=False)

    @property
    def n_rows(self) -> int:
        return int(self._ends[-1])

    def _read(self, names: list[str], start: int) -> Iterator[Any]:
        pa = arrow()
        if start >= self.n_rows:
            return
        first = int(np.searchsorted(self._ends, start, side="right")) - 1
        skip = start - int(self._ends[first])
        try:
            with self._open() as file:
                for group in range(first, len(self._ends) - 1):
                    for batch in file.iter_batches(
                        batch_rows(len(names)), row_groups=[group], columns=names, use_threads=False
                    ):
                        yield batch.slice(skip).select(names)
                        skip = max(0, skip - batch.num_rows)
        except pa.ArrowException as error:
            raise ValueError(f"{self.label} is damaged ({_first(error)}).") from None

    def fingerprint(self) -> dict[str, str]:
        return file_fingerprint(self._path, self.schema)


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
