"""Arrays in .npy files, read block by block.

A memory map would need less code. But a failing read of a memory map (the file was truncated, the
disk has an error) kills the process, where an ordinary read raises an error.
"""

import math
from io import BufferedReader
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from kitchensinks.numerics.arrays import AnyArray, DType
from kitchensinks.tables.disk import Stamp


def read_npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, DType]:
    """Shape, whether entries are stored column by column, and dtype; the data come next."""
    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    shape, by_columns, dtype = headers[npy.read_magic(file)](file)
    return shape, by_columns, dtype


class StoredArray:
    """An array (n, …) in a .npy file; a slice of its rows is read from the file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/a.npy", np.arange(6.0).reshape(3, 2))
    ...     StoredArray(Path(folder, "a.npy"))[1:]
    array([[2., 3.],
           [4., 5.]])
    """

    def __init__(self, path: Path) -> None:
        self._path, self._stamp = path, Stamp.of(path)
        with path.open("rb") as file:
            try:
                self.shape, self._by_columns, self._stored = read_npy_header(file)
            except OSError:
                raise
            # The header of an array is parsed as Python source, which fails in many ways.
            except Exception as error:
                raise ValueError(f"{path} cannot be read as .npy ({error}).") from None
            self._begin = file.tell()
        # In the byte order of this machine.
        self.dtype = self._stored.newbyteorder("=")
        if self.dtype.hasobject:
            raise ValueError(f"{path} cannot be read as .npy: it holds Python objects.")
        needed = self._begin + self.size * self.dtype.itemsize
        if min(self.shape, default=0) < 0 or self._stamp.size < needed:
            raise ValueError(
                f"{path} cannot be read as .npy: it declares shape {self.shape} of {self.dtype}, "
                f"which is {needed:,} bytes, and has {self._stamp.size:,}."
            )

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __getitem__(self, rows: slice) -> AnyArray:
        first, stop, _ = rows.indices(self.shape[0])
        count, width = max(0, stop - first), self.size // self.shape[0]
        self._stamp.check(self._path)
        with self._path.open("rb") as file:
            if self._by_columns:
                starts = range(first, self.size, self.shape[0])
                found = np.stack([self._entries(file, start, count) for start in starts], axis=1)
            else:
                found = self._entries(file, first * width, count * width)
        # The file may have been replaced just before it was opened.
        self._stamp.check(self._path)
        return found.reshape(count, *self.shape[1:], order="F" if self._by_columns else "C")

    def _entries(self, file: BufferedReader, first: int, count: int) -> AnyArray:
        """`count` consecutive entries of the file."""
        out = np.empty(count, dtype=self._stored)
        file.seek(self._begin + first * self.dtype.itemsize)
        if file.readinto(out.view(np.uint8).data) < out.nbytes:
            self._stamp.check(self._path)
            raise ValueError(f"{self._path} ends before its last row.")
        return out.astype(self.dtype, copy=False)
