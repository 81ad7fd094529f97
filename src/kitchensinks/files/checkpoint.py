"""Fits that can be resumed: sums and position are saved on disk.

A pass over the rows adds to sums block by block, in order. Their state after a block, with the
number of rows done, is all that the rest of the pass needs: a resumed pass ends in the same bits as
one without a stop, if the blocks and the threads are the same. Both are therefore part of the
checkpoint.
"""

import contextlib
import importlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kitchensinks
from kitchensinks.files.archive import ModelFileError, read_archive, write_archive
from kitchensinks.numerics.arrays import Arrays, Block, Facts
from kitchensinks.tables.disk import remove_unfinished

# Locks of POSIX systems; None elsewhere.
fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None
_FACTS = "identity"


class CheckpointError(ModelFileError):
    """A checkpoint that cannot be resumed: damaged, of another fit, or in use."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after the state has been saved; the message says how to resume."""


class Checkpoint:
    """A folder where a fit keeps its sums, saved every so many seconds.

    Give it to `fit`. After a crash the same call goes on from the last state saved; a folder that
    belongs to other rows, parameters or another version is refused, and so is one that another fit
    is using. `clear` empties it once the model is safe.

    Parameters
    ----------
    folder : where the sums are kept; it is made if it does not exist.
    every : seconds between two savings. With 30 a crash costs half a minute at most, and writing
        takes a small part of the time.

    Examples
    --------
    >>> import tempfile, numpy as np, kitchensinks as ks
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     once = model.fit(X, X[:, 0], checkpoint=ks.Checkpoint(folder)).model_.weights
    ...     again = model.fit(X, X[:, 0], checkpoint=ks.Checkpoint(folder)).model_.weights
    >>> float(abs(once - again).max())
    0.0
    """

    def __init__(self, folder: str | os.PathLike[str], every: float = 30.0) -> None:
        if not isinstance(every, int | float) or isinstance(every, bool) or not every >= 0:
            raise ValueError(f"every={every!r}: need a number of seconds of 0 or more.")
        self.folder, self.every = Path(folder), float(every)
        self._saved_at = time.monotonic()
        self._stopping = self._summing = False
        self._lock: int | None = None

    def begin(self, identity: dict[str, str], choices: dict[str, float]) -> dict[str, float]:
        """Compare with the fit that the folder belongs to, or make it the folder of this one.

        `identity` must be equal. A resumed fit takes over the saved `choices`; returns the choices.
        """
        identity = {"version of kitchensinks": kitchensinks.__version__, **identity}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OSError(f"The checkpoint folder {self.folder} cannot be made: {error}.") from None
        self._take()
        try:
            remove_unfinished(self.folder)
            if not (self.folder / _FACTS).exists():
                self._write(_FACTS, {"identity": identity, "choices": choices}, {})
                return choices
            theirs, found = self._facts(choices)
            self._compare(theirs, identity)
        except BaseException:
            self._release()
            raise
        return found

    def _take(self) -> None:
        """Lock the folder until `_release` or the end of the process; an error if it is locked.

        The lock is on the folder itself and leaves no file behind. Systems and file systems without
        such locks are used without one.
        """
        if self._lock is not None or fcntl is None:
            return
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise CheckpointError(
                f"The checkpoint folder {self.folder} is in use by another fit: wait until that "
                "has ended, or use another folder."
            ) from None
        except OSError:
            os.close(handle)
            return
        self._lock = handle

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _facts(self, choices: dict[str, float]) -> tuple[dict[str, str], dict[str, float]]:
        """Identity and choices of a folder, if they have the expected types."""
        header, _ = self._read(_FACTS)
        theirs, found = header.get("identity"), header.get("choices")
        if (
            isinstance(theirs, dict)
            and isinstance(found, dict)
            and found.keys() == choices.keys()
            and all(type(value) in (int, float) and value >= 0 for value in found.values())
        ):
            return theirs, found
        raise self._damaged(_FACTS)

    def _compare(self, theirs: dict[str, str], mine: dict[str, str]) -> None:
        keys = [key for key in {**mine, **theirs} if mine.get(key) != theirs.get(key)]
        if keys:
            told = "; ".join(
                f"{key} was {theirs.get(key, 'absent')}, now {mine.get(key, 'absent')}"
                for key in keys[:5]
            )
            raise CheckpointError(
                f"The checkpoint in {self.folder} is of another fit: {told}. Use another folder, "
                "or delete this one to begin anew."
            )

    def clear(self) -> None:
        """Delete the saved state, once the model is safe."""
        if self.folder.is_dir():
            self._take()
            for path in [self.folder / _FACTS, *self.folder.glob("*.sums")]:
                path.unlink(missing_ok=True)
            remove_unfinished(self.folder)
            with contextlib.suppress(OSError):
                self.folder.rmdir()
        self._release()

    def over(
        self,
        phase: str,
        blocks: Callable[[int], Iterator[Block]],
        state: Callable[[], Arrays],
        restore: Callable[[Arrays], None],
    ) -> Iterator[Block]:
        """Blocks from the saved position of the phase on; the state is saved after blocks.

        `blocks(start)` yields pairs of a slice of the rows and anything, from a row on. A saved
        state is passed to `restore` before the first block.
        """
        position, name = 0, f"{phase}.sums"
        if (self.folder / name).exists():
            header, arrays = self._read(name)
            position = header.get("position", -1)
            if type(position) is not int or position < 0 or not _alike(arrays, state):
                raise self._damaged(name)
            try:
                restore(arrays)
            except (KeyError, IndexError, TypeError) as error:
                raise self._damaged(name) from error
        done = position
        self._summing = True
        for rows, block in blocks(position):
            yield rows, block
            done = rows.stop
            if self._stopping:
                self._save(phase, done, state())
                raise Interrupted(
                    f"Stopped after {done} rows; the checkpoint in {self.folder} is complete. "
                    "Run the same again to go on from there."
                )
            if time.monotonic() - self._saved_at >= self.every:
                self._save(phase, done, state())
        self._summing = False
        if done > position:
            self._save(phase, done, state())

    def store(self, name: str, arrays: Arrays) -> None:
        """Save arrays under a name, if it is time to save again."""
        if time.monotonic() - self._saved_at >= self.every:
            self._save(name, 0, arrays)

    def stored(self, name: str) -> Arrays | None:
        """The arrays saved under a name, or None."""
        if not (self.folder / f"{name}.sums").exists():
            return None
        return self._read(f"{name}.sums")[1]

    @contextlib.contextmanager
    def patience(self) -> Iterator[None]:
        """During a pass the first Ctrl-C waits for the end of the block; a second one does not.

        Between passes there is nothing to wait for.
        """

        def wait(number: int, frame: object) -> None:
            if self._stopping or not self._summing:
                raise KeyboardInterrupt
            self._stopping = True

        # Other threads may not handle signals.
        main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, wait) if main else None
        try:
            yield
        finally:
            self._stopping = self._summing = False
            if main:
                signal.signal(signal.SIGINT, before)
            self._release()

    def _save(self, phase: str, position: int, arrays: Arrays) -> None:
        self._write(f"{phase}.sums", {"position": position}, arrays)
        self._saved_at = time.monotonic()

    def _write(self, name: str, facts: Facts, arrays: Arrays) -> None:
        path = self.folder / name
        try:
            write_archive(path, facts, arrays, sync=True)
        except OSError as error:
            kept = "The last good checkpoint is kept" if path.exists() else "Nothing was saved"
            raise OSError(
                error.errno,
                f"The checkpoint in {self.folder} cannot be written ({error.strerror or error}). "
                f"{kept}: make room and run the same again",
            ) from error

    def _read(self, name: str) -> tuple[Facts, Arrays]:
        try:
            return read_archive(self.folder / name)
        except ModelFileError as error:
            raise self._damaged(name) from error

    def _damaged(self, name: str) -> CheckpointError:
        return CheckpointError(
            f"{self.folder / name} is damaged: it does not match its checksum, or is of another "
            "fit. Delete the folder to begin anew."
        )


def _alike(arrays: Arrays, state: Callable[[], Arrays]) -> bool:
    """Whether arrays have the names, shapes and kinds of the initial state of a pass."""
    try:
        begun = state()
    except IndexError:
        # A pass over partitions has no sums before its first one.
        return True
    return arrays.keys() == begun.keys() and all(
        (array.shape, array.dtype.kind) == (begun[name].shape, begun[name].dtype.kind)
        for name, array in arrays.items()
    )
