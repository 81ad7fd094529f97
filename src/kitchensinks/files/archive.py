"""JSON and plain arrays in one file: stored as they are, with checksums, written atomically.

Safe to read from a stranger: there is no pickle, nothing is unpacked, and no more memory is taken
than the file is long.
"""

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import kitchensinks
from kitchensinks.tables.disk import atomic

FORMAT = 1
# A header longer than this is none of ours: it would name every value of a huge table.
_LONGEST_HEADER = 2**26


class ModelFileError(ValueError):
    """A model file that cannot be read: damaged, of a newer format, or of other draws."""


def write_archive(path: Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """A header and arrays with their checksums at `path`, whole or not at all."""
    contents = {f"{name}.npy": _to_bytes(array) for name, array in arrays.items()}
    checksums = {name: digest(data) for name, data in contents.items()}
    header = {"format": FORMAT, **header, "checksums": checksums}
    contents["model.json"] = json.dumps(header, indent=1).encode()
    _write(path, contents)


def _to_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write(path: Path, contents: dict[str, bytes]) -> None:
    """All files into one archive beside `path`, then renamed into place."""
    with atomic(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, data in contents.items():
            # A fixed date: the same model gives the same file.
            archive.writestr(zipfile.ZipInfo(name), data)


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive of a model file; what is wrong with it becomes a clear error."""
    if path.is_dir():
        raise ModelFileError(f"{path} is a folder: need a model file.")
    if not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist: need a model file that ks.save or `sinks fit` wrote."
        )
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, KeyError, EOFError, NotImplementedError, RuntimeError) as error:
        reason = str(error).strip("'\"")
        raise ModelFileError(f"{path} is not a complete model file ({reason}).") from error


def _header(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    text = _entry(archive, "model.json", path, _LONGEST_HEADER)
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


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
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


def _to_array(data: bytes, name: str, path: Path) -> np.ndarray:
    """An array of the .npy format, whose shape must be that of its bytes: no more is allocated."""
    buffer = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(buffer)
        read = np.lib.format.read_array_header_1_0
        shape, _, dtype = (read if version == (1, 0) else np.lib.format.read_array_header_2_0)(
            buffer
        )
        if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(data) - buffer.tell():
            raise ValueError(f"its {len(data)} bytes are not {shape} of {dtype}")
        return np.asarray(np.load(io.BytesIO(data), allow_pickle=False))
    except (ValueError, EOFError, OSError) as error:
        raise ModelFileError(f"{path} is damaged: {name} cannot be read ({error}).") from error


def read_header(path: Path) -> dict[str, Any]:
    """The header alone, without the arrays."""
    with _opened(path) as archive:
        return _header(archive, path)
