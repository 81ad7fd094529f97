"""What columns of new rows hold that the fit did not know, and what users are told of it.

Words in columns of numbers or dates count as missing, and each column with any is told. Categories
that the fit has not seen and values that are missing are usual; they are told where most values of
a column are so, because then its spelling or its name has often changed.
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from kitchensinks.numerics.arrays import Bools
from kitchensinks.numerics.warned import warn
from kitchensinks.tables.arrow import ArrowArray

# Fewest rows of which it is told that most values are unknown or missing.
_FEWEST = 10


@dataclass
class Unread:
    """Counts of values that were not read, by column, over the blocks of a table.

    rows: those looked at; found: for each column the number of words that are no numbers or dates,
    the first of them, what is needed in their place, and what to do; unknown: the number of
    categories that the fit has not seen, and the first of them; missing: the number of missing
    values of a column that was complete in the fit.
    """

    rows: int = 0
    found: dict[str, tuple[int, str, str, str]] = field(default_factory=dict)
    unknown: dict[str, tuple[int, str]] = field(default_factory=dict)
    missing: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, words: ArrowArray, unread: Bools, needed: str, advice: str) -> None:
        """Count words (n,) of a column that were not read."""
        places = np.flatnonzero(unread)
        if len(places):
            new = 0, words[int(places[0])].as_py(), needed, advice
            count, *rest = self.found.get(name, new)
            self.found[name] = (count + len(places), *rest)

    def add_unknown(self, name: str, words: ArrowArray, unknown: Bools) -> None:
        """Count categories (n,) of a column that the fit has not seen."""
        places = np.flatnonzero(unknown)
        if len(places):
            count, word = self.unknown.get(name, (0, words[int(places[0])].as_py()))
            self.unknown[name] = count + len(places), word

    def tell(self, told: frozenset[str] = frozenset()) -> frozenset[str]:
        """Warn of each column that is to be told, but for those that were before; returns all."""
        for name, text in self._texts().items():
            if name not in told:
                warn(text)
        return told.union(self._texts())

    def _texts(self) -> dict[str, str]:
        """What is to be told, by column."""
        texts = {}
        most = max(self.rows // 2, _FEWEST - 1)
        for name, count in self.missing.items():
            if count > most:
                texts[name] = (
                    f"Column {name!r} is missing in {count:,} of {self.rows:,} rows, and was "
                    "complete in the fit: its median, or an unknown category, is taken there."
                )
        for name, (count, word) in self.unknown.items():
            if count > most:
                texts[name] = (
                    f"{count:,} of {self.rows:,} values of column {name!r} are not among those of "
                    f"the fit, for example {word!r}: they count as unknown. Check how they are "
                    "written."
                )
        for name, (count, word, needed, advice) in self.found.items():
            texts[name] = (
                f"{count:,} of {self.rows:,} values of column {name!r} are no {needed}, for "
                f"example {word!r}: they count as missing. {advice}"
            )
        return texts
