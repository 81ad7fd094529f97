"""Words in columns of numbers or dates that are neither: they count as missing, and are told."""

from dataclasses import dataclass, field

from kitchensinks.numerics.warned import warn


@dataclass
class Unread:
    """Counts of words that were not read, by column, over the blocks of a table.

    rows: those looked at; found: for each column the number of such words, the first of them, what
    is needed in their place, and what to do.
    """

    rows: int = 0
    found: dict[str, tuple[int, str, str, str]] = field(default_factory=dict)

    def add(self, name: str, count: int, word: str, needed: str, advice: str) -> None:
        before = self.found.get(name, (0, word, needed, advice))
        self.found[name] = (before[0] + count, *before[1:])

    def tell(self, told: frozenset[str] = frozenset()) -> None:
        """Warn of each column that has such words, but for those that were told before."""
        for name, (count, word, needed, advice) in self.found.items():
            if name not in told:
                warn(
                    f"{count:,} of {self.rows:,} values of column {name!r} are no {needed}, for "
                    f"example {word!r}: they count as missing. {advice}"
                )
