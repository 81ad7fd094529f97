"""Files that are whole or not there: written beside their place, then renamed."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

# How the name of an unfinished file ends; it begins with a dot.
UNFINISHED = ".part"


@contextmanager
def atomic(path: str | os.PathLike[str], sync: bool = False) -> Iterator[Path]:
    """A new file beside `path` to write to, which takes its name when the block ends.

    Whoever reads `path` finds the old file or the whole new one. An error in the block removes the
    new file and leaves the old one. Permissions are those of any file that the user creates.
    sync: return only when the bytes and the name are on disk, so that a loss of power cannot
    undo them.

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
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}{UNFINISHED}")
    # Created here and not by the writer: an error about permissions comes before any work.
    unfinished.touch(exist_ok=False)
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
    """What tells a file from the one that took its name: it changes when the file is written to."""

    size: int
    modified: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> "Stamp":
        found = path.stat()
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)

    def check(self, path: Path) -> None:
        """An error where the file is no longer the one that was opened."""
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
    """Delete what a killed process has left of files of a folder that only we write to."""
    for path in folder.glob(f".*{UNFINISHED}"):
        path.unlink(missing_ok=True)


def _flush(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
