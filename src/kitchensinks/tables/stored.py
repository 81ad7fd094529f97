"""Arrays in .npy files, read block by block.

A memory map would need less code. But a failing read of a memory map (the file was truncated, the
disk has an error) kills the process, where an ordinary read raises an error.
"""

import math
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from kitchensinks.numerics.arrays import AnyArray, DType
from kitchensinks.tables.arrow import ArrowTable, pa
from kitchensinks.tables.disk import Stamp
from kitchensinks.tables.table import Table, batch_rows


def read_npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, DType]:
    """Shape, whether entries are stored column by column, and dtype; the data come next."""
    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    shape, by_columns, dtype = headers[npy.read_magic(file)](file)
    return shape, by_columns, dtype


class NpyTable(Table):
    """Rows of numbers (n, d) as a table with columns x0, x1, …"""

    def __init__(self, path: Path) -> None:
        self.label, self._path, self._stamp = str(path), path, Stamp.of(path)
        with path.open("rb") as file:
            try:
                shape, self._by_columns, self._stored = read_npy_header(file)
            except OSError:
                raise
            # The header of an array is parsed as Python source, which fails in many ways.
            except Exception as error:
                raise ValueError(f"{path} cannot be read as .npy ({error}).") from None
            self._begin = file.tell()
        dtype = self._stored.newbyteorder("=")
        if dtype.hasobject:
            raise ValueError(f"{path} cannot be read as .npy: it holds Python objects.")
        needed = self._begin + math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or self._stamp.size < needed:
            raise ValueError(
                f"{path} cannot be read as .npy: it declares shape {shape} of {dtype}, "
                f"which is {needed:,} bytes, and has {self._stamp.size:,}."
            )
        if len(shape) != 2 or dtype.kind not in "fiub" or dtype.itemsize > 8:
            raise ValueError(
                f"{path} has shape {shape} and dtype {dtype}: need rows and columns of numbers."
            )
        if 0 in shape:
            raise ValueError(f"{path} of shape {shape} has no rows or no columns.")
        self._shape = shape
        self.schema = pa.schema([(f"x{k}", pa.from_numpy_dtype(dtype)) for k in range(shape[1])])

    @property
    def n_rows(self) -> int:
        return self._shape[0]

    def _read(self, names: list[str], start: int) -> Iterator[ArrowTable]:
        order = {name: k for k, name in enumerate(self.names)}
        places = [order[name] for name in names]
        # Whole rows are read, however few of their columns are asked for.
        step = batch_rows(self._shape[1])
        for first in range(start, self.n_rows, step):
            block = self._rows(first, min(step, self.n_rows - first))
            columns = [pa.array(np.ascontiguousarray(block[:, k])) for k in places]
            yield pa.record_batch(columns, names=names)

    def _rows(self, first: int, count: int) -> AnyArray:
        self._stamp.check(self._path)
        n_rows, width = self._shape
        with self._path.open("rb") as file:
            if self._by_columns:
                starts = range(first, n_rows * width, n_rows)
                found = np.stack([self._entries(file, start, count) for start in starts], axis=1)
            else:
                found = self._entries(file, first * width, count * width).reshape(count, width)
        # The file may have been replaced just before it was opened.
        self._stamp.check(self._path)
        return found

    def _entries(self, file: BufferedReader, first: int, count: int) -> AnyArray:
        """`count` consecutive entries of the file, in the byte order of this machine."""
        out = np.empty(count, dtype=self._stored)
        file.seek(self._begin + first * self._stored.itemsize)
        if file.readinto(out.view(np.uint8).data) < out.nbytes:
            self._stamp.check(self._path)
            raise ValueError(f"{self._path} ends before its last row.")
        return out.astype(self._stored.newbyteorder("="), copy=False)
