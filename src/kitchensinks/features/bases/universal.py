"""Whether sums of random functions approximate every continuous function."""

from collections.abc import Sequence
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


def of_sum(parts: Sequence[Universal]) -> Universal:
    """Of a union: it is as universal as its most universal part."""
    for part in parts:
        if part.answer:
            return Universal(True, f"One part is: {part.reason}")
    if all(part.answer is False for part in parts) and len(parts) == 1:
        return parts[0]
    return Universal(None, "No part is known to be universal alone; together they may be.")


def of_product(parts: Sequence[Universal]) -> Universal:
    """Of a product: functions f·g with g near 1 are near f."""
    if all(part.answer for part in parts):
        return Universal(True, "Every part is, in the columns that it takes.")
    return Universal(None, "A part is not known to be universal; what the product reaches is open.")
