"""Atomic writes: a file is written beside its destination and then renamed."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

# Ending of the names of unfinished files, which begin with a dot.
UNFINISHED = ".part"


@contextmanager
def atomic(path: str | os.PathLike[str], sync: bool = False) -> Iterator[Path]:
    """A new file beside `path` to write to, which takes its name when the block ends.

    A reader of `path` sees the old file or the complete new one. An error in the block removes the
    new file and keeps the old one. Permissions are those of any new file of the user. sync: return
    only when content and name are on disk, so that they survive a loss of power.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic(f"{folder}/notes.txt") as file:
    ...         size = file.write_text("whole")
    ...     Path(folder, "notes.txt").read_text()
    'whole'
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a folder: {path} cannot be written there.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: need the name of a file.")
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}{UNFINISHED}")
    # Created here, so that missing permissions are reported before any work is done.
    try:
        unfinished.touch(exist_ok=False)
    except OSError as error:
        # The user knows nothing of the unfinished file.
        raise type(error)(error.errno, error.strerror, str(path)) from None
    try:
        yield unfinished
        if sync:
            _flush(unfinished, os.O_RDWR)
        os.replace(unfinished, path)
        if sync and os.name == "posix":
            _flush(path.parent, os.O_RDONLY)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


class Stamp(NamedTuple):
    """Identifies the content of a path: it changes when the file is modified or replaced."""

    size: int
    modified: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> "Stamp":
        found = path.stat()
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)

    def check(self, path: Path) -> None:
        """Raise an error if the file has been modified or replaced."""
        try:
            same = Stamp.of(path) == self
        except FileNotFoundError:
            same = False
        if not same:
            raise ValueError(
                f"{path} has changed since it was opened: need the same rows in every pass. Open "
                "it again when nobody writes to it."
            )


def remove_unfinished(folder: Path) -> None:
    """Delete unfinished files that a killed process has left in a folder of ours."""
    for path in folder.glob(f".*{UNFINISHED}"):
        path.unlink(missing_ok=True)


def _flush(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
