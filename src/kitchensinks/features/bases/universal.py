"""Whether sums of random functions approximate every continuous function."""

from typing import NamedTuple


class Universal(NamedTuple):
    """An answer with its reason; None stands for "not known".

    A basis is universal if for every continuous f on a bounded set and every ε > 0, K draws have
    with probability near one weights within ε of f in mean square (thesis, Definition III.6).

    >>> "universal" if Universal(None, "a reason") else "not known to be"
    'not known to be'
    """

    answer: bool | None
    reason: str

    def __bool__(self) -> bool:
        return bool(self.answer)


UNKNOWN = Universal(None, "Nothing is known of functions of your own.")
