"""Words in columns of numbers or dates that are neither: they count as missing, and are told."""

from dataclasses import dataclass, field

import numpy as np

from kitchensinks.numerics.arrays import Bools
from kitchensinks.numerics.warned import warn
from kitchensinks.tables.arrow import ArrowArray


@dataclass
class Unread:
    """Counts of words that were not read, by column, over the blocks of a table.

    rows: those looked at; found: for each column the number of such words, the first of them, what
    is needed in their place, and what to do.
    """

    rows: int = 0
    found: dict[str, tuple[int, str, str, str]] = field(default_factory=dict)

    def add(self, name: str, words: ArrowArray, unread: Bools, needed: str, advice: str) -> None:
        """Count words (n,) of a column that were not read."""
        places = np.flatnonzero(unread)
        if len(places):
            new = 0, words[int(places[0])].as_py(), needed, advice
            count, *rest = self.found.get(name, new)
            self.found[name] = (count + len(places), *rest)

    def tell(self, told: frozenset[str] = frozenset()) -> None:
        """Warn of each column that has such words, but for those that were told before."""
        for name, (count, word, needed, advice) in self.found.items():
            if name not in told:
                warn(
                    f"{count:,} of {self.rows:,} values of column {name!r} are no {needed}, for "
                    f"example {word!r}: they count as missing. {advice}"
                )
