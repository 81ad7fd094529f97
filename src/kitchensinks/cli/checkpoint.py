"""The folder of `--checkpoint`: the progress of a fit, to resume it later."""

from contextlib import ExitStack
from pathlib import Path

from kitchensinks.cli.options import writable
from kitchensinks.estimators.base import KitchenSink
from kitchensinks.files.checkpoint import Checkpoint
from kitchensinks.files.model import open_model, save
from kitchensinks.numerics.arrays import Facts

# File of the model that was scored, whose law is then fitted to all rows.
_SCORED = "scored.sinks"
_PARTS = ("held-out", "all-rows")


class CheckpointFolder:
    """Sums of the two fits, and between them the model of the first one with its scores."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise NotADirectoryError(
                    f"{folder}: --checkpoint needs a folder, which cannot be made "
                    f"({error.strerror}). Use another one."
                ) from None
            writable(folder / _SCORED)
        # It locks the folder against other commands until `release`.
        self._own = None if folder is None else Checkpoint(folder)
        self._use = ExitStack()

    def begin(self, identity: dict[str, str]) -> None:
        """Make this the folder of a fit; an error where it belongs to another one."""
        assert self._own is not None
        self._own.begin(identity, {})
        self._use.enter_context(self._own.patience())

    def release(self) -> None:
        """Unlock the folder."""
        self._use.close()

    def checkpoint(self, part: str) -> Checkpoint | None:
        """The checkpoint of one of the fits."""
        return None if self.folder is None else Checkpoint(self.folder / part)

    def keep(self, model: KitchenSink, validation: Facts) -> None:
        """Save the model that was fitted without the held-out rows, and its scores on them."""
        if self.folder is not None:
            save(model, self.folder / _SCORED, notes=validation)

    def kept(self) -> tuple[KitchenSink, Facts] | None:
        """The model and scores that were saved before a stop, or None."""
        if self.folder is None or not (self.folder / _SCORED).exists():
            return None
        saved = open_model(self.folder / _SCORED)
        return saved.estimator, saved.notes

    def clear(self) -> None:
        """Delete all of it, once the model is written."""
        if self.folder is None or self._own is None:
            return
        for part in _PARTS:
            Checkpoint(self.folder / part).clear()
        (self.folder / _SCORED).unlink(missing_ok=True)
        self._own.clear()

    def advice(self) -> str:
        """What to tell the user after Ctrl-C."""
        if self.folder is None:
            return (
                "Stopped; nothing was written. With --checkpoint DIR a fit can go on where it was."
            )
        return f"Stopped. Run the same command again to go on from the checkpoint in {self.folder}."
