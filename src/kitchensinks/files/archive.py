"""JSON and plain arrays in one file: uncompressed, with checksums, written atomically.

Safe to read from untrusted sources: there is no pickle and no compression, and entries do not
overlap, so that no more bytes are read than the file is long. An array takes twice its bytes while
it is read; the header, which is limited to 64 MB, becomes Python objects of a small multiple of its
length. The content of the entries is checked by the reader of the archive.
"""

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

import kitchensinks
from kitchensinks.numerics.arrays import AnyArray, Facts
from kitchensinks.tables.disk import atomic
from kitchensinks.tables.stored import read_npy_header

FORMAT = 1
_HEADER = "model.json"
# Longest header: a longer one would list every value of a huge table.
_LONGEST_HEADER = 2**26
# The field of the header with the checksum of all its other fields.
_OWN = "header_checksum"
# Kinds of dtype that an array may have: numbers, booleans, text, bytes and dates.
_KINDS = "biufUSmM"
# Longest side of an empty array, which the length of the file does not limit.
_LONGEST_EMPTY = 2**20
# Bytes of the fixed part of the record before each entry of a zip file.
_RECORD = 30


class ModelFileError(ValueError):
    """A model file that cannot be read: damaged, of a newer format, or of other draws."""


def write_archive(
    path: Path, header: Facts, arrays: dict[str, AnyArray], sync: bool = False
) -> None:
    """A header and arrays with their checksums at `path`, whole or not at all.

    Arrays are written as they lie in memory, without a copy. sync: as `atomic` has it.
    """
    with atomic(path, sync) as file, zipfile.ZipFile(file, "w") as archive:
        checksums = {f"{name}.npy": _store(archive, name, array) for name, array in arrays.items()}
        header = {"format": FORMAT, **header, "checksums": checksums}
        header[_OWN] = _header_digest(header)
        archive.writestr(zipfile.ZipInfo(_HEADER), json.dumps(header, indent=1).encode())


def _store(archive: zipfile.ZipFile, name: str, array: AnyArray) -> str:
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


def _header_digest(header: Facts) -> str:
    """The checksum of the fields of a header, but for the one that holds it."""
    # Read back, so that values are the same as those that a reader finds.
    plain = json.loads(json.dumps(header))
    plain.pop(_OWN, None)
    # Not escaped: half a surrogate pair, which Arrow cannot hold, is an error here.
    return digest(json.dumps(plain, sort_keys=True, ensure_ascii=False).encode())


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive of a model file; what is wrong with it becomes a clear error."""
    if path.is_dir():
        raise ModelFileError(f"{path} is a folder: need a model file.")
    if not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist: need a model file that ks.save or `sinks fit` wrote."
        )
    if not path.is_file():
        raise ModelFileError(f"{path} is a pipe or a device: need a model file.")
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                _check_entries(archive, path)
                yield archive
        except (ModelFileError, MemoryError):
            raise
        # Damaged records make zipfile raise errors of a dozen classes.
        except Exception as error:
            reason = str(error).strip("'\"")
            raise _incomplete(path, reason) from error


def _incomplete(path: Path, reason: object) -> ModelFileError:
    return ModelFileError(
        f"{path} is not a complete model file ({reason}): need a file that ks.save wrote, whole. "
        "Copy it again, or save the model again."
    )


def _check_entries(archive: zipfile.ZipFile, path: Path) -> None:
    """An error unless entries have names of their own and lie one after another."""
    entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
    if len({entry.filename for entry in entries}) < len(entries):
        raise ModelFileError(f"{path} was not written by kitchensinks: two entries share a name.")
    starts = [entry.header_offset for entry in entries[1:]] + [archive.start_dir]
    for entry, following in zip(entries, starts, strict=True):
        end = entry.header_offset + _RECORD + len(entry.filename.encode()) + entry.compress_size
        if end > following:
            raise ModelFileError(
                f"{path} was not written by kitchensinks: {entry.filename} overlaps what follows."
            )


def _header(archive: zipfile.ZipFile, path: Path) -> Facts:
    text = _entry(archive, _HEADER, path, _LONGEST_HEADER)
    try:
        header = json.loads(text)
        number = header["format"]
        checksums = header["checksums"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _incomplete(path, error) from error
    if not (isinstance(number, int) and isinstance(checksums, dict)):
        raise _incomplete(path, f"format {number!r}")
    if number > FORMAT:
        raise ModelFileError(
            f"{path} is of format {number}, and this version of kitchensinks "
            f"({kitchensinks.__version__}) reads up to {FORMAT}: install a newer one."
        )
    if header.get(_OWN) != _header_digest(header):
        raise ModelFileError(f"{path} is damaged: its header does not match its checksum.")
    return dict(header)


def _entry(archive: zipfile.ZipFile, name: str, path: Path, most: float = math.inf) -> bytes:
    """One file of the archive. Ours are stored plainly, so none is longer than the archive."""
    entry = archive.getinfo(name)
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > most:
        raise ModelFileError(
            f"{path} was not written by kitchensinks: {name} is not stored plainly."
        )
    return archive.read(entry)


def read_archive(path: Path) -> tuple[Facts, dict[str, AnyArray]]:
    """Header and arrays of a model file, with every checksum compared."""
    with _opened(path) as archive:
        header = _header(archive, path)
        unknown = set(archive.namelist()) ^ {_HEADER, *header["checksums"]}
        if unknown:
            raise ModelFileError(
                f"{path} is not a complete model file: {sorted(unknown)[0]} is not both in its "
                "header and in the file."
            )
        arrays = {}
        for name, checksum in header["checksums"].items():
            data = _entry(archive, name, path)
            if digest(data) != checksum:
                raise ModelFileError(f"{path} is damaged: {name} does not match its checksum.")
            arrays[name.removesuffix(".npy")] = _to_array(data, name, path)
    return header, arrays


def _to_array(data: bytes, name: str, path: Path) -> AnyArray:
    """An array of the .npy format, whose shape must be that of its bytes: no more is allocated."""
    buffer = io.BytesIO(data)
    try:
        shape, _, dtype = read_npy_header(buffer)
        plain = dtype.kind in _KINDS and dtype.isnative and dtype.itemsize > 0
        size = math.prod(shape) * dtype.itemsize
        if not plain or min(shape, default=0) < 0 or size != len(data) - buffer.tell():
            raise ValueError(f"its {len(data)} bytes are not {shape} of {dtype}")
        if size == 0 and max(shape) > _LONGEST_EMPTY:
            raise ValueError(f"there is nothing in its shape {shape}")
        return np.asarray(np.load(io.BytesIO(data), allow_pickle=False))
    # The header of an array is parsed as Python source, which fails in many ways.
    except Exception as error:
        raise ModelFileError(f"{path} is damaged: {name} cannot be read ({error}).") from error


def read_header(path: Path) -> Facts:
    with _opened(path) as archive:
        return _header(archive, path)
