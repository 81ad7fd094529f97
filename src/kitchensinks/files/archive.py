"""JSON and plain arrays in one file: stored as they are, with checksums, written atomically.

Safe to read from a stranger: there is no pickle, nothing is unpacked, and no more memory is taken
than the file is long.
"""

import hashlib
import io
import json
import math
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

import kitchensinks
from kitchensinks.tables.disk import atomic

FORMAT = 1
_HEADER = "model.json"
# A header longer than this is none of ours: it would name every value of a huge table.
_LONGEST_HEADER = 2**26
# What zipfile makes of records that are damaged; an OSError where it seeks before the start.
_BROKEN = (
    zipfile.BadZipFile,
    KeyError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
    struct.error,
)


class ModelFileError(ValueError):
    """A model file that cannot be read: damaged, of a newer format, or of other draws."""


def write_archive(
    path: Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]], sync: bool = False
) -> None:
    """A header and arrays with their checksums at `path`, whole or not at all.

    Arrays are written as they lie in memory, without a copy. sync: as `atomic` has it.
    """
    with atomic(path, sync) as file, zipfile.ZipFile(file, "w") as archive:
        checksums = {f"{name}.npy": _store(archive, name, array) for name, array in arrays.items()}
        header = {"format": FORMAT, **header, "checksums": checksums}
        archive.writestr(zipfile.ZipInfo(_HEADER), json.dumps(header, indent=1).encode())


def _store(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> str:
    """Add an array to the archive; returns its checksum."""
    # ZipInfo has a fixed date: the same model gives the same file.
    with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
        writer = _Hashing(entry)
        np.save(writer, array, allow_pickle=False)
    return writer.sum.hexdigest()


class _Hashing:
    """A file that is written to, with the checksum of what was written."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.sum = file, hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.sum.update(data)
        return self.file.write(data)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive of a model file; what is wrong with it becomes a clear error."""
    if path.is_dir():
        raise ModelFileError(f"{path} is a folder: need a model file.")
    if not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist: need a model file that ks.save or `sinks fit` wrote."
        )
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                yield archive
        except ModelFileError:
            raise
        except _BROKEN as error:
            reason = str(error).strip("'\"")
            raise ModelFileError(f"{path} is not a complete model file ({reason}).") from error


def _header(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    text = _entry(archive, _HEADER, path, _LONGEST_HEADER)
    try:
        header = json.loads(text)
        number = header["format"]
        checksums = header["checksums"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ModelFileError(f"{path} is not a complete model file ({error}).") from error
    if not (isinstance(number, int) and isinstance(checksums, dict)):
        raise ModelFileError(f"{path} is not a complete model file (format {number!r}).")
    if number > FORMAT:
        raise ModelFileError(
            f"{path} is of format {number}, and this version of kitchensinks "
            f"({kitchensinks.__version__}) reads up to {FORMAT}: install a newer one."
        )
    return dict(header)


def _entry(archive: zipfile.ZipFile, name: str, path: Path, most: float = math.inf) -> bytes:
    """One file of the archive. Ours are stored plainly, so none is longer than the archive."""
    entry = archive.getinfo(name)
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > most:
        raise ModelFileError(
            f"{path} was not written by kitchensinks: {name} is not stored plainly."
        )
    return archive.read(entry)


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a model file, with every checksum compared."""
    with _opened(path) as archive:
        header = _header(archive, path)
        arrays = {}
        for name, checksum in header["checksums"].items():
            data = _entry(archive, name, path)
            if digest(data) != checksum:
                raise ModelFileError(f"{path} is damaged: {name} does not match its checksum.")
            arrays[name.removesuffix(".npy")] = _to_array(data, name, path)
    return header, arrays


def _to_array(data: bytes, name: str, path: Path) -> NDArray[Any]:
    """An array of the .npy format, whose shape must be that of its bytes: no more is allocated."""
    buffer = io.BytesIO(data)
    try:
        first = np.lib.format.read_magic(buffer) == (1, 0)
        read = "read_array_header_1_0" if first else "read_array_header_2_0"
        shape, _, dtype = getattr(np.lib.format, read)(buffer)
        if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(data) - buffer.tell():
            raise ValueError(f"its {len(data)} bytes are not {shape} of {dtype}")
        return np.asarray(np.load(io.BytesIO(data), allow_pickle=False))
    except (ValueError, EOFError, OSError) as error:
        raise ModelFileError(f"{path} is damaged: {name} cannot be read ({error}).") from error


def read_header(path: Path) -> dict[str, Any]:
    """The header alone, without the arrays."""
    with _opened(path) as archive:
        return _header(archive, path)
