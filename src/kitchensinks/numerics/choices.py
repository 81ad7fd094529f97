"""Which of some errors is the least: one rule, so that rounding decides nothing.

Errors that exceed the least by no more than a share of it (1.5 millionths, unless more rounding is
in them) are equal to it. Of those that are equal, the one that was tried first is taken; of ridge
strengths, the largest.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kitchensinks.numerics.arrays import Bools, Floats

# Errors that differ by less than this share differ by rounding (measured: 4e-7 at the weakest ridge
# of a grid).
SAME_ERROR = 1.5e-6

Errors = Sequence[float] | Floats


def least_ones(errors: Errors, share: float = SAME_ERROR) -> Bools:
    """Which errors are the least, up to a share of it.

    >>> least_ones([0.5, 0.2 + 1e-9, 0.2]).tolist()
    [False, True, True]
    """
    found = np.asarray(errors, dtype=np.float64)
    least = float(found.min())
    return np.asarray(found <= least + share * abs(least))


def first_least(errors: Errors, share: float = SAME_ERROR) -> int:
    """The place of the first of the least errors.

    >>> first_least([0.5, 0.2 + 1e-9, 0.2])
    1
    """
    return int(np.argmax(least_ones(errors, share)))


def strongest_least(errors: Errors, ridges: Any, share: float = SAME_ERROR) -> int:
    """The place of the largest of the positive ridge strengths that have the least error.

    >>> strongest_least([2.0, 2.0, 3.0], [1.0, 10.0, 100.0])
    1
    >>> strongest_least([np.inf, np.inf], [1.0, 10.0])
    1
    """
    return int(np.argmax(np.where(least_ones(errors, share), np.asarray(ridges), 0.0)))


def lower(error: float, other: float) -> bool:
    """Whether an error is less than another by more than rounding.

    >>> lower(0.2, 0.2 + 1e-9), lower(0.2, 0.3)
    (False, True)
    """
    return error < other and first_least([other, error]) == 1
