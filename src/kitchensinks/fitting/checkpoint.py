"""What a fit asks of a checkpoint; ``kitchensinks.files.checkpoint`` is one."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

from kitchensinks.numerics.arrays import AnyArray

Arrays = dict[str, AnyArray]


class Checkpoint(Protocol):
    """Sums over the rows, and the weights so far, that outlive the process."""

    def begin(self, identity: dict[str, str], choices: dict[str, float]) -> dict[str, float]:
        """Start or take up a fit; returns the choices that were made when it began.

        Until `patience` ends no other fit may begin.
        """

    def over(
        self,
        phase: str,
        source: Callable[..., Iterator[tuple[slice, Any]]],
        state: Callable[[], Arrays],
        restore: Callable[[Arrays], None],
    ) -> Iterator[tuple[slice, Any]]:
        """The blocks of a pass, from where it stopped; the state is saved now and then."""

    def store(self, name: str, arrays: Arrays) -> None:
        """Keep arrays under a name."""

    def stored(self, name: str) -> Arrays | None:
        """The arrays of a name, or None."""

    def patience(self) -> AbstractContextManager[None]:
        """Hold back Ctrl-C until the next save."""
