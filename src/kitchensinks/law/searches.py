"""Searches along a grid, and the choice among what was tried."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from kitchensinks.law import constants
from kitchensinks.numerics.choices import first_least, strongest_least
from kitchensinks.numerics.threads import in_order
from kitchensinks.problem.losses import Array

Note = TypeVar("Note")


def first_best(errors: Sequence[float] | Array) -> int:
    """The index of the least error; the first one among ties."""
    return first_least(errors, constants.SAME_TRIAL)


def best_ridge(tried: Mapping[float, tuple[float, Any]]) -> float:
    """The largest ridge of the least error; tried: the error of each ridge, with a note.

    >>> best_ridge({0.1: (0.5, None), 1.0: (0.5, None), 10.0: (0.6, None)})
    1.0
    """
    ridges = list(tried)
    return ridges[strongest_least([tried[one][0] for one in ridges], ridges, constants.SAME_TRIAL)]


def search_ridges(
    attempt: Callable[[float], tuple[float, Note]],
    first: Sequence[float],
    weakest: float,
    strongest: float,
) -> dict[float, tuple[float, Note]]:
    """The error of the first ridges, with notes, and of neighbours of the best while it falls."""
    tried: dict[float, tuple[float, Note]] = {}
    new = list(dict.fromkeys(max(one, weakest) for one in first))
    while new:
        tried.update(zip(new, in_order(attempt, new), strict=True))
        best = best_ridge(tried)
        near = constants.RIDGE_STEP * best, max(best / constants.RIDGE_STEP, weakest)
        new = [one for one in near if one <= strongest and one not in tried]
    return tried


def preferred(errors: Sequence[float], losses: Sequence[Array | None]) -> int:
    """The index of the least squared error, or of a nearly equal one with a lower log loss.

    >>> few, many = np.full(50, 0.01), np.full(50, 0.02)
    >>> preferred([0.20, 0.21, 0.30], [many, few, few]), preferred([0.2, 0.1], [None, None])
    (1, 1)
    """
    least = first_best(errors)
    base, totals = losses[least], np.full(len(errors), np.inf)
    if base is None:
        return least
    totals[least] = base.sum()
    for k, (error, own) in enumerate(zip(errors, losses, strict=True)):
        if own is None or error >= constants.EVEN * errors[least]:
            continue
        if clearly_less(own, base):
            totals[k] = own.sum()
    return first_best(totals)


def clearly_less(own: Array, other: Array) -> bool:
    """Whether the sum of a loss over rows is lower by CLEARLY standard errors of the difference."""
    gains = other - own
    return bool(gains.sum() > constants.CLEARLY * math.sqrt(float(np.sum(gains**2))))


def lowest(errors: dict[int, float]) -> float:
    """Where the parabola through the errors at −1, 0 and 1 is lowest; 0 where one is missing.

    >>> lowest({-1: 2.0, 0: 1.0, 1: 1.0})
    0.5
    """
    if -1 not in errors or 1 not in errors:
        return 0.0
    below, least, above = errors[-1], errors[0], errors[1]
    bend = below - 2.0 * least + above
    return 0.5 * (below - above) / bend if bend > 0.0 else 0.0


def climb(
    attempt: Callable[[float], tuple[float, Note]],
    begin: float,
    ratio: float,
    most: int,
    late: Callable[[], bool] = lambda: False,
) -> tuple[float, Note]:
    """The value of the least error on a geometric grid, step by step while it falls, and its note.

    attempt(value) gives its error and a note to keep with it; `most` values are tried, and no other
    one once it is late(). Between two neighbours that were tried, the value is where the parabola
    through the three is lowest.

    >>> climb(lambda value: (abs(math.log(value / 9.0)), None), 1.0, 3.0, 5)
    (9.0, None)
    """
    tried = {0: attempt(begin)}
    direction = 1

    def first() -> int:
        return list(tried)[first_best([error for error, _ in tried.values()])]

    while len(tried) < most and not late():
        best = first()
        if best + direction in tried:
            direction = -direction
            if best + direction in tried:
                break
        tried[best + direction] = attempt(begin * ratio ** (best + direction))
    best = first()
    place = best + lowest({k - best: error for k, (error, _) in tried.items()})
    return begin * ratio**place, tried[best][1]
