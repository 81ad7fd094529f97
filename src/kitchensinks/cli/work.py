"""The folder of `--checkpoint`: what a fit has found so far, to go on from there."""

import contextlib
import json
import os
from dataclasses import asdict
from pathlib import Path

from kitchensinks.cli.choose import Choice, Trial, basis_named
from kitchensinks.files.checkpoint import Checkpoint
from kitchensinks.tables.disk import atomic

_CHOICE = "choice.json"
_PARTS = ("held-out", "all-rows")


class Work:
    """Checkpoints of the two fits, and the basis that was chosen before them.

    The choice depends on the time that there was for it, so that a fit that goes on must take
    over the one it began with.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        if folder is not None:
            if folder.exists() and not folder.is_dir():
                raise NotADirectoryError(f"{folder} is a file: --checkpoint needs a folder.")
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise PermissionError(f"{folder} cannot be made: {error.strerror}.") from None
            if not os.access(folder, os.W_OK):
                raise PermissionError(f"{folder} cannot be written: use another folder.")

    def checkpoint(self, part: str) -> Checkpoint | None:
        """That of one of the fits."""
        return None if self.folder is None else Checkpoint(self.folder / part)

    def keep_choice(self, choice: Choice, identity: dict[str, str]) -> None:
        """Remember which basis was chosen, and for which rows."""
        if self.folder is None:
            return
        facts = {
            "identity": identity,
            "name": choice.name,
            "reason": choice.reason,
            "trials": [asdict(trial) for trial in choice.trials],
        }
        with atomic(self.folder / _CHOICE) as file:
            file.write_text(json.dumps(facts))

    def known_choice(self, identity: dict[str, str]) -> Choice | None:
        """The basis chosen before a stop; an error where that was for other rows."""
        if self.folder is None or not (self.folder / _CHOICE).exists():
            return None
        facts = json.loads((self.folder / _CHOICE).read_text())
        if facts["identity"] != identity:
            theirs = facts["identity"]
            key = next(k for k in {**identity, **theirs} if identity.get(k) != theirs.get(k))
            raise ValueError(
                f"The checkpoint in {self.folder} is of another fit: {key} was "
                f"{theirs.get(key, 'absent')}, now {identity.get(key, 'absent')}. Use another "
                "folder, or delete this one to begin anew."
            )
        trials = tuple(Trial(**trial) for trial in facts["trials"])
        return Choice(facts["name"], basis_named(facts["name"]), facts["reason"], trials)

    def clear(self) -> None:
        """Delete all of it: the model is safe."""
        if self.folder is None:
            return
        for part in _PARTS:
            Checkpoint(self.folder / part).clear()
        (self.folder / _CHOICE).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def advice(self) -> str:
        """What to say to who pressed Ctrl-C."""
        if self.folder is None:
            return (
                "Stopped; nothing was written. With --checkpoint DIR a fit can go on where it was."
            )
        return f"Stopped. Run the same command again to go on from the checkpoint in {self.folder}."
